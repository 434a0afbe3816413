#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/block_sort.cuh"
#include "kernels/cuda/device/kernel/quotient.cuh"
#include "kernels/cuda/device/kernel/scan.cuh"
#include "kernels/cuda/topk/block/element.cuh"

// The order of what a block has kept of a row, all of it within a bound: in bins of equal width from a knot to the
// bound, and some below the knot, each element is ranked among the few of its bin. The bins divide keys by their rows
// too, so that many rows of few keys are as even as others. A network sorts elements that are not spread evenly enough.
// An element's bin is found once, and only where it lies is moved: elements of 16 bytes in registers between
// two passes would leave too few of these for the rest of the kernel.
namespace skyrank::kernels::cuda::select {

/// Bins in the order of the elements.
template <class E>
class KnottedBins {
 public:
  using Key = typename E::Key;

  static constexpr unsigned kBins = 2048;
  static constexpr unsigned kLowBins = 128;  ///< bins below the knot

  /// knot <= greatest; most rows are less than `rows`.
  __device__ KnottedBins(Key knot, Key greatest, unsigned rows)
      : knot_(knot),
        scale_(quotient(static_cast<float>(kBins - kLowBins), static_cast<float>(greatest - knot) + 1)),
        of_row_(quotient(1, static_cast<float>(rows))) {}

  /// Does not fall where the element rises: the row adds at most one to the key, or nothing where that is rounded.
  __device__ unsigned of(typename E::Element element) const {
    const Key key = E::key(element);
    const float part = __saturatef(static_cast<float>(static_cast<unsigned>(element)) * of_row_);
    if (key < knot_) return kLowBins - 1 - min(steps_below(static_cast<float>(knot_ - key) - part), kLowBins - 1);
    const float distance = static_cast<float>(static_cast<Key>(key - knot_)) + part;
    return min(static_cast<unsigned>(distance * scale_), kBins - kLowBins - 1) + kLowBins;
  }

 private:
  static constexpr unsigned kLogOfDoubling = 3;  ///< logarithm of the number of bins in which the distance doubles
  static constexpr float kLowWidth = 8;  ///< width of the first bins below the knot, in widths of those above it

  /// Bins from the knot down to a distance below it. These rows are few, and no one knows how far down they go: close
  /// to the knot their bins have one width, the next ones get wider with the distance.
  __device__ unsigned steps_below(float distance) const {
    constexpr unsigned kFractionBits = 23;
    constexpr unsigned kOne = 0x3f800000;
    const float widths = distance * (scale_ * (1 / kLowWidth));
    return (__float_as_uint(widths + 1) - kOne) >> (kFractionBits - kLogOfDoubling);
  }

  Key knot_;
  float scale_;
  float of_row_;
};

/// The range of the elements.
template <class Key>
struct KeptRange {
  Key knot;            ///< at most `greatest`; few keys are less
  Key greatest;        ///< at least that of the elements
  unsigned rows;       ///< more than any row id,
  unsigned tied_rows;  ///< and than most of those with the key `greatest`
};

/// Orders up to kThreads * kItems elements.
template <class E, unsigned kThreads, unsigned kItems>
class OrderOfKept {
 public:
  using Element = typename E::Element;
  using Key = typename E::Key;
  using Bins = KnottedBins<E>;

  static constexpr unsigned kBins = Bins::kBins;
  static constexpr unsigned kCapacity = kThreads * kItems;
  /// The network sorts all elements if a bin has more than this.
  static constexpr unsigned kMaxInBin = 256;

  /// Shared memory, besides that for the elements.
  struct Shared {
    /// Counts of the bins, then their starts. Behind them is the count of all.
    alignas(16) unsigned begins[kBins + 1];
    unsigned slots[kCapacity];         ///< bin of each element, and above that its place in the bin
    std::uint16_t in_bins[kCapacity];  ///< the elements' places, bin after bin
  };

  /// Calls put(rank, element) for each of `count` elements of `kept`, in shared memory, but may leave out those of rank
  /// `wanted` and more. May move the elements. All threads of the block call it.
  template <class Put>
  __device__ static void order(Element* kept, unsigned count, unsigned wanted, const KeptRange<Key>& known,
                               Shared& shared, Put put) {
    clear(shared, count);
    // Else most have one key.
    const bool divided_by_keys = known.knot < known.greatest;
    const Bins bins(known.knot, known.greatest, divided_by_keys ? known.rows : known.tied_rows);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < count; i += kThreads) {
      const unsigned bin = bins.of(kept[i]);
      shared.slots[i] = atomicAdd(&shared.begins[bin], 1u) << kBinBits | bin;
    }
    if (find_begins(shared)) {
      sort_in_block<kThreads>(kept, count);
      for (unsigned i = threadIdx.x; i < min(count, wanted); i += kThreads) put(i, kept[i]);
      return;
    }
    for (unsigned i = threadIdx.x; i < count; i += kThreads) {
      const unsigned slot = shared.slots[i];
      shared.in_bins[shared.begins[slot % kBins] + (slot >> kBinBits)] = static_cast<std::uint16_t>(i);
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < count; i += kThreads) {
      const unsigned place = shared.in_bins[i];
      const unsigned bin = shared.slots[place] % kBins;
      unsigned rank = shared.begins[bin];
      if (rank >= wanted) return;  // and so are all that follow
      const unsigned end = shared.begins[bin + 1];
      const Element mine = kept[place];
      for (unsigned other = rank; other < end; ++other) rank += kept[shared.in_bins[other]] < mine ? 1 : 0;
      if (rank < wanted) put(rank, mine);
    }
  }

 private:
  static constexpr unsigned kBinBits = 11;
  static_assert(kBins == 1u << kBinBits && kCapacity <= 1u << 16);

  __device__ static void clear(Shared& shared, unsigned count) {
    auto* const quads = reinterpret_cast<uint4*>(shared.begins);
    for (unsigned i = threadIdx.x; i < kBins / 4; i += kThreads) quads[i] = make_uint4(0, 0, 0, 0);
    if (threadIdx.x == 0) shared.begins[kBins] = count;
  }

  /// Turns the bins' counts into where they begin. Whether any bin has too many elements.
  __device__ static bool find_begins(Shared& shared) {
    constexpr unsigned kQuads = kBins / 4 / kThreads;
    __syncthreads();
    auto* const own = reinterpret_cast<uint4*>(shared.begins) + threadIdx.x * kQuads;
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
    unsigned begin = sum_before<kThreads>(sum, all);
#pragma unroll
    for (unsigned i = 0; i < kQuads; ++i) {
      const unsigned second = begin + counts[i].x;
      const unsigned third = second + counts[i].y;
      const unsigned fourth = third + counts[i].z;
      own[i] = make_uint4(begin, second, third, fourth);
      begin = fourth + counts[i].w;
    }
    return __syncthreads_or(most > kMaxInBin ? 1 : 0) != 0;
  }
};

}  // namespace skyrank::kernels::cuda::select
