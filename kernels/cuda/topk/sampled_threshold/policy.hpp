#pragma once

#include <cstddef>

// The tuning constants of cuda-sampled-threshold, in one place: a struct for each kind of kernel, chosen by the bytes
// of a key or an element and by how much shared memory a device's blocks have. Times are microseconds above one read of
// the keys, on an H200, k = 65,536 if nothing else is said. GPUs of other architectures run with the same constants.
namespace skyrank::kernels::cuda::topk {

/// How the host sizes samples and bins (threshold_plan.cpp).
struct SamplePolicy {
  /// Probability that a threshold keeps too few rows, and then costs a second selection.
  static constexpr double kRisk = 1e-5;
  /// Standard deviations of the number of candidates that there is room for.
  static constexpr double kSpread = 5;
  /// With a lower rank there may be a hundred times fewer candidates than expected.
  static constexpr std::size_t kMinRank = 3;
  /// Rank up to which a larger sample makes the threshold tighter: 1,024 and 2,048 for k = 2^24 won 1 % and lost 2 %.
  static constexpr std::size_t kMaxRank = 512;
  /// Random reads of more rows take longer than more candidates.
  static constexpr std::size_t kMaxSampled = std::size_t{128} * 1024;
  /// One row in so many is sampled; one in 256 lost 2 to 7 at 2^24.
  static constexpr std::size_t kRowsOfSampled = 1024;
  /// Groups for each of the least elements that the threshold is chosen among: where two share a group, one is lost.
  static constexpr std::size_t kGroupsOfRank = 8;
  /// Rows that a block samples at most. One block alone does not wait for another: 2 won below 2^22 rows.
  static constexpr std::size_t kMaxRowsOfBlock = 2048;
  /// Rows of each of many blocks, up to so many blocks: a part of the device lets four random reads a nanosecond
  /// through. 128 instead of 32 blocks won 2 to 4.
  static constexpr std::size_t kRowsOfBlock = 512;
  static constexpr std::size_t kEnoughBlocks = 128;
  /// Expected candidates from which on bins pay, of keys and of scans over columns: k = 1,024 won 3 to 5.
  static constexpr std::size_t kMinBinned = 2048;
  static constexpr std::size_t kMinBinnedOfScan = 4096;
  /// With more candidates each bin would have too many.
  static constexpr std::size_t kMaxBinned = std::size_t{1} << 19;
  /// A bin has room for so many times the mean number of candidates, where that is not more than the number below; it
  /// was 8 times: clusters at 2^29 58 to 40.
  static constexpr std::size_t kTimesClustered = 24;
  static constexpr std::size_t kMaxClustered = 512;
};

/// The sampling kernel.
struct FindPolicy {
  static constexpr unsigned kThreads = 1024;
  static constexpr std::size_t kStagedBytes = std::size_t{16} * 1024;  ///< shared memory for minima
  static constexpr unsigned kThreadsOfKnot = 8;
};

/// Scans of any rows.
struct AnyScanPolicy {
  static constexpr unsigned kThreads = 256;
  /// Blocks of a multiprocessor. With four loads of 16 bytes a thread, 64 KiB are under way; with 48 registers a thread
  /// instead of 64 a scan of 2^29 keys is 10 % slower.
  static constexpr unsigned kBlocks = 4;
  /// Elements that a warp collects before it asks for places in bins, and bytes before it asks for room in a list: room
  /// for 128 elements at a time instead of 512 lost 20 at k = 2^24.
  static constexpr unsigned kHeld = 128;
  static constexpr unsigned kHeldBytesOfList = 4096;
};

/// Scans of keys of so many bytes.
template <std::size_t kKeyBytes>
struct ScanPolicy : AnyScanPolicy {
  /// Loads of 16 bytes that a thread has under way, of no more than the 32 keys that a word has bits for.
  static constexpr unsigned kLoads = kKeyBytes == 1 ? 2 : 4;
};

/// Tiles that blocks look at before the threshold is known: scans won 2 to 8 at 2^26.
struct LookAheadPolicy {
  /// Tiles of a block. Those of all blocks of 132 multiprocessors are 69 MB, and reading them takes longer than finding
  /// the threshold.
  static constexpr unsigned kTiles = 8;
  /// With so many tiles of a warp that have a key of zero, the threshold may be zero: then few tiles are to be read.
  static constexpr unsigned kMaxZeros = 2;
};

/// The kernel that ranks what bins hold.
struct AnyRankPolicy {
  static constexpr unsigned kThreads = 1024;
  /// Ranks that one block is to find at most.
  static constexpr std::size_t kMaxOfShare = 2048;
};

/// The same for elements of so many bytes. kLittle: for devices whose blocks have less than 153 KiB of shared memory,
/// but 90 at least.
template <std::size_t kElementBytes, bool kLittle>
struct RankPolicy {
  /// Elements of a thread: what shared memory has room for.
  static constexpr unsigned kItems = kElementBytes == 8 ? (kLittle ? 7 : 15) : (kLittle ? 3 : 7);
  /// Bins of more elements are divided again: 384 lost up to 5 for 1,000 values.
  static constexpr unsigned kMaxCounted = 512;
  /// With more large bins than that all elements are sorted.
  static constexpr unsigned kMaxLarge = 8;
  static constexpr unsigned kDividedItems = kLittle ? 1 : 3;
};

/// Scans over columns with scores of `kTerms` columns. kGeneral: they may have 64 bits.
template <unsigned kTerms, bool kGeneral>
struct ColumnScanPolicy {
  /// Groups of four rows whose loads a thread has under way together: 64 bytes or more of them.
  static constexpr unsigned kLoadedGroups = 4 / (kTerms * (kGeneral ? 2 : 1));
  static constexpr unsigned kGroups = kLoadedGroups > 0 ? kLoadedGroups : 1;
  /// Blocks of a multiprocessor: as many as the registers for those leave.
  static constexpr unsigned kBlocks = kGeneral ? (kTerms > 4 ? 2 : 3) : (kTerms > 4 ? 3 : AnyScanPolicy::kBlocks);
};

}  // namespace skyrank::kernels::cuda::topk
