#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/kernel/block_sort.cuh"
#include "kernels/cuda/device/kernel/scan.cuh"
#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/block/block_spread_sort.cuh"
#include "kernels/cuda/topk/block/guess.cuh"
#include "kernels/cuda/topk/in_order/list_part.cuh"
#include "kernels/cuda/topk/sampled_threshold/bins.cuh"
#include "kernels/cuda/topk/sampled_threshold/policy.hpp"

// The least of what bins hold, in order.
namespace skyrank::kernels::cuda::topk {

inline constexpr unsigned kRankThreads = AnyRankPolicy::kThreads;

/// The part of the answer that one block has: all bins that begin in its part of the ranks. In bins of up to
/// Policy::kMaxCounted elements each is compared with all others of its bin; larger ones are divided again, each among
/// bins of its own.
template <class Element, bool kLittle = false>
class BinShare {
 public:
  using Policy = RankPolicy<sizeof(Element), kLittle>;
  /// Elements that it has room for.
  static constexpr unsigned kRoom = kRankThreads * Policy::kItems;
  static constexpr unsigned kMaxDivided = Policy::kDividedItems * kRankThreads;

  static constexpr std::size_t shared_bytes() { return kRoom * sizeof(Element) + kBins * sizeof(unsigned); }

  struct Range {
    unsigned first;    ///< bin,
    unsigned end;      ///< and the one after the last
    unsigned largest;  ///< size of any of them
    unsigned past;     ///< rank after those of the last one
  };
  struct Shared : Range {
    unsigned large_count;
    unsigned large[Policy::kMaxLarge];
  };

  __device__ BinShare(const Bins<Element>& bins, Shared& shared)
      : bins_(bins),
        shared_(shared),
        elements_(dynamic_shared<Element>()),
        begins_(reinterpret_cast<unsigned*>(elements_ + kRoom)) {}

  /// Finds the bins that begin at ranks of this block, of k. Whether there are k elements, and room for this share.
  __device__ bool find(std::size_t k) {
    return bins_.count == kBins ? find_of<kBins / kRankThreads>(k) : find_of<kFewBins / kRankThreads>(k);
  }

  __device__ bool empty() const { return size_ == 0; }

  __device__ void load() const {
    for (unsigned i = threadIdx.x; i < size_; i += kRankThreads) {
      const unsigned bin = bin_at(before_ + i);
      const unsigned place = before_ + i - begins_[bin];
      if (place < bins_.room) elements_[i] = bins_.elements[bin * bins_.room + place];
    }
    if (shared_.largest > bins_.room) load_beyond();
    __syncthreads();
  }

  __device__ void rank(const Ranked<Element>& ranked) const {
    if (shared_.largest > Policy::kMaxCounted) return rank_with_large(ranked);
    count(ranked, ~0u);
  }

 private:
  using Divided = BlockSpreadSort<Element, kRankThreads>;

  /// find(), where a thread has so many bins.
  template <unsigned kOfThread>
  __device__ bool find_of(std::size_t k) {
    static_assert(kOfThread == 8 || kOfThread == 2);
    if (threadIdx.x == 0) static_cast<Range&>(shared_) = {.first = kBins, .end = 0, .largest = 0, .past = 0};
    unsigned sizes[kOfThread];
    if constexpr (kOfThread == 8) {
      const uint4 low = *reinterpret_cast<const uint4*>(&bins_.size(threadIdx.x * kOfThread));
      const uint4 high = *reinterpret_cast<const uint4*>(&bins_.size(threadIdx.x * kOfThread + 4));
      __builtin_memcpy(sizes, &low, sizeof(low));
      __builtin_memcpy(sizes + 4, &high, sizeof(high));
    } else {
      const uint2 own = *reinterpret_cast<const uint2*>(&bins_.size(threadIdx.x * kOfThread));
      __builtin_memcpy(sizes, &own, sizeof(own));
    }
    const bool lost = bins_.size(kBins) > bins_.beyond_room;
    unsigned sum = 0;
#pragma unroll
    for (unsigned i = 0; i < kOfThread; ++i) sum += sizes[i];
    unsigned all = 0;
    unsigned begin = sum_before<kRankThreads>(sum, all);
    if (lost || all < k) return false;
    const auto share = static_cast<unsigned>((k + gridDim.x - 1) / gridDim.x);
    const unsigned least = blockIdx.x * share;
    const unsigned most = min(least + share, static_cast<unsigned>(k));
    // No thread asks where other blocks' bins begin: all of them would take as many bank conflicts as bins.
    Range own_bins{.first = kBins, .end = 0, .largest = 0, .past = 0};
#pragma unroll
    for (unsigned i = 0; i < kOfThread; ++i) {
      const unsigned bin = threadIdx.x * kOfThread + i;
      const unsigned end = begin + sizes[i];
      if (least <= begin && begin < most) {
        begins_[bin] = begin;
        if (sizes[i] > 0) {
          own_bins = {.first = min(own_bins.first, bin),
                      .end = bin + 1,
                      .largest = max(own_bins.largest, sizes[i]),
                      .past = end};
        }
      }
      begin = end;
    }
    if (own_bins.end > 0) {
      atomicMin(&shared_.first, own_bins.first);
      atomicMax(&shared_.end, own_bins.end);
      atomicMax(&shared_.largest, own_bins.largest);
      atomicMax(&shared_.past, own_bins.past);
    }
    __syncthreads();
    if (shared_.first >= shared_.end) return true;
    before_ = begins_[shared_.first];
    size_ = shared_.past - before_;
    return size_ <= kRoom;
  }

  /// Ranks the elements of bins of at most `most` elements.
  __device__ void count(const Ranked<Element>& ranked, unsigned most) const {
    for (unsigned i = threadIdx.x; i < size_; i += kRankThreads) {
      const unsigned bin = bin_at(before_ + i);
      const unsigned begin = begins_[bin] - before_;
      const unsigned end = end_of(bin) - before_;
      if (end - begin > most) continue;
      const Element mine = elements_[i];
      ranked.put(before_ + begin + count_below(mine, begin, end), mine);
    }
  }

  /// How many elements from `begin` to `end`, those of a bin, are below one of them.
  __device__ unsigned count_below(Element mine, unsigned begin, unsigned end) const {
    unsigned below = 0;
#pragma unroll 4
    for (unsigned i = begin; i < end; ++i) below += elements_[i] < mine ? 1 : 0;
    return below;
  }

  /// The rank after a bin's.
  __device__ unsigned end_of(unsigned bin) const { return bin + 1 < shared_.end ? begins_[bin + 1] : shared_.past; }

  /// Mostly there are one or two large ones, of the rows of one key or of a few that lie close together.
  __device__ void rank_with_large(const Ranked<Element>& ranked) const {
    constexpr unsigned kRoomToDivide = sizeof(typename Divided::Shared) / sizeof(Element) + 1;
    find_large();
    const unsigned large = shared_.large_count;
    if (large > Policy::kMaxLarge || shared_.largest > kMaxDivided || size_ + kRoomToDivide > kRoom)
      return sort(ranked);
    count(ranked, Policy::kMaxCounted);
    for (unsigned i = 0; i < large; ++i) {
      __syncthreads();
      divide(shared_.large[i], ranked);
    }
  }

  __device__ void find_large() const {
    if (threadIdx.x == 0) shared_.large_count = 0;
    __syncthreads();
    for (unsigned bin = shared_.first + threadIdx.x; bin < shared_.end; bin += kRankThreads) {
      if (end_of(bin) - begins_[bin] <= Policy::kMaxCounted) continue;
      const unsigned which = atomicAdd(&shared_.large_count, 1u);
      if (which < Policy::kMaxLarge) shared_.large[which] = bin;
    }
    __syncthreads();
  }

  /// The room that this share has left is for the bins.
  __device__ void divide(unsigned bin, const Ranked<Element>& ranked) const {
    auto& shared = *reinterpret_cast<typename Divided::Shared*>(elements_ + (size_ + 1) / 2 * 2);
    const unsigned begin = begins_[bin];
    const unsigned size = end_of(bin) - begin;
    Element* const elements = elements_ + (begin - before_);
    const auto put = [&](unsigned rank, Element element) { ranked.put(begin + rank, element); };
    Divided::template sort<Policy::kDividedItems>(elements, size, elements, shared, put);
  }

  /// Takes this share's of those that bins have no room for. Every block looks at all of these, several at a time: each
  /// look takes a way to the L2 cache and back, and so does each element that it takes.
  __device__ void load_beyond() const {
    constexpr unsigned kAtATime = 64 / sizeof(Element);
    const unsigned beyond = bins_.size(kBins);
    for (unsigned first = threadIdx.x; first < beyond; first += kAtATime * kRankThreads) {
      uint2 places[kAtATime];
      Element taken[kAtATime];
#pragma unroll
      for (unsigned i = 0; i < kAtATime; ++i) {
        const unsigned at = first + i * kRankThreads;
        places[i] = at < beyond ? bins_.places[at] : make_uint2(kBins, 0);
      }
#pragma unroll
      for (unsigned i = 0; i < kAtATime; ++i)
        taken[i] = is_own(places[i].x) ? bins_.beyond[first + i * kRankThreads] : 0;
#pragma unroll
      for (unsigned i = 0; i < kAtATime; ++i) {
        if (is_own(places[i].x)) elements_[begins_[places[i].x] - before_ + places[i].y] = taken[i];
      }
    }
  }

  __device__ bool is_own(unsigned bin) const { return shared_.first <= bin && bin < shared_.end; }

  __device__ void sort(const Ranked<Element>& ranked) const {
    sort_in_block<kRankThreads>(elements_, size_);
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
  unsigned* begins_;  ///< starts of this share's bins, as ranks
  unsigned before_ = 0;
  unsigned size_ = 0;
};

/// The k least of what bins hold, in order. `failed` is set where they hold fewer, or too many in one place.
template <class Element, bool kLittle = false>
__global__ void __launch_bounds__(kRankThreads)
    rank_bins(Bins<Element> bins, Guess<Element>* guess, Ranked<Element> ranked) {
  using Share = BinShare<Element, kLittle>;
  __shared__ typename Share::Shared shared;
  wait_for_previous();
  let_next_start();
  Share share(bins, shared);
  if (!share.find(ranked.answer.k)) {
    if (threadIdx.x == 0) guess->failed = 1;
    return;
  }
  if (share.empty()) return;
  share.load();
  share.rank(ranked);
}

}  // namespace skyrank::kernels::cuda::topk
