#pragma once

#include <cstddef>
#include <cstdint>

namespace skyrank::kernels::dominance_counts {

/// Codes of points in columns, and how many rows each stands for. Behind the last point there is room for a vector.
struct WindowView {
  const std::int32_t* columns = nullptr;  ///< `dims` columns of `stride` codes
  const std::int32_t* weights = nullptr;
  std::size_t stride = 0;
  std::size_t dims = 0;
};

inline constexpr std::size_t kMaxLanes = 256 / sizeof(std::int32_t);  // of the widest vectors that Highway knows

/// Returns how many rows those of the points [begin, end) stand for that are nowhere greater than a point.
std::int64_t count_within(const WindowView& window, std::size_t begin, std::size_t end, const std::int32_t* point);

}  // namespace skyrank::kernels::dominance_counts
