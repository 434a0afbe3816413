#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.hpp"
#include "kernels/cuda/topk/batched/batched.hpp"

namespace skyrank::kernels::cuda::topk {

/// Who selects from a segment: a warp whose lanes bound it (short_segments.cu), a warp that searches for a bound
/// (narrowed_segments.cu), a block with a sample (batched.cu), one with a larger sample for more rows
/// (screened_segments.cu), or one whose bound comes closer as it reads (running_segments.cu).
enum class SegmentPath : std::uint8_t { lanes, narrowed, sampled, screened, running };

/// The largest k for which a segment may be a warp's: one whose lanes bound it, but loosely for more, and one that puts
/// its best rows in order in registers.
inline constexpr std::size_t kMaxOfLanes = 16;
inline constexpr std::size_t kMaxOfNarrowed = 256;
/// The largest k for which a block samples.
inline constexpr std::size_t kMaxOfSampled = 128;
/// Rows up to which the second kind pays in any case.
inline constexpr std::size_t kMaxRowsNarrowed = 16'384;

/// From so many rows on, and for so many rows for each wanted one, a large sample pays.
inline constexpr std::size_t kMinRowsScreened = 4096;
inline constexpr std::size_t kMinRowsOfScreened = 4;
/// Segments whose keys have more bytes are not screened: the sample would be too small a part of them, and there might
/// be no room for the rows that have to be kept.
inline constexpr std::size_t kMaxBytesScreened = 512 * 1024;

/// Returns true if a block with a large sample is fastest. For up to kMaxRowsNarrowed sorted rows, which take it as
/// long as others, warps that narrow take half that time.
SKYRANK_HD inline bool is_screened(std::size_t rows, std::size_t k, std::size_t key_bytes) {
  if (rows < kMinRowsScreened || rows < kMinRowsOfScreened * k) return false;
  return rows * key_bytes <= kMaxBytesScreened && (rows > kMaxRowsNarrowed || k > kMaxOfNarrowed);
}

/// Returns the algorithm for a segment of so many rows.
SKYRANK_HD inline SegmentPath path_of(std::size_t rows, std::size_t k, std::size_t key_bytes) {
  if (k <= kMaxOfLanes && rows > 512 && rows <= 8192) return SegmentPath::lanes;
  if (is_screened(rows, k, key_bytes)) return SegmentPath::screened;
  if (k <= kMaxOfNarrowed && rows <= kMaxRowsNarrowed) return SegmentPath::narrowed;
  return k <= kMaxOfSampled ? SegmentPath::sampled : SegmentPath::running;
}

/// `least_of_segments` for those segments that go the first way; leaves the places of the others alone.
/// k <= kMaxOfLanes.
template <class E>
void least_of_short_segments(const E& elements, const Segments& segments, std::size_t k, RowId* rows,
                             DeviceContext& device);

/// Returns true if longer segments, up to 65,536 rows of 32-bit keys, are also for warps that narrow: if there are so
/// many that all warps which a device holds at a time have nearly the same work.
bool narrows_long_segments(const Segments& segments, std::size_t k, std::size_t key_bytes, const DeviceContext& device);

/// The same for those that go the second, or for all, if they are of one length. k <= kMaxOfNarrowed.
template <class E>
void least_of_narrowed_segments(const E& elements, const Segments& segments, std::size_t k, RowId* rows,
                                DeviceContext& device);

/// Marks, in the first of a segment's places, that its sample was of no use.
inline constexpr RowId kMarkedRow = -2;

/// The same for those that go the fourth way, but where the sample of one is of no use it gets a mark instead. Ties go
/// to the lowest row ids. k <= kMaxOfSegment<E>. Whether it did; not where blocks have too little shared memory.
template <class E>
bool least_of_screened_segments(const E& elements, const Segments& segments, std::size_t k, RowId* rows,
                                DeviceContext& device);

/// Returns true if a segment that `own` was chosen for is left for `way`, one of the last three: all segments of that
/// way, and those left over from screening: all of them, or, if they were `screened`, the ones with a mark in `answer`.
SKYRANK_HD inline bool is_left_for(SegmentPath own, SegmentPath path, bool screened, const RowId* answer) {
  return path == own || (path == SegmentPath::screened && (!screened || *answer == kMarkedRow));
}

/// Returns true if the kernel for the segments that are left may start while the last segments are screened.
inline bool overlaps_screening(bool screened, const DeviceContext& device) {
  return screened && device.properties().overlaps_launches;
}

/// The same for those that are left for the last. k <= kMaxOfSegment<E>.
template <class E>
void least_of_running_segments(const E& elements, const Segments& segments, std::size_t k, bool screened, RowId* rows,
                               DeviceContext& device);

}  // namespace skyrank::kernels::cuda::topk
