#pragma once

#include <cstddef>

// The tuning constants of putting lists in order, chosen by the bytes of an element. Times are of an H200. GPUs of
// other architectures run with the same constants.
namespace skyrank::kernels::cuda::topk {

/// Few elements, which are compared with all others.
struct CountPolicy {
  static constexpr unsigned kThreads = 1024;
};

/// Many elements to buckets.
struct PartitionPolicy {
  static constexpr unsigned kThreads = 512;
  static constexpr unsigned kItems = 8;     ///< elements of a thread in a tile,
  static constexpr unsigned kFewItems = 2;  ///< and in one of a list that is too short for all multiprocessors
  static constexpr unsigned kBlocks = 2;    ///< blocks of a multiprocessor
  /// Buckets of the first of two steps: one step to 7,800 buckets took 840 us, two 422.
  static constexpr unsigned kMaxCoarse = 128;
};

/// A block for each bucket of elements of so many bytes. A bucket overflows with a probability below 1e-9: where it is
/// made for a third of its room, 24 or fewer of 72 samples that it has in the mean when it is full; with smaller
/// buckets, 8 or fewer of 48 or more.
template <std::size_t kElementBytes>
struct BucketPolicy {
  static constexpr unsigned kThreads = 512;
  /// Blocks of a multiprocessor, which has shared memory and registers for no more.
  static constexpr unsigned kBlocks = kElementBytes == 8 ? 3 : 2;
  static constexpr unsigned kItems = kElementBytes == 8 ? 15 : 9;
  /// Elements of each of few buckets: small, so that every multiprocessor has one.
  static constexpr std::size_t kSmall = kElementBytes == 8 ? 1024 : 768;
  static constexpr std::size_t kMaxSmallBuckets = 256;
  static constexpr std::size_t kSamplesOfSmall = 8;
  static constexpr std::size_t kSamplesOfLarge = 24;
};

}  // namespace skyrank::kernels::cuda::topk
