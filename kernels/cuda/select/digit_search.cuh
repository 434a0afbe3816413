#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/scan.cuh"

// The k-th least of many values by their digits from the highest one: each launch counts the values of a range by their
// next digit, and the next launch goes on with the digit that the k-th least has. A radix selection as that of Alabi et
// al., "Fast k-selection algorithms for graphics processing units" (JEA 2012), section 3.2, without copies of the
// values, and so without a wait for the host.
namespace skyrank::kernels::cuda::select {

inline constexpr unsigned kDigitBits = 11;
inline constexpr unsigned kDigits = 1u << kDigitBits;  ///< values of a digit
inline constexpr unsigned kDigitThreads = 512;
inline constexpr unsigned kMaxDigits = 10;  ///< digits of a key of 64 bits and a position of 32, at most

/// Returns the number of bits that a value takes.
__device__ inline unsigned width_of(std::uint64_t value) {
  return 64 - static_cast<unsigned>(__clzll(static_cast<long long>(value)));
}

/// The first bits of the digits of values, the highest digit first.
struct DigitPlaces {
  unsigned shifts[kMaxDigits] = {};
  unsigned count = 0;

  /// Adds the digits of `bits` bits from `first` on, below those that were added before.
  constexpr void add(unsigned first, unsigned bits) {
    while (bits > 0) {
      bits -= bits < kDigitBits ? bits : kDigitBits;
      shifts[count++] = first + bits;
    }
  }
};

/// Values that have the digits of the k-th least one: those from `low` to `high`.
template <class T>
struct DigitRange {
  T low;
  T high;
  unsigned below;   ///< values less than `low`, less than k
  unsigned within;  ///< values at or below `high`, k or more
  bool is_found;    ///< `within` are few enough
};

/// Narrows a range to the values with the digit of the k-th least one, by the counts of the digit's values.
/// `narrowed`: in shared memory; it is there after the next barrier. All threads of a block of kThreads call it.
template <unsigned kThreads, class T>
__device__ void narrow(const DigitRange<T>& range, const unsigned* counts, unsigned shift, unsigned k, unsigned enough,
                       DigitRange<T>& narrowed) {
  constexpr unsigned kEach = kDigits / kThreads;
  unsigned own[kEach];
  unsigned sum = 0;
#pragma unroll
  for (unsigned i = 0; i < kEach; ++i) sum += own[i] = counts[threadIdx.x * kEach + i];
  unsigned all = 0;
  unsigned below = range.below + sum_before<kThreads>(sum, all);
  if (below >= k || below + sum < k) return;
  T low = range.low + (static_cast<T>(threadIdx.x * kEach) << shift);
#pragma unroll
  for (unsigned i = 0; i < kEach; ++i) {
    if (below < k && below + own[i] >= k) {
      const T rest = (T{1} << shift) - 1;
      narrowed = {.low = low,
                  .high = rest < static_cast<T>(~low) ? static_cast<T>(low + rest) : static_cast<T>(~T{0}),
                  .below = below,
                  .within = below + own[i],
                  .is_found = below + own[i] <= enough || shift == 0};
    }
    below += own[i];
    low += T{1} << shift;
  }
}

/// The searches of several rows, in device memory.
template <class T>
struct DigitSearch {
  DigitPlaces places;
  DigitRange<T>* ranges = nullptr;  ///< a row's before each digit, and behind the last one
  unsigned* counts = nullptr;       ///< a row's by digit and its value; zeros at first
  unsigned k = 0;
  unsigned enough = 0;  ///< a range with so many at or below `high` is narrow enough

  std::size_t ranges_of_row() const { return places.count + 1; }

  __device__ DigitRange<T>* range_of(std::size_t row, unsigned digit) const {
    return ranges + row * (places.count + 1) + digit;
  }
  __device__ unsigned* counts_of(std::size_t row, unsigned digit) const {
    return counts + (row * places.count + digit) * kDigits;
  }

  /// Returns the range of a row before a digit, or behind the last one, once the kernels of the digits before it have
  /// run. All threads of a block of kThreads call it.
  template <unsigned kThreads>
  __device__ DigitRange<T> before(std::size_t row, unsigned digit) const {
    if (digit == 0) return {.low = 0, .high = static_cast<T>(~T{0}), .below = 0, .within = 0, .is_found = false};
    const DigitRange<T> range = *range_of(row, digit - 1);
    if (range.is_found) return range;
    __shared__ DigitRange<T> narrowed;
    narrow<kThreads>(range, counts_of(row, digit - 1), places.shifts[digit - 1], k, enough, narrowed);
    __syncthreads();
    return narrowed;
  }
};

/// Counts values of a range by a digit. All threads of a block of kDigitThreads call it.
template <class T>
class DigitCount {
 public:
  __device__ DigitCount(const DigitRange<T>& range, unsigned shift, unsigned* counts)
      : range_(range), shift_(shift), counts_(counts), of_block_(shared_counts()) {
    for (unsigned i = threadIdx.x; i < kDigits; i += kDigitThreads) of_block_[i] = 0;
    __syncthreads();
  }
  __device__ void add(T value) {
    if (value >= range_.low && value <= range_.high) {
      atomicAdd(&of_block_[static_cast<unsigned>((value - range_.low) >> shift_)], 1u);
    }
  }
  /// Adds the block's counts to those of all.
  __device__ void finish() {
    __syncthreads();
    for (unsigned i = threadIdx.x; i < kDigits; i += kDigitThreads) {
      if (of_block_[i] > 0) atomicAdd(&counts_[i], of_block_[i]);
    }
  }

 private:
  __device__ static unsigned* shared_counts() {
    __shared__ unsigned counts[kDigits];
    return counts;
  }

  DigitRange<T> range_;
  unsigned shift_;
  unsigned* counts_;
  unsigned* of_block_;
};

}  // namespace skyrank::kernels::cuda::select
