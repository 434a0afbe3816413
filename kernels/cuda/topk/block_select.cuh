#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/topk/element.cuh"

// Selection by one block: the digits of a radix select, most significant first, over elements that few enough passes of
// one multiprocessor can read.
namespace skyrank::kernels::cuda {

inline constexpr unsigned kAllLanes = 0xffffffffu;
inline constexpr unsigned kLanes = 32;

template <class Element>
__device__ Element shifted_right(Element element, int by) {
  return by >= 8 * static_cast<int>(sizeof(Element)) ? Element{0} : element >> by;
}

__device__ inline int bit_length(std::uint64_t value) { return 64 - __clzll(static_cast<long long>(value)); }
__device__ inline int bit_length(Uint128 value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return high != 0 ? 64 + bit_length(high) : bit_length(static_cast<std::uint64_t>(value));
}

/// What a block shares while it selects. `kThreads` threads, a multiple of 32.
template <class Element, unsigned kThreads>
struct BlockSelect {
  static constexpr int kDigitBits = 11;
  static constexpr unsigned kBins = 1u << kDigitBits;
  static constexpr unsigned kWarps = kThreads / kLanes;
  static constexpr unsigned kBinsOfThread = (kBins + kThreads - 1) / kThreads;

  unsigned histogram[kBins];
  unsigned warp_totals[kWarps];
  unsigned long long differing[2];  ///< bits, low and high half, in which elements differ
  unsigned chosen_bin;
  unsigned below_chosen;  ///< elements in the bins before it
  Element found;

  /// The element of rank `rank`, from 1, among `count` different ones, 1 <= rank <= count < 2^32. All threads of the
  /// block call it and get the same.
  __device__ Element kth(const Element* elements, unsigned count, unsigned rank) {
    const Element first = elements[0];
    int shift = differing_bits(elements, count, first);
    Element prefix = shifted_right(first, shift);
    while (shift > 0) {
      const int width = min(kDigitBits, shift);
      count_digits(elements, count, prefix, shift, width);
      choose_bin(rank);
      rank -= below_chosen;
      shift -= width;
      prefix = static_cast<Element>(prefix << width) | chosen_bin;
      const bool alone = histogram[chosen_bin] == 1;
      __syncthreads();
      if (alone) return only_one(elements, count, prefix, shift);
    }
    return prefix;
  }

 private:
  /// How many low bits are not the same in all elements.
  __device__ int differing_bits(const Element* elements, unsigned count, Element first) {
    if (threadIdx.x < 2) differing[threadIdx.x] = 0;
    __syncthreads();
    Element any = 0;
    for (unsigned i = threadIdx.x; i < count; i += kThreads) any |= elements[i] ^ first;
    const Uint128 wide = any;
    if (const auto low = static_cast<unsigned long long>(wide); low != 0) atomicOr(&differing[0], low);
    if (const auto high = static_cast<unsigned long long>(wide >> 64); high != 0) atomicOr(&differing[1], high);
    __syncthreads();
    return bit_length((static_cast<Uint128>(differing[1]) << 64) | differing[0]);
  }

  __device__ void count_digits(const Element* elements, unsigned count, Element prefix, int above, int width) {
    for (unsigned bin = threadIdx.x; bin < kBins; bin += kThreads) histogram[bin] = 0;
    __syncthreads();
    const unsigned mask = (1u << width) - 1;
    for (unsigned i = threadIdx.x; i < count; i += kThreads) {
      const Element element = elements[i];
      if (shifted_right(element, above) != prefix) continue;
      atomicAdd(&histogram[static_cast<unsigned>(element >> (above - width)) & mask], 1u);
    }
    __syncthreads();
  }

  /// The bin that holds the element of a rank, and how many elements lie in the bins before it.
  __device__ void choose_bin(unsigned rank) {
    const unsigned first_bin = threadIdx.x * kBinsOfThread;
    unsigned mine = 0;
    for (unsigned i = 0; i < kBinsOfThread && first_bin + i < kBins; ++i) mine += histogram[first_bin + i];
    unsigned before = sum_of_threads_before(mine);
    for (unsigned i = 0; i < kBinsOfThread && first_bin + i < kBins; ++i) {
      const unsigned in_bin = histogram[first_bin + i];
      if (before < rank && rank <= before + in_bin) {
        chosen_bin = first_bin + i;
        below_chosen = before;
      }
      before += in_bin;
    }
    __syncthreads();
  }

  __device__ unsigned sum_of_threads_before(unsigned mine) {
    const unsigned lane = threadIdx.x % kLanes;
    const unsigned warp = threadIdx.x / kLanes;
    unsigned sum = mine;
    for (unsigned step = 1; step < kLanes; step *= 2) {
      const unsigned other = __shfl_up_sync(kAllLanes, sum, step);
      if (lane >= step) sum += other;
    }
    if (lane == kLanes - 1) warp_totals[warp] = sum;
    __syncthreads();
    unsigned before = sum - mine;
    for (unsigned i = 0; i < warp; ++i) before += warp_totals[i];
    __syncthreads();
    return before;
  }

  __device__ Element only_one(const Element* elements, unsigned count, Element prefix, int shift) {
    for (unsigned i = threadIdx.x; i < count; i += kThreads) {
      if (shifted_right(elements[i], shift) == prefix) found = elements[i];
    }
    __syncthreads();
    return found;
  }
};

__device__ inline std::uint64_t from_lane_xor(std::uint64_t value, unsigned mask) {
  return __shfl_xor_sync(kAllLanes, static_cast<unsigned long long>(value), static_cast<int>(mask));
}
__device__ inline Uint128 from_lane_xor(Uint128 value, unsigned mask) {
  const std::uint64_t low = from_lane_xor(static_cast<std::uint64_t>(value), mask);
  const std::uint64_t high = from_lane_xor(static_cast<std::uint64_t>(value >> 64), mask);
  return (static_cast<Uint128>(high) << 64) | low;
}

/// The steps of a bitonic sort from `stride` < 32 down, for the element at place `i` of its lane.
template <class Element>
__device__ Element warp_bitonic_steps(Element element, unsigned i, unsigned run, unsigned stride) {
  for (; stride > 0; stride /= 2) {
    const Element other = from_lane_xor(element, stride);
    const bool keeps_less = ((i & stride) == 0) == ((i & run) == 0);
    if ((other < element) == keeps_less) element = other;
  }
  return element;
}

/// Sorts `size`, a power of two, elements of shared memory with one block. Steps inside a warp go through registers.
template <class Element>
__device__ void block_bitonic_sort(Element* elements, unsigned size) {
  const unsigned padded = size < kLanes ? kLanes : size;
  for (unsigned i = threadIdx.x; i < padded; i += blockDim.x) {
    Element element = i < size ? elements[i] : kNoElement<Element>;
    for (unsigned run = 2; run <= kLanes; run *= 2) element = warp_bitonic_steps(element, i, run, run / 2);
    if (i < size) elements[i] = element;
  }
  __syncthreads();
  for (unsigned run = 2 * kLanes; run <= size; run *= 2) {
    for (unsigned stride = run / 2; stride >= kLanes; stride /= 2) {
      for (unsigned pair = threadIdx.x; pair < size / 2; pair += blockDim.x) {
        const unsigned low = 2 * pair - (pair & (stride - 1));
        const Element a = elements[low];
        const Element b = elements[low + stride];
        if ((b < a) == ((low & run) == 0)) {
          elements[low] = b;
          elements[low + stride] = a;
        }
      }
      __syncthreads();
    }
    for (unsigned i = threadIdx.x; i < size; i += blockDim.x) {
      elements[i] = warp_bitonic_steps(elements[i], i, run, kLanes / 2);
    }
    __syncthreads();
  }
}

}  // namespace skyrank::kernels::cuda
