#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/device/kernel/block_sort.cuh"
#include "kernels/cuda/device/kernel/scan.cuh"
#include "kernels/cuda/topk/block/element.cuh"
#include "kernels/cuda/topk/block/even_bins.cuh"

// A sort by one block of elements that lie close together, as those of a bucket do: their range is divided into bins of
// equal width, about as many as there are elements, and each is ranked among the few of its bin. A network sorts
// elements that are not spread evenly enough for that. They are different from one another.
namespace skyrank::kernels::cuda::topk {

template <class Element, unsigned kThreads>
class BlockSpreadSort {
 public:
  static constexpr unsigned kBinsOfThread = 4;
  static constexpr unsigned kBins = kBinsOfThread * kThreads;
  /// The network sorts all elements if a bin has more than this.
  static constexpr unsigned kMaxInBin = 128;

  /// Shared memory, besides that for the elements.
  struct Shared {
    alignas(16) unsigned begins[kBins + 4];  ///< starts of the bins, and the end of the last
    BlockRange<Element, kThreads> range;
  };

  /// Calls put(rank, element) for each of `count` <= kThreads * kItems elements of global memory. `place` is shared
  /// memory for them. All threads of the block call it.
  template <unsigned kItems, class Put>
  __device__ static void sort(const Element* elements, unsigned count, Element* place, Shared& shared, Put put) {
    Element items[kItems];
    Element least = kNoElement<Element>;
    Element greatest = 0;
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      const unsigned own = i * kThreads + threadIdx.x;
      items[i] = own < count ? elements[own] : kNoElement<Element>;
      if (own >= count) continue;
      least = items[i] < least ? items[i] : least;
      greatest = items[i] > greatest ? items[i] : greatest;
    }
    auto* const own_bins = reinterpret_cast<uint4*>(shared.begins) + threadIdx.x;
    *own_bins = make_uint4(0, 0, 0, 0);
    shared.range.find(least, greatest);
    const EvenBins<Element, kBins> bins(least, greatest);
    unsigned places_in_bin[kItems];  // in the bin
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      const bool there = i * kThreads + threadIdx.x < count;
      places_in_bin[i] = there ? atomicAdd(&shared.begins[bins.of(items[i])], 1u) : 0;
    }
    const bool even = !find_begins(shared, count);
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      if (i * kThreads + threadIdx.x < count) place[shared.begins[bins.of(items[i])] + places_in_bin[i]] = items[i];
    }
    __syncthreads();
    if (!even) sort_in_block<kThreads>(place, count);
    for (unsigned i = threadIdx.x; i < count; i += kThreads) {
      const Element mine = place[i];
      put(even ? rank(mine, bins.of(mine), place, shared) : i, mine);
    }
  }

 private:
  /// Turns the bins' counts into where they begin. Whether any bin has too many elements.
  __device__ static bool find_begins(Shared& shared, unsigned count) {
    __syncthreads();
    auto* const own_bins = reinterpret_cast<uint4*>(shared.begins) + threadIdx.x;
    const uint4 counts = *own_bins;
    unsigned all = 0;
    const unsigned begin = sum_before<kThreads>(counts.x + counts.y + counts.z + counts.w, all);
    const unsigned second = begin + counts.x;
    const unsigned third = second + counts.y;
    *own_bins = make_uint4(begin, second, third, third + counts.z);
    if (threadIdx.x == 0) shared.begins[kBins] = count;
    return __syncthreads_or(max(max(counts.x, counts.y), max(counts.z, counts.w)) > kMaxInBin) != 0;
  }

  __device__ static unsigned rank(Element mine, unsigned bin, const Element* place, const Shared& shared) {
    unsigned rank = shared.begins[bin];
    const unsigned end = shared.begins[bin + 1];
    for (unsigned i = shared.begins[bin]; i < end; ++i) rank += place[i] < mine ? 1 : 0;
    return rank;
  }
};

}  // namespace skyrank::kernels::cuda::topk
