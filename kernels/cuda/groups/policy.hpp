#pragma once

#include <cstddef>

// The tuning constants of kernels that number, bring together and count rows by their groups. GPUs of all architectures
// run with the same ones.
namespace skyrank::kernels::cuda::groups {

/// The pass that lists the rows at or below the bounds of their codes.
struct ListPolicy {
  static constexpr unsigned kThreads = 512;
  static constexpr unsigned kLoads = 2;      ///< loads of four neighbouring rows that a thread waits for at a time
  static constexpr unsigned kPending = 128;  ///< rows that a warp gathers before it lists them
  /// Rows of a code, on average, that a short pass before sees: it finds the first places of all codes of random rows.
  static constexpr std::size_t kFirstRowsOfCode = 64;
};

/// The kernel that adds up values by partition.
struct AggregatePolicy {
  static constexpr unsigned kThreads = 256;
  static constexpr unsigned kBlocks = 8;  ///< blocks of a multiprocessor
  /// Neighbouring rows of a warp: few atomic operations for a large partition, and work for all warps of a small table.
  static constexpr std::size_t kRowsOfWarp = 1024;
};

/// The search for the rows that can be among the best of their partition.
struct ContenderPolicy {
  static constexpr std::size_t kMaxCodes = std::size_t{1} << 16;  ///< beyond, bounds do not stay in the L2 cache
  static constexpr std::size_t kMaxK = 256;
  static constexpr std::size_t kMinBuckets = 32;
  static constexpr std::size_t kMaxBuckets = std::size_t{1} << 22;  ///< buckets of all codes together: 32 MiB
  /// Sampled rows of a bucket, on average: fewer leave buckets of rare codes empty, and these without a bound.
  static constexpr std::size_t kSampledOfBucket = 8;
  /// One tile in so many is sampled. With fewer between, a sort of all rows is about as fast; with 64, the sample takes
  /// a 64th of the time of a pass, and about 64 k rows of a partition are left.
  static constexpr std::size_t kMinStride = 4;
  static constexpr std::size_t kMaxStride = 64;
  static constexpr std::size_t kMinRowsOfContender = 4;  ///< with more contenders than n / 4, all rows are sorted
};

}  // namespace skyrank::kernels::cuda::groups
