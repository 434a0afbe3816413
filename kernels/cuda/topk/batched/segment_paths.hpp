#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.hpp"
#include "kernels/cuda/topk/batched/batched.hpp"

namespace skyrank::kernels::cuda::topk {

/// Who selects from a segment: a warp that searches for a bound (narrowed_segments.cu), a block with a large sample
/// (screened_segments.cu), or a block whose bound comes closer as it reads (running_segments.cu).
enum class SegmentPath : std::uint8_t { narrowed, screened, running };

/// Limits of the paths. One H200, 4,096 segments of 65,536 32-bit keys, k = 1,024: screened 0.31 ms, running 0.50 ms;
/// 16,384 segments of 16,384, k = 32: narrowed 0.35 ms, a block with a sample 0.55 ms.
struct SegmentPolicy {
  /// The largest k for which a segment may be a warp's: the warp puts its best rows in order in registers.
  std::size_t max_narrowed_k;
  std::size_t max_narrowed_rows;
  /// Screening pays from so many rows on, and for so many rows for each wanted one.
  std::size_t min_screened_rows;
  std::size_t min_screened_rows_of_wanted;
  /// Segments whose keys have more bytes are not screened: the sample would be too small a part of them, and there
  /// might be no room for the rows that have to be kept.
  std::size_t max_screened_bytes;
};

inline constexpr SegmentPolicy kSegmentPolicy{.max_narrowed_k = 256,
                                              .max_narrowed_rows = 16'384,
                                              .min_screened_rows = 4096,
                                              .min_screened_rows_of_wanted = 4,
                                              .max_screened_bytes = 512 * 1024};

/// Returns the algorithm for a segment of so many rows. For rows and k that a warp can take, sorted rows take a block
/// with a large sample twice as long.
SKYRANK_HD inline SegmentPath path_of(std::size_t rows, std::size_t k, std::size_t key_bytes) {
  constexpr SegmentPolicy kPolicy = kSegmentPolicy;
  if (k <= kPolicy.max_narrowed_k && rows <= kPolicy.max_narrowed_rows) return SegmentPath::narrowed;
  const bool is_screened = rows >= kPolicy.min_screened_rows && rows >= kPolicy.min_screened_rows_of_wanted * k &&
                           rows * key_bytes <= kPolicy.max_screened_bytes;
  return is_screened ? SegmentPath::screened : SegmentPath::running;
}

/// `least_of_segments` for the segments of path `narrowed`, or for all, if they are of one length. Leaves the places of
/// the others alone. k <= kSegmentPolicy.max_narrowed_k.
template <class E>
void least_of_narrowed_segments(const E& elements, const Segments& segments, std::size_t k, RowId* rows,
                                DeviceContext& device);

/// Marks, in the first of a segment's places, that its sample was of no use.
inline constexpr RowId kMarkedRow = -2;

/// The same for the segments of path `screened`, but where the sample of one is of no use it gets a mark instead. Ties
/// go to the lowest row ids. k <= kMaxOfSegment<E>. Returns false, and selects nothing, where blocks have too little
/// shared memory.
template <class E>
bool least_of_screened_segments(const E& elements, const Segments& segments, std::size_t k, RowId* rows,
                                DeviceContext& device);

/// The same for the segments of path `running` and those that are left over from screening: all of them, or, if they
/// were `screened`, the ones with a mark. k <= kMaxOfSegment<E>.
template <class E>
void least_of_running_segments(const E& elements, const Segments& segments, std::size_t k, bool screened, RowId* rows,
                               DeviceContext& device);

}  // namespace skyrank::kernels::cuda::topk
