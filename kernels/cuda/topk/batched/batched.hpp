#pragma once

#include <cstddef>

#include "kernels/common/host_device.hpp"
#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/topk/block/element.cuh"

// Many selections at once: the k least of each of several stretches of rows.
namespace skyrank::kernels::cuda::topk {

/// Stretches of consecutive rows, of one length or of many.
struct Segments {
  std::size_t count = 0;
  std::size_t rows = 0;  ///< rows of each segment, segment i beginning at row i * rows; without meaning with offsets
  const std::size_t* offsets = nullptr;  ///< in device memory: segment i is [offsets[i], offsets[i + 1])

  SKYRANK_HD std::size_t begin(std::size_t i) const { return offsets == nullptr ? i * rows : offsets[i]; }
  SKYRANK_HD std::size_t end(std::size_t i) const { return begin(i + 1); }
};

/// The largest k that `least_of_segments` takes.
template <class E>
inline constexpr std::size_t kMaxOfSegment = 16 * 1024 / sizeof(typename E::Element);

/// The k least elements of each segment, 0 < k <= kMaxOfSegment<E>: their row ids, by key, then ascending row id.
/// Segment i's stand from rows[i * k] on; behind those of a segment with fewer rows stands -1. Reads the keys once, a
/// block or, of short ones, a warp for a segment at a time. In the order of the device's stream.
template <class E>
void least_of_segments(const E& elements, const Segments& segments, std::size_t k, RowId* rows, DeviceContext& device);

}  // namespace skyrank::kernels::cuda::topk
