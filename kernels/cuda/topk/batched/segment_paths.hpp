#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.hpp"
#include "kernels/cuda/topk/batched/batched.hpp"
#include "kernels/cuda/topk/batched/policy.hpp"

namespace skyrank::kernels::cuda::topk {

/// Who selects from a segment: a warp that searches for a bound (narrowed_segments.cu), a block with a large sample
/// (screened_segments.cu), or a block whose bound comes closer as it reads (running_segments.cu).
enum class SegmentPath : std::uint8_t { narrowed, screened, running };

/// Returns the algorithm for a segment of so many rows. For rows and k that a warp can take, sorted rows take a block
/// with a large sample twice as long.
SKYRANK_HD inline SegmentPath path_of(std::size_t rows, std::size_t k, std::size_t key_bytes) {
  using Policy = SegmentPolicy;
  if (k <= Policy::kMaxNarrowedK && rows <= Policy::kMaxNarrowedRows) return SegmentPath::narrowed;
  const bool is_screened = rows >= Policy::kMinScreenedRows && rows >= Policy::kMinScreenedRowsOfWanted * k &&
                           rows * key_bytes <= Policy::kMaxScreenedBytes;
  return is_screened ? SegmentPath::screened : SegmentPath::running;
}

/// `least_of_segments` for the segments of path `narrowed`, or for all, if they are of one length. Leaves the places of
/// the others alone. k <= SegmentPolicy::kMaxNarrowedK.
template <class E>
void least_of_narrowed_segments(const E& elements, const Segments& segments, std::size_t k, RowId* rows,
                                DeviceContext& device);

/// State of a place of the answer that has no row. Rows are not negative, so that states need no memory of their own.
enum class NoRow : RowId {
  absent = -1,     ///< the segment has fewer than k rows
  left_over = -2,  ///< in the first place: the segment's sample was of no use, so that `running` is to answer it
};

/// The same for the segments of path `screened`, but where the sample of one is of no use it is marked as left over.
/// Ties go to the lowest row ids. k <= kMaxOfSegment<E>. Returns false, and selects nothing, where blocks have too
/// little shared memory.
template <class E>
bool least_of_screened_segments(const E& elements, const Segments& segments, std::size_t k, RowId* rows,
                                DeviceContext& device);

/// The same for the segments of path `running` and those that are left over from screening: all of them, or, if they
/// were `screened`, the ones that are left over. k <= kMaxOfSegment<E>.
template <class E>
void least_of_running_segments(const E& elements, const Segments& segments, std::size_t k, bool screened, RowId* rows,
                               DeviceContext& device);

}  // namespace skyrank::kernels::cuda::topk
