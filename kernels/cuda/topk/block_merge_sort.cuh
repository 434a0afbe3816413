#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/topk/element.cuh"

// A merge sort by one block in shared memory: threads sort their own few elements, then merge runs, each thread its own
// stretch of the result, which it finds by a binary search along a diagonal (Green, McColl, Bader: GPU Merge Path,
// ICS 2012). Elements are different from one another.
namespace skyrank::kernels::cuda::topk {

template <class Element, unsigned kThreads, unsigned kItems>
class BlockMergeSort {
 public:
  static constexpr unsigned kCapacity = kThreads * kItems;
  static_assert(kItems % 2 == 1, "so that lanes that read their own items meet different banks of shared memory");

  /// Sorts `count` <= kCapacity elements of shared memory. All threads of the block call it, when the elements are
  /// there, and find them in order.
  __device__ static void sort(Element* shared, unsigned count) {
    const unsigned own = threadIdx.x * kItems;
    Element items[kItems];
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) items[i] = own + i < count ? shared[own + i] : kNoElement<Element>;
    sort_own(items);
    __syncthreads();
    write(items, shared, count);
    __syncthreads();
    for (unsigned run = kItems; run < count; run *= 2) {
      if (own < count) merge(shared, count, run, items);
      __syncthreads();
      write(items, shared, count);
      __syncthreads();
    }
  }

 private:
  __device__ static void write(const Element (&items)[kItems], Element* shared, unsigned count) {
    const unsigned own = threadIdx.x * kItems;
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      if (own + i < count) shared[own + i] = items[i];
    }
  }

  /// Odd-even transposition.
  __device__ static void sort_own(Element (&items)[kItems]) {
#pragma unroll
    for (unsigned round = 0; round < kItems; ++round) {
#pragma unroll
      for (unsigned i = round % 2; i + 1 < kItems; i += 2) {
        const Element a = items[i];
        const Element b = items[i + 1];
        items[i] = b < a ? b : a;
        items[i + 1] = b < a ? a : b;
      }
    }
  }

  /// This thread's part of the two sorted runs that it is in.
  __device__ static void merge(const Element* shared, unsigned count, unsigned run, Element (&items)[kItems]) {
    const unsigned own = threadIdx.x * kItems;
    const unsigned first = own / (2 * run) * (2 * run);
    const unsigned left_size = min(run, count - first);
    const unsigned right_size = min(run, count - first - left_size);
    const Element* const left = shared + first;
    const Element* const right = left + left_size;
    const unsigned diagonal = own - first;
    unsigned low = diagonal > right_size ? diagonal - right_size : 0;
    unsigned high = min(diagonal, left_size);
    while (low < high) {
      const unsigned middle = (low + high) / 2;
      if (left[middle] < right[diagonal - 1 - middle])
        low = middle + 1;
      else
        high = middle;
    }
    unsigned i = low;
    unsigned j = diagonal - low;
    Element a = i < left_size ? left[i] : kNoElement<Element>;
    Element b = j < right_size ? right[j] : kNoElement<Element>;
#pragma unroll
    for (unsigned item = 0; item < kItems; ++item) {
      const bool from_left = a < b;
      items[item] = from_left ? a : b;
      if (from_left) {
        ++i;
        a = i < left_size ? left[i] : kNoElement<Element>;
      } else {
        ++j;
        b = j < right_size ? right[j] : kNoElement<Element>;
      }
    }
  }
};

}  // namespace skyrank::kernels::cuda::topk
