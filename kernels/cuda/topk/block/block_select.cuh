#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/scan.cuh"
#include "kernels/cuda/topk/block/element.cuh"

// Selection by one block: the digits of a radix select, most significant first, over elements that few enough passes of
// one multiprocessor can read.
namespace skyrank::kernels::cuda::topk {

template <class Element>
__device__ Element shifted_right(Element element, int by) {
  return by >= 8 * static_cast<int>(sizeof(Element)) ? Element{0} : element >> by;
}

/// The bits that are set in any element, and in all.
template <class Element>
struct SetBits {
  Element any = 0;
  Element all = kNoElement<Element>;

  __device__ void add(Element element) {
    any |= element;
    all &= element;
  }
};

/// The memory that a block of `kThreads` threads, a multiple of 32, shares while it selects.
template <class Element, unsigned kThreads>
struct BlockSelect {
  static constexpr int kDigitBits = 10;
  static constexpr unsigned kBins = 1u << kDigitBits;
  static constexpr unsigned kBinsOfThread = kBins / kThreads;
  static constexpr int kWords = sizeof(Element) / sizeof(unsigned);
  /// At most this many elements are compared with one another, by several threads each.
  static constexpr unsigned kFew = 128;
  static constexpr unsigned kOfFew = kThreads / kFew;
  static_assert(kThreads * kBinsOfThread == kBins && kThreads / kLanes <= kLanes);
  static_assert(kOfFew > 0 && kLanes % kOfFew == 0);

  alignas(16) unsigned histogram[kBins];
  unsigned lengths[kThreads / kLanes];  ///< lengths of the differing parts of each warp's elements
  unsigned chosen_bin;
  unsigned below_chosen;  ///< elements in the bins before it
  unsigned taken;
  Element found;

  /// The element of rank `rank`, from 1, among `count` different ones, 1 <= rank <= count < 2^32. All threads of the
  /// block call it, `bits` being of the elements at a thread's own places i % kThreads == threadIdx.x; all get the
  /// same.
  __device__ Element kth(const Element* elements, unsigned count, unsigned rank, SetBits<Element> bits) {
    if (count <= kFew) return kth_of_few(elements, count, rank);
    const Element one = elements[0];
    int shift = differing_bits(bits, one);
    Element prefix = shifted_right(one, shift);
    while (shift > 0) {
      const int width = min(kDigitBits, shift);
      count_digits(elements, count, prefix, shift, width);
      choose_bin(rank);
      rank -= below_chosen;
      shift -= width;
      prefix = static_cast<Element>(prefix << width) | chosen_bin;
      const unsigned left = histogram[chosen_bin];
      if (threadIdx.x == 0) taken = 0;
      __syncthreads();
      if (left <= kFew) {
        take(elements, count, prefix, shift);
        return kth_of_few(few(), left, rank);
      }
    }
    return prefix;
  }

 private:
  /// How many low bits are not the same in all elements, of which `one` is any.
  __device__ int differing_bits(const SetBits<Element>& bits, Element one) {
    const Element differing = (bits.any & ~one) | (one & ~bits.all);
    unsigned length = 0;
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      const auto part = static_cast<unsigned>(differing >> (32 * word));
      if (part != 0) length = 32 * (word + 1) - static_cast<unsigned>(__clz(static_cast<int>(part)));
    }
    length = __reduce_max_sync(kAllLanes, length);
    if (threadIdx.x % kLanes == 0) lengths[threadIdx.x / kLanes] = length;
    __syncthreads();
    const unsigned of_warp = threadIdx.x % kLanes < kThreads / kLanes ? lengths[threadIdx.x % kLanes] : 0;
    return static_cast<int>(__reduce_max_sync(kAllLanes, of_warp));
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
    for (unsigned i = 0; i < kBinsOfThread; ++i) mine += histogram[first_bin + i];
    unsigned all_of_them = 0;
    unsigned before = sum_before<kThreads>(mine, all_of_them);
    for (unsigned i = 0; i < kBinsOfThread; ++i) {
      const unsigned in_bin = histogram[first_bin + i];
      if (before < rank && rank <= before + in_bin) {
        chosen_bin = first_bin + i;
        below_chosen = before;
      }
      before += in_bin;
    }
    __syncthreads();
  }

  /// In the histogram's place, which is done with.
  __device__ Element* few() {
    static_assert(kFew * sizeof(Element) <= sizeof(histogram));
    return reinterpret_cast<Element*>(histogram);
  }

  /// Copies those that begin with a prefix to few().
  __device__ void take(const Element* elements, unsigned count, Element prefix, int shift) {
    for (unsigned i = threadIdx.x; i < count; i += kThreads) {
      if (shifted_right(elements[i], shift) == prefix) few()[atomicAdd(&taken, 1u)] = elements[i];
    }
    __syncthreads();
  }

  __device__ Element kth_of_few(const Element* elements, unsigned count, unsigned rank) {
    const unsigned place = threadIdx.x / kOfFew;
    const bool there = place < count;
    const Element mine = there ? elements[place] : Element{0};
    unsigned below = 0;
    for (unsigned i = threadIdx.x % kOfFew; i < count; i += kOfFew) below += elements[i] < mine ? 1 : 0;
    for (int distance = 1; distance < int{kOfFew}; distance *= 2) below += __shfl_xor_sync(kAllLanes, below, distance);
    if (there && below == rank - 1) found = mine;
    __syncthreads();
    return found;
  }
};

__device__ inline std::uint32_t from_lane_xor(std::uint32_t value, unsigned mask) {
  return __shfl_xor_sync(kAllLanes, value, static_cast<int>(mask));
}
__device__ inline std::uint64_t from_lane_xor(std::uint64_t value, unsigned mask) {
  return __shfl_xor_sync(kAllLanes, static_cast<unsigned long long>(value), static_cast<int>(mask));
}
__device__ inline Uint128 from_lane_xor(Uint128 value, unsigned mask) {
  const std::uint64_t low = from_lane_xor(static_cast<std::uint64_t>(value), mask);
  const std::uint64_t high = from_lane_xor(static_cast<std::uint64_t>(value >> 64), mask);
  return (static_cast<Uint128>(high) << 64) | low;
}

}  // namespace skyrank::kernels::cuda::topk
