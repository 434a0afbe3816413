#pragma once

#include <cstddef>

// The tuning constants of dominance counts.
namespace skyrank::kernels::cuda::dominance_counts {

struct CountPolicy {
  /// Words of 32 asking rows in a tile: the tables of four keys take 131 KB, which the L1 cache of an H200 holds.
  static constexpr unsigned kWords = 16;
  static constexpr unsigned kTile = 32 * kWords;  ///< asking rows of a tile
  static constexpr unsigned kThreads = 256;
  static constexpr unsigned kBatch = 512;  ///< rows whose places a block finds at a time
  static constexpr unsigned kPlanes = 16;  ///< bits of the numbers in which a block adds up
  /// Memory for the tables of one launch, at most. A launch over 10^6 rows then takes some hundredths of a second,
  /// after which a stop request is heard.
  static constexpr std::size_t kTableBytes = std::size_t{64} << 20;
};

struct BandPolicy {
  static constexpr std::size_t kMinRows = std::size_t{1} << 14;  ///< fewer rows are counted without a sample
  static constexpr std::size_t kSampleRows = 4096;
  static constexpr std::size_t kMaxEnough = 64;  ///< dominators that a sample of this size tells of
  static constexpr std::size_t kMaxJudges = 256;
  static constexpr std::size_t kJudgeBytes = std::size_t{32} << 10;  ///< shared memory for the keys of the judges
};

}  // namespace skyrank::kernels::cuda::dominance_counts
