#pragma once

#include <cstddef>

// The tuning constants of batched selection: a struct for each kernel and one for the choice among them. Times are
// milliseconds on an H200, of 32-bit keys. GPUs of other architectures run with the same constants.
namespace skyrank::kernels::cuda::topk {

/// Limits of the paths. 4,096 segments of 65,536 keys, k = 1,024: screened 0.30, running 0.63; 16,384 segments of
/// 16,384, k = 32: narrowed 0.35, where a block that samples took 0.55.
struct SegmentPolicy {
  /// The largest k for which a segment may be a warp's: the warp puts its best rows in order in registers.
  static constexpr std::size_t kMaxNarrowedK = 256;
  static constexpr std::size_t kMaxNarrowedRows = 16'384;
  /// Screening pays from so many rows on, and for so many rows for each wanted one.
  static constexpr std::size_t kMinScreenedRows = 4096;
  static constexpr std::size_t kMinScreenedRowsOfWanted = 4;
  /// Segments whose keys have more bytes are not screened: the sample would be too small a part of them, and there
  /// might be no room for the rows that have to be kept.
  static constexpr std::size_t kMaxScreenedBytes = 512 * 1024;
};

/// A warp a segment (narrowed_segments.cu).
struct NarrowedPolicy {
  static constexpr unsigned kThreads = 256;
  static constexpr unsigned kBlocks = 3;  ///< blocks of a multiprocessor: four are 16 % slower at 1,000 rows
  static constexpr unsigned kLoads = 8;
  static constexpr unsigned kLoadsOfFewRows = 2;  ///< loads of segments of 32-bit keys up to so many rows:
  static constexpr std::size_t kFewRows = 256;
};

/// A block a segment, whose bound comes closer as it reads (running_segments.cu).
struct RunningPolicy {
  static constexpr unsigned kThreads = 256;
  static constexpr unsigned kLoads = 4;
  /// Blocks of a multiprocessor: three took 0.41 instead of 0.29 for 512 segments of 524,288, k = 20.
  static constexpr unsigned kBlocks = 4;
  static constexpr std::size_t kHeldBytes = std::size_t{32} * 1024;
};

/// The shape of a screening block's shared memory: `blocks` that a multiprocessor has room for, `stages` for tiles of a
/// warp, of which one is looked at, and places for `kept` elements of a thread, an odd number.
template <unsigned blocks, unsigned stages, unsigned kept>
struct ScreenShape {
  static constexpr unsigned kBlocks = blocks;
  static constexpr unsigned kStages = stages;
  static constexpr unsigned kKept = kept;
};

/// A block a segment with a large sample (screened_segments.cu).
struct ScreenedPolicy {
  static constexpr unsigned kThreads = 256;  ///< 512 and a sample twice as large: 0.313 to 0.352
  static constexpr unsigned kLoads = 4;      ///< loads of 16 bytes of a lane, of a tile; half as many: 0.334 to 0.344
  /// Elements of 8 bytes, up to 1,024 wanted rows of 65,536: more blocks, so that others read while one samples or puts
  /// in order. Of short segments that takes most of the time, of few wanted rows little.
  using FarAhead = ScreenShape<3, 3, 13>;
  using Short = ScreenShape<4, 2, 11>;
  /// More wanted rows of short segments, and of long ones, or few, and elements of 16 bytes: two blocks with three
  /// tiles instead of three with two 0.284 to 0.277 for k = 100, of 64-bit keys 0.435 to 0.368.
  using RoomyShort = ScreenShape<3, 2, 17>;
  template <std::size_t kElementBytes>
  using Roomy = ScreenShape<2, 3, kElementBytes <= 8 ? 19 : 13>;
  static constexpr std::size_t kFewWanted = 256;
  static constexpr std::size_t kLongBytes = 192 * 1024;  ///< from so many bytes on a segment's keys are long
};

}  // namespace skyrank::kernels::cuda::topk
