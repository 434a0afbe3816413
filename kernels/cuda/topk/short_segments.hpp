#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.hpp"
#include "kernels/cuda/topk/batched.hpp"

namespace skyrank::kernels::cuda {

/// Who selects from a segment: a warp whose lanes bound it (short_segments.cu), a warp that searches for a bound
/// (narrowed_segments.cu), or a block (batched.cu).
enum class SegmentWay : std::uint8_t { lanes, narrowed, block };

/// The largest k for which a segment may be a warp's: one whose lanes bound it, but loosely for so many, and one that
/// puts its best rows in order in registers.
inline constexpr std::size_t kMostOfLanes = 32;
inline constexpr std::size_t kMostOfNarrowed = 256;

/// Of a segment of so many rows.
SKYRANK_HD inline SegmentWay way_of(std::size_t rows, std::size_t k) {
  if (rows <= 2048 ? k <= kMostOfLanes / 2 : rows <= 8192 && k <= kMostOfLanes / 2) return SegmentWay::lanes;
  if (k <= kMostOfNarrowed && rows <= 16'384) return SegmentWay::narrowed;
  return SegmentWay::block;
}

/// `least_of_segments` for those segments that go the first way; leaves the places of the others alone.
/// k <= kMostOfLanes.
template <class E>
void least_of_short_segments(const E& elements, const Segments& segments, std::size_t k, RowId* rows,
                             DeviceContext& device);

/// The same for those that go the second. k <= kMostOfNarrowed.
template <class E>
void least_of_narrowed_segments(const E& elements, const Segments& segments, std::size_t k, RowId* rows,
                                DeviceContext& device);

}  // namespace skyrank::kernels::cuda
