#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/block.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/shared.cuh"
#include "kernels/cuda/topk/block_merge_sort.cuh"
#include "kernels/cuda/topk/guess.cuh"
#include "kernels/cuda/topk/list_part.cuh"
#include "kernels/cuda/topk/threshold_plan.hpp"

// Candidates that a scan puts where they will be ordered, so that one launch after it is enough. The sample that gave
// the threshold tells where between zero and the threshold the candidates lie: its elements below the threshold, the
// knots, bound intervals with about as many candidates each. An interval is divided into bins of equal width, as finely
// as if the keys were spread evenly within it, which makes most bins so small that each of their elements is ranked by
// counting those below it. Where keys are not spread so, bins are larger, and a block sorts them; the answer is the
// same.
namespace skyrank::kernels::cuda {

/// Divides elements up to a threshold into bins, in ascending order.
template <class Element>
struct BinRule {
  static constexpr int kRowBits = sizeof(Element) == 8 ? 32 : 64;

  Element* knots = nullptr;  ///< in device memory: ascending, the last one is the threshold
  unsigned count = 0;        ///< of knots, at most kMostKnots
  unsigned width = 0;        ///< bins of the interval that ends at a knot
  std::uint64_t first = 0;   ///< the least bits of a row id in an element,
  std::uint64_t rows = 0;    ///< and how many different ones there are

  __device__ static std::uint64_t key(Element element) { return static_cast<std::uint64_t>(element >> kRowBits); }
  __device__ std::uint64_t row(Element element) const {
    constexpr std::uint64_t kMask = ~std::uint64_t{0} >> (64 - kRowBits);
    return (static_cast<std::uint64_t>(element) & kMask) - first;
  }

  /// The bin of an element not above the threshold. `sorted` are the knots.
  __device__ unsigned bin_of(Element element, const Element* sorted) const {
    unsigned interval = 0;  // how many knots are below the element
    for (unsigned step = kMostKnots / 2; step > 0; step /= 2) {
      if (interval + step < count && sorted[interval + step - 1] < element) interval += step;
    }
    const float place =
        interval == 0 ? below_all(element, sorted[0]) : between(element, sorted[interval - 1], sorted[interval]);
    if (place < 0) return kLowBins - static_cast<unsigned>(-place);
    const auto bin = static_cast<unsigned>(place * static_cast<float>(width));
    return kLowBins + interval * width + min(bin, width - 1);
  }

 private:
  /// The part of a stretch from `low` to `high` that lies before x. Does not fall where x rises, whatever is rounded.
  __device__ static float part(std::uint64_t x, std::uint64_t low, std::uint64_t high) {
    return static_cast<float>(x - low) / (static_cast<float>(high - low) + 1);
  }

  /// Where between two knots, from 0 to 1: an eighth for the lower one's key, another for the upper one's, so that of
  /// few different keys each is divided by its rows.
  __device__ float between(Element element, Element low, Element high) const {
    constexpr float kOfKey = 0.125f;
    const std::uint64_t low_key = key(low);
    const std::uint64_t own = key(element);
    const std::uint64_t high_key = key(high);
    if (low_key == high_key) return part(row(element), row(low), row(high));
    if (own == low_key) return kOfKey * part(row(element), row(low), rows - 1);
    if (own == high_key) return 1 - kOfKey + kOfKey * part(row(element), 0, row(high));
    return kOfKey + (1 - 2 * kOfKey) * part(own, low_key, high_key);
  }

  /// Where up to the least knot: from 0 to 1 if the keys are the same, else minus the count of a low bin from the last.
  __device__ float below_all(Element element, Element knot) const {
    if (key(element) == key(knot)) return part(row(element), 0, row(knot));
    const auto distance = static_cast<float>(key(knot) - key(element));
    constexpr int kMantissa = 23 - 3;  // the bits that do not count
    const unsigned steps = (__float_as_uint(distance) - __float_as_uint(1.0f)) >> kMantissa;
    return -static_cast<float>(min(steps, kLowBins - 1) + 1);
  }
};

/// Room for elements by bins.
template <class Element>
struct Bins {
  BinRule<Element> rule;
  unsigned* sizes = nullptr;  ///< kBins, then `beyond`'s; zeros at first
  Element* elements = nullptr;
  unsigned room = 0;  ///< for elements in each bin
  /// Those that their bin has no room for, as they come.
  Element* beyond = nullptr;
  uint2* places = nullptr;  ///< their bins, and their places there
  unsigned beyond_room = 0;

  __device__ void put(Element element, unsigned bin, unsigned place) const {
    if (place < room) {
      elements[bin * room + place] = element;
      return;
    }
    const unsigned i = atomicAdd(&sizes[kBins], 1u);
    if (i >= beyond_room) return;
    beyond[i] = element;
    places[i] = make_uint2(bin, place);
  }
};

/// A warp's way to bins, as ListSink is one to a list. Several elements are on their way at a time: each asks for its
/// place in the L2 cache.
template <class Element>
struct BinSink {
  const Bins<Element>& bins;
  const Element* knots;  ///< in shared memory

  __device__ void put(const Element* held, unsigned size) const {
    constexpr unsigned kAtATime = 4;
    for (unsigned first = threadIdx.x % kLanes; first < size; first += kAtATime * kLanes) {
      unsigned here = 0;
#pragma unroll
      for (unsigned i = 0; i < kAtATime; ++i) here |= unsigned{first + i * kLanes < size} << i;
      put_chosen<kAtATime>(here, [&](unsigned i) { return held[min(first + i * kLanes, size - 1)]; });
    }
  }

  template <unsigned kItems, class Make>
  __device__ void put_some(unsigned taken, unsigned /*all*/, Make element) const {
    constexpr unsigned kAtATime = kItems < 4 ? kItems : 4;
#pragma unroll
    for (unsigned first = 0; first < kItems; first += kAtATime) {
      put_chosen<kAtATime>(taken >> first, [&](unsigned i) { return element(first + i); });
    }
  }

 private:
  template <unsigned kItems, class Make>
  __device__ void put_chosen(unsigned chosen, Make element) const {
    unsigned bin[kItems];
    unsigned place[kItems];
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      bin[i] = (chosen >> i & 1) != 0 ? bins.rule.bin_of(element(i), knots) : 0;
    }
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) place[i] = (chosen >> i & 1) != 0 ? atomicAdd(&bins.sizes[bin[i]], 1u) : 0;
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      if ((chosen >> i & 1) != 0) bins.put(element(i), bin[i], place[i]);
    }
  }
};

/// Picks the knots among the elements below the threshold of a block's `size`, `below` in all, evenly by their places,
/// since ascending rows have their minima in order. All threads of a block call it.
template <class Element>
__device__ void choose_knots(const Element* elements, unsigned size, Element threshold, unsigned below,
                             const BinRule<Element>& rule) {
  constexpr unsigned kOfKnot = 8;  // threads
  __shared__ Element chosen[kMostKnots];
  __shared__ unsigned found;
  const unsigned wanted = rule.count - 1;
  if (threadIdx.x == 0) {
    found = 0;
    rule.knots[wanted] = threshold;
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < size; i += blockDim.x) {
    const Element element = elements[i];
    if (element >= threshold) continue;
    const unsigned which = atomicAdd(&found, 1u);
    const unsigned place = which * wanted / below;
    if (which == 0 || place != (which - 1) * wanted / below) chosen[place] = element;
  }
  __syncthreads();
  for (unsigned first = 0; first < wanted; first += blockDim.x / kOfKnot) {
    const unsigned own = first + threadIdx.x / kOfKnot;
    const Element mine = own < wanted ? chosen[own] : kNoElement<Element>;
    unsigned rank = 0;
    for (unsigned i = threadIdx.x % kOfKnot; i < wanted; i += kOfKnot) rank += chosen[i] < mine ? 1 : 0;
    for (unsigned distance = 1; distance < kOfKnot; distance *= 2) rank += __shfl_xor_sync(kAllLanes, rank, distance);
    if (own < wanted && threadIdx.x % kOfKnot == 0) rule.knots[rank] = mine;
  }
}

inline constexpr unsigned kRankThreads = 1024;
/// Ranks that one block is to find at most.
inline constexpr std::size_t kMostOfShare = 2048;

/// What one block has of the answer: all bins that begin in its part of the ranks.
template <class Element>
class BinShare {
 public:
  static constexpr unsigned kFewItems = 7;
  static constexpr unsigned kManyItems = sizeof(Element) == 8 ? 15 : kFewItems;
  /// Elements that it has room for.
  static constexpr unsigned kRoom = kRankThreads * kManyItems;
  /// Bins of more elements are sorted.
  static constexpr unsigned kMostCounted = 384;

  static constexpr std::size_t shared_bytes() { return kRoom * sizeof(Element) + (kBins + 1) * sizeof(unsigned); }

  struct Shared {
    unsigned first;
    unsigned end;
    unsigned largest;
  };

  __device__ BinShare(const Bins<Element>& bins, Shared& shared)
      : bins_(bins),
        shared_(shared),
        elements_(dynamic_shared<Element>()),
        begins_(reinterpret_cast<unsigned*>(elements_ + kRoom)) {}

  /// Finds the bins that begin at ranks of this block, of k. Whether there are k elements, and room for this share.
  __device__ bool find(std::size_t k) {
    constexpr unsigned kOfThread = kBins / kRankThreads;
    static_assert(kOfThread == 8);
    if (threadIdx.x == 0) shared_ = {.first = kBins, .end = 0, .largest = 0};
    unsigned sizes[kOfThread];
    const auto* const own = reinterpret_cast<const uint4*>(bins_.sizes) + threadIdx.x * (kOfThread / 4);
    const uint4 low = own[0];
    const uint4 high = own[1];
    __builtin_memcpy(sizes, &low, sizeof(low));
    __builtin_memcpy(sizes + 4, &high, sizeof(high));
    const bool lost = bins_.sizes[kBins] > bins_.beyond_room;
    unsigned sum = 0;
#pragma unroll
    for (unsigned i = 0; i < kOfThread; ++i) sum += sizes[i];
    unsigned all = 0;
    unsigned begin = sum_before(sum, all);
    if (lost || all < k) return false;
    const auto share = static_cast<unsigned>((k + gridDim.x - 1) / gridDim.x);
    const unsigned least = blockIdx.x * share;
    const unsigned most = min(least + share, static_cast<unsigned>(k));
#pragma unroll
    for (unsigned i = 0; i < kOfThread; ++i) {
      const unsigned bin = threadIdx.x * kOfThread + i;
      begins_[bin] = begin;
      if (sizes[i] > 0 && least <= begin && begin < most) {
        atomicMin(&shared_.first, bin);
        atomicMax(&shared_.end, bin + 1);
        atomicMax(&shared_.largest, sizes[i]);
      }
      begin += sizes[i];
    }
    if (threadIdx.x == kRankThreads - 1) begins_[kBins] = all;
    __syncthreads();
    if (shared_.first >= shared_.end) return true;
    before_ = begins_[shared_.first];
    size_ = begins_[shared_.end] - before_;
    return size_ <= kRoom;
  }

  __device__ bool empty() const { return size_ == 0; }

  __device__ void load() const {
    for (unsigned i = threadIdx.x; i < size_; i += kRankThreads) {
      const unsigned bin = bin_at(before_ + i);
      const unsigned place = before_ + i - begins_[bin];
      if (place < bins_.room) elements_[i] = bins_.elements[bin * bins_.room + place];
    }
    if (shared_.largest > bins_.room) {
      const unsigned beyond = bins_.sizes[kBins];
      for (unsigned i = threadIdx.x; i < beyond; i += kRankThreads) {
        const uint2 place = bins_.places[i];
        if (place.x < shared_.first || place.x >= shared_.end) continue;
        elements_[begins_[place.x] - before_ + place.y] = bins_.beyond[i];
      }
    }
    __syncthreads();
  }

  __device__ void rank(const Ranked<Element>& ranked) const {
    if (shared_.largest > kMostCounted) return sort(ranked);
    for (unsigned i = threadIdx.x; i < size_; i += kRankThreads) {
      const unsigned bin = bin_at(before_ + i);
      const unsigned begin = begins_[bin] - before_;
      const unsigned end = begins_[bin + 1] - before_;
      const Element mine = elements_[i];
      unsigned below = 0;
#pragma unroll 4
      for (unsigned j = begin; j < end; ++j) below += elements_[j] < mine ? 1 : 0;
      ranked.put(before_ + begin + below, mine);
    }
  }

 private:
  __device__ void sort(const Ranked<Element>& ranked) const {
    if (size_ <= kFewItems * kRankThreads)
      BlockMergeSort<Element, kRankThreads, kFewItems>::sort(elements_, size_);
    else
      BlockMergeSort<Element, kRankThreads, kManyItems>::sort(elements_, size_);
    for (unsigned i = threadIdx.x; i < size_; i += kRankThreads) ranked.put(before_ + i, elements_[i]);
  }

  /// The bin of this share that has the element of a rank: the last that begins at or before it.
  __device__ unsigned bin_at(unsigned rank) const {
    unsigned bin = shared_.first;
    const unsigned count = shared_.end - shared_.first;
    for (unsigned step = 1u << (31 - __clz(static_cast<int>(count))); step > 0; step /= 2) {
      if (bin + step < shared_.end && begins_[bin + step] <= rank) bin += step;
    }
    return bin;
  }

  const Bins<Element>& bins_;
  Shared& shared_;
  Element* elements_;
  unsigned* begins_;  ///< of all bins, as ranks
  unsigned before_ = 0;
  unsigned size_ = 0;
};

/// The k least of what bins hold, in order. `failed` is set where they hold fewer, or too many in one place.
template <class Element>
__global__ void __launch_bounds__(kRankThreads)
    rank_bins(Bins<Element> bins, Guess<Element>* guess, Ranked<Element> ranked) {
  __shared__ typename BinShare<Element>::Shared shared;
  wait_for_previous();
  let_next_start();
  BinShare<Element> share(bins, shared);
  if (!share.find(ranked.answer.k)) {
    if (threadIdx.x == 0) guess->failed = 1;
    return;
  }
  if (share.empty()) return;
  share.load();
  share.rank(ranked);
}

}  // namespace skyrank::kernels::cuda
