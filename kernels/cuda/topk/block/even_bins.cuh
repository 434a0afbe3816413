#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/scan.cuh"
#include "kernels/cuda/topk/block/block_select.cuh"
#include "kernels/cuda/topk/block/element.cuh"

// One step of selection inside a block: the range of the elements is divided into bins of equal width, and a histogram
// tells in which bin the k-th element is.
namespace skyrank::kernels::cuda::topk {

/// The least and the greatest of a block's elements.
template <class Element, unsigned kThreads>
struct BlockRange {
  static constexpr unsigned kWarps = kThreads / kLanes;
  static_assert(kWarps <= kLanes && (kWarps & (kWarps - 1)) == 0);

  Element of_warps[2][kWarps];

  /// From those of each thread to those of all. All threads of the block call it, with another barrier between two
  /// calls.
  __device__ void find(Element& least, Element& greatest) {
    reduce(least, greatest, kLanes);
    if (threadIdx.x % kLanes == 0) {
      of_warps[0][threadIdx.x / kLanes] = least;
      of_warps[1][threadIdx.x / kLanes] = greatest;
    }
    __syncthreads();
    least = of_warps[0][threadIdx.x % kWarps];
    greatest = of_warps[1][threadIdx.x % kWarps];
    reduce(least, greatest, kWarps);
  }

 private:
  __device__ static void reduce(Element& least, Element& greatest, unsigned lanes) {
    if constexpr (sizeof(Element) == 4) {
      least = __reduce_min_sync(kAllLanes, least);
      greatest = ~__reduce_min_sync(kAllLanes, ~greatest);
      return;
    } else {
      for (unsigned step = 1; step < lanes; step *= 2) {
        const Element less = from_lane_xor(least, step);
        const Element more = from_lane_xor(greatest, step);
        least = less < least ? less : least;
        greatest = more > greatest ? more : greatest;
      }
    }
  }
};

/// The bin that has the element of a rank, in the shared memory of a block of kThreads.
template <unsigned kThreads>
struct RankedBin {
  unsigned bin;
  unsigned before;  ///< elements before it,
  unsigned inside;  ///< and in it

  /// Finds the bin of a rank, from 1 on; `counts` are those of the thread's four bins. All threads of the block call
  /// it.
  __device__ void find(uint4 counts, unsigned rank) {
    unsigned all = 0;
    unsigned sum = sum_before<kThreads>(counts.x + counts.y + counts.z + counts.w, all);
    const unsigned of_bins[] = {counts.x, counts.y, counts.z, counts.w};
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      if (sum < rank && rank <= sum + of_bins[i]) {
        bin = 4 * threadIdx.x + i;
        before = sum;
        inside = of_bins[i];
      }
      sum += of_bins[i];
    }
    __syncthreads();
  }
};

/// Bins of equal width for the elements from one to another.
template <class Element, unsigned kBins>
class EvenBins {
 public:
  __device__ EvenBins(Element least, Element greatest) : least_(least) {
    const float range = distance(greatest);
    scale_ = range > 0 ? static_cast<float>(kBins) / range : 0;
  }

  /// Does not fall where the element rises.
  __device__ unsigned of(Element element) const {
    return min(static_cast<unsigned>(distance(element) * scale_), kBins - 1);
  }

 private:
  /// From the least element. Does not fall where the element rises: of 128 bits only the high half counts, unless it is
  /// zero.
  __device__ float distance(Element element) const {
    const Element difference = element - least_;
    if constexpr (sizeof(Element) <= 8) {
      return static_cast<float>(difference);
    } else {
      constexpr float kBelowOne = 0x1p-64f;
      const auto high = static_cast<std::uint64_t>(difference >> 64);
      const auto low = static_cast<std::uint64_t>(difference);
      return high == 0 ? static_cast<float>(low) * kBelowOne : static_cast<float>(high);
    }
  }

  Element least_;
  float scale_;
};

}  // namespace skyrank::kernels::cuda::topk
