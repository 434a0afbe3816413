#pragma once

#include <cstddef>
#include <cstdint>

// The tuning constants of cuda-blocked-bitmap, a struct for each kind of kernel. Times are of an H200. GPUs of other
// architectures run with the same constants.
namespace skyrank::kernels::cuda::skyline::bitmap {

/// The prefilter.
struct PrefilterPolicy {
  static constexpr unsigned kElite = 1024;        ///< rows that meet all rows
  static constexpr unsigned kScores = 4096;       ///< steps of a row's score
  static constexpr unsigned kRowThreads = 1024;   ///< threads of the kernels that score and sample
  static constexpr unsigned kSpareThreads = 512;  ///< threads of the kernel that compares rows with the elite
  static constexpr unsigned kScoresOfThread = 8;  ///< scores that a thread reads at a time when the elite is collected
  /// Shared memory that may be taken for the elite's bitmaps.
  static constexpr std::size_t kMaxEliteBytes = std::size_t{200} * 1024;
};

/// Survivors of the prefilter that are compared pair by pair: correlated rows of 8 columns 0.206 to 0.112 ms.
struct FewPolicy {
  static constexpr unsigned kMax = 8192;  ///< survivors
  static constexpr unsigned kThreads = 256;
  static constexpr unsigned kRows = 8;  ///< rows of a block, whose threads divide all others among them
};

/// Groups of rows against groups of candidates.
struct ReducePolicy {
  static constexpr unsigned kWarps = 2;  ///< warps of a block; its place is free only when the last of them is done
  static constexpr unsigned kOpenGroups = 128;  ///< open groups that a warp keeps until it goes through them
  static constexpr unsigned kPastOpen = 4;      ///< groups that may be fetched after the last
  /// Hits of all lanes up to which tests of pairs are less work than all keys of a dimension.
  static constexpr unsigned kWorthTests = 64;
  /// Rows of a group with candidates from which on these are compared by their levels first.
  static constexpr int kManyLanes = 8;
  /// Enough warps for the device, even where the first groups of candidates see the most rows; and bitmaps that are
  /// used often enough to be worth their making.
  static constexpr std::uint32_t kMinWarps = 65536;
  static constexpr std::uint32_t kMinChunks = 16;
};

}  // namespace skyrank::kernels::cuda::skyline::bitmap
