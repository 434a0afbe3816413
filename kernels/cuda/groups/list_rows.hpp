#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/groups/contenders.hpp"

namespace skyrank::kernels::cuda::groups {

inline constexpr std::uint32_t kNoPlace = ~std::uint32_t{0};
inline constexpr std::uint64_t kNoBound = ~std::uint64_t{0};

/// A table of all codes, in device memory.
struct CodeTable {
  std::size_t count = 0;
  const std::uint64_t* bounds = nullptr;  ///< the greatest key that stays
  std::uint32_t* first_places = nullptr;  ///< kNoPlace where none is known
};

/// Rows in any order, in device memory.
struct RowList {
  std::uint32_t* places = nullptr;
  std::size_t room = 0;
  unsigned long long* count = nullptr;  ///< all rows that stay, with or without room
};

/// Lists the rows at or below the bounds of their codes, and finds the first place of each code. `count` is 0 before,
/// and above `room` if there is too little of it. In the order of the device's stream.
void list_rows(const ReadKeys& codes, const ReadKeys& keys, std::size_t n, const CodeTable& table, const RowList& list,
               DeviceContext& device);

}  // namespace skyrank::kernels::cuda::groups
