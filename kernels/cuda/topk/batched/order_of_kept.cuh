#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/device/block.cuh"
#include "kernels/cuda/topk/block_merge_sort.cuh"
#include "kernels/cuda/topk/element.cuh"
#include "kernels/cuda/topk/even_bins.cuh"

// The order of what a block has kept of a segment, all of it within a bound: in bins of equal width from a knot to the
// bound, and some from the least to the knot, each element is ranked among the few of its bin. The bins divide keys by
// their rows too, so that many rows of few keys are as even as others. Elements that are not spread evenly enough are
// merged instead.
namespace skyrank::kernels::cuda {

/// Bins in the order of the elements.
template <class E>
class KnottedBins {
 public:
  using Key = typename E::Key;

  static constexpr unsigned kBins = 2048;
  static constexpr unsigned kLowBins = 128;  ///< of them below the knot

  /// least <= knot <= greatest; rows are less than `rows`.
  __device__ KnottedBins(Key least, Key knot, Key greatest, unsigned rows)
      : least_(least),
        knot_(knot),
        low_scale_(static_cast<float>(kLowBins) / (static_cast<float>(knot - least) + 1)),
        scale_(static_cast<float>(kBins - kLowBins) / (static_cast<float>(greatest - knot) + 1)),
        of_row_(1 / static_cast<float>(rows)) {}

  /// Does not fall where the element rises: the row adds less than one to the key, or nothing where that is rounded.
  __device__ unsigned of(typename E::Element element) const {
    const Key key = E::key(element);
    const float part = static_cast<float>(static_cast<unsigned>(element)) * of_row_;
    const bool low = key < knot_;
    const float distance = static_cast<float>(static_cast<Key>(key - (low ? least_ : knot_))) + part;
    const auto bin = static_cast<unsigned>(distance * (low ? low_scale_ : scale_));
    return low ? min(bin, kLowBins - 1) : min(bin, kBins - kLowBins - 1) + kLowBins;
  }

 private:
  Key least_;
  Key knot_;
  float low_scale_;
  float scale_;
  float of_row_;
};

/// What is known of the elements.
template <class Key>
struct KeptRange {
  Key knot;            ///< at most `greatest`, around the least of some sampled keys
  Key greatest;        ///< at least that of the elements
  unsigned rows;       ///< more than any row id,
  unsigned tied_rows;  ///< and than most of those with the key `greatest`
};

/// Of up to kThreads * kItems elements. `kItems` as for BlockMergeSort.
template <class E, unsigned kThreads, unsigned kItems>
class OrderOfKept {
 public:
  using Element = typename E::Element;
  using Key = typename E::Key;
  using Bins = KnottedBins<E>;

  static constexpr unsigned kBins = Bins::kBins;
  static constexpr unsigned kBefore = 4;  ///< places, so that bins lie at a multiple of 16 bytes
  /// Where a bin has more elements, all are merged.
  static constexpr unsigned kMostInBin = 128;

  /// Shared memory, besides that for the elements.
  struct Shared {
    /// Of bins, from kBefore on: their counts, then where they begin, then where they end. In front of them is a 0.
    alignas(16) unsigned ends[kBefore + kBins];
    BlockRange<Key, kThreads> range;
  };

  /// Calls put(rank, element) for each of `count` elements of `kept`, in shared memory, but may leave out those of rank
  /// `wanted` and more. Moves the elements. All threads of the block call it.
  template <class Put>
  __device__ static void order(Element* kept, unsigned count, unsigned wanted, const KeptRange<Key>& known,
                               Shared& shared, Put put) {
    Element items[kItems];
    Key least = known.greatest;
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      if (i * kThreads >= count) break;
      const unsigned own = i * kThreads + threadIdx.x;
      items[i] = own < count ? kept[own] : kNoElement<Element>;
      least = E::key(items[i]) < least ? E::key(items[i]) : least;
    }
    clear(shared);
    Key unused = known.greatest;
    shared.range.find(least, unused);
    const bool tied = least == known.greatest;
    const Bins bins(least, known.knot < least ? least : known.knot, known.greatest,
                    tied ? known.tied_rows : known.rows);
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      if (i * kThreads >= count) break;
      if (i * kThreads + threadIdx.x < count) atomicAdd(&shared.ends[kBefore + bins.of(items[i])], 1u);
    }
    const bool even = !find_begins(shared);
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      if (i * kThreads >= count) break;
      if (i * kThreads + threadIdx.x < count) kept[atomicAdd(&shared.ends[kBefore + bins.of(items[i])], 1u)] = items[i];
    }
    __syncthreads();
    if (!even) BlockMergeSort<Element, kThreads, kItems>::sort(kept, count);
    for (unsigned i = threadIdx.x; i < count; i += kThreads) {
      const Element mine = kept[i];
      unsigned rank = i;
      if (even) {
        const unsigned bin = kBefore + bins.of(mine);
        const unsigned begin = shared.ends[bin - 1];
        const unsigned end = shared.ends[bin];
        rank = begin;
        if (rank >= wanted) return;  // and so are all that follow
        for (unsigned other = begin; other < end; ++other) rank += kept[other] < mine ? 1 : 0;
      }
      if (rank < wanted) put(rank, mine);
    }
  }

 private:
  __device__ static void clear(Shared& shared) {
    auto* const quads = reinterpret_cast<uint4*>(shared.ends + kBefore);
    for (unsigned i = threadIdx.x; i < kBins / 4; i += kThreads) quads[i] = make_uint4(0, 0, 0, 0);
    if (threadIdx.x == 0) shared.ends[kBefore - 1] = 0;
  }

  /// Turns the bins' counts, in place of their ends, into where they begin. Whether any bin has too many elements.
  __device__ static bool find_begins(Shared& shared) {
    constexpr unsigned kQuads = kBins / 4 / kThreads;
    __syncthreads();
    auto* const own = reinterpret_cast<uint4*>(shared.ends + kBefore) + threadIdx.x * kQuads;
    uint4 counts[kQuads];
    unsigned sum = 0;
    unsigned most = 0;
#pragma unroll
    for (unsigned i = 0; i < kQuads; ++i) {
      counts[i] = own[i];
      sum += counts[i].x + counts[i].y + counts[i].z + counts[i].w;
      most = max(most, max(max(counts[i].x, counts[i].y), max(counts[i].z, counts[i].w)));
    }
    unsigned all = 0;
    unsigned begin = sum_before(sum, all);
#pragma unroll
    for (unsigned i = 0; i < kQuads; ++i) {
      const unsigned second = begin + counts[i].x;
      const unsigned third = second + counts[i].y;
      const unsigned fourth = third + counts[i].z;
      own[i] = make_uint4(begin, second, third, fourth);
      begin = fourth + counts[i].w;
    }
    return __syncthreads_or(most > kMostInBin ? 1 : 0) != 0;
  }
};

}  // namespace skyrank::kernels::cuda
