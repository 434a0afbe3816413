#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.hpp"
#include "kernels/cuda/topk/batched.hpp"

namespace skyrank::kernels::cuda {

/// Who selects from a segment: a warp whose lanes bound it (short_segments.cu), a warp that searches for a bound
/// (narrowed_segments.cu), a block with a sample (batched.cu), or one whose bound comes closer as it reads
/// (running_segments.cu).
enum class SegmentWay : std::uint8_t { lanes, narrowed, sampled, running };

/// The largest k for which a segment may be a warp's: one whose lanes bound it, but loosely for more, and one that puts
/// its best rows in order in registers.
inline constexpr std::size_t kMostOfLanes = 16;
inline constexpr std::size_t kMostOfNarrowed = 256;
/// The largest k for which a block samples.
inline constexpr std::size_t kMostOfSampled = 128;
/// Rows up to which the second kind pays in any case.
inline constexpr std::size_t kMostRowsNarrowed = 16'384;

/// Of a segment of so many rows.
SKYRANK_HD inline SegmentWay way_of(std::size_t rows, std::size_t k) {
  if (k <= kMostOfLanes && rows > 512 && rows <= 8192) return SegmentWay::lanes;
  if (k <= kMostOfNarrowed && rows <= kMostRowsNarrowed) return SegmentWay::narrowed;
  return k <= kMostOfSampled ? SegmentWay::sampled : SegmentWay::running;
}

/// `least_of_segments` for those segments that go the first way; leaves the places of the others alone.
/// k <= kMostOfLanes.
template <class E>
void least_of_short_segments(const E& elements, const Segments& segments, std::size_t k, RowId* rows,
                             DeviceContext& device);

/// Whether longer segments, up to 65,536 rows of 32-bit keys, are for warps that narrow too: where there are so many
/// that the warps which a device holds at a time have all nearly the same to do.
bool narrows_long_segments(const Segments& segments, std::size_t k, std::size_t key_bytes, const DeviceContext& device);

/// The same for those that go the second, or for all, if they are of one length. k <= kMostOfNarrowed.
template <class E>
void least_of_narrowed_segments(const E& elements, const Segments& segments, std::size_t k, RowId* rows,
                                DeviceContext& device);

/// The same for those that go the last. k <= kMostOfSegment<E>.
template <class E>
void least_of_running_segments(const E& elements, const Segments& segments, std::size_t k, RowId* rows,
                               DeviceContext& device);

}  // namespace skyrank::kernels::cuda
