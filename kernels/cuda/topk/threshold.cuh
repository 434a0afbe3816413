#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "kernels/cuda/device/block.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/bins.cuh"
#include "kernels/cuda/topk/block_select.cuh"
#include "kernels/cuda/topk/guess.cuh"
#include "kernels/cuda/topk/least_of_few.cuh"
#include "kernels/cuda/topk/look_ahead.cuh"
#include "kernels/cuda/topk/narrow_scan.cuh"
#include "kernels/cuda/topk/threshold_plan.hpp"
#include "kernels/cuda/topk/tiles.cuh"

// A threshold from a sample, and the elements at or below it. `Rows` says what the elements are: tiles of keys
// (tiles.cuh), or whatever else has the same members.
namespace skyrank::kernels::cuda {

inline constexpr unsigned kSampleThreads = 1024;
inline constexpr unsigned kScanThreads = 256;
/// Blocks of a scan that a multiprocessor holds. With four loads of 16 bytes a thread, 64 KiB are under way; with more
/// blocks there are too few registers for as many loads.
inline constexpr unsigned kScanBlocks = 4;

/// The least of each group of `size` / 2 neighbouring threads, a power of two. Thread i has that of group i in the end.
template <class Element>
__device__ Element least_of_groups(Element least, unsigned size) {
  constexpr unsigned kOfWarp = 2 * kLanes;
  __shared__ Element lanes_least[kSampleThreads];
  const auto reduce = [&](unsigned lanes) {
    for (unsigned distance = 1; distance < lanes; distance *= 2) {
      const Element other = from_lane_xor(least, distance);
      if (other < least) least = other;
    }
  };
  reduce(min(size, kOfWarp) / 2);
  lanes_least[threadIdx.x] = least;
  __syncthreads();
  if (size <= kOfWarp) return lanes_least[threadIdx.x * (size / 2) % kSampleThreads];
  if (threadIdx.x >= kLanes) return least;
  least = lanes_least[threadIdx.x * kLanes];
  const unsigned warps = size / kOfWarp;
  reduce(warps);
  __syncwarp();
  lanes_least[threadIdx.x] = least;
  __syncwarp();
  return lanes_least[threadIdx.x * warps % kLanes];
}

/// The threshold, and all that are below it as knots, of few minima. All lanes of one warp call. These may lie where
/// `few` does.
template <class Element>
__device__ void guess_of_few(const Element* minima, unsigned groups, unsigned rank, Guess<Element>* guess,
                             const BinRule<Element>& rule, LeastOfFew<Element>& few) {
  Element mine[LeastOfFew<Element>::kOfLane];
#pragma unroll
  for (unsigned i = 0; i < LeastOfFew<Element>::kOfLane; ++i) {
    const unsigned place = threadIdx.x + i * kLanes;
    mine[i] = place < groups ? minima[place] : kNoElement<Element>;
  }
  __syncwarp();
  few.find(mine, rank, [&](unsigned which, Element element) {
    if (rule.count > 0) rule.knots[which] = element;
    if (which == rank - 1) *guess = {.failed = 0, .candidates = 0, .threshold = element};
  });
}

/// The lesser of two of `count` sampled elements. `Rows` may have found these before.
template <class Rows>
__device__ typename Rows::Element least_sampled(const Rows& rows, const std::size_t (&which)[2], std::size_t count) {
  typename Rows::Element a;
  typename Rows::Element b;
  if constexpr (requires { rows.sampled(which[0]); }) {
    a = rows.sampled(which[0]);
    b = rows.sampled(which[1]);
  } else {
    const std::size_t places[] = {sampled_place(which[0], count, rows.size()),
                                  sampled_place(which[1], count, rows.size())};
    if constexpr (requires { rows.at_both(places, a, b); }) {
      rows.at_both(places, a, b);
    } else {
      a = rows.at(places[0]);
      b = rows.at(places[1]);
    }
  }
  return b < a ? b : a;
}

/// The threshold is the element of rank `rank` among the minima of groups of `size` sampled elements, a power of two
/// from 2 to `of_block`. Each block samples `of_block` rows, a power of two up to kMostOfBlock, and hands on its
/// minima; the last one to finish selects among all of them, and chooses the knots of a rule, if it has some.
/// `looks_ahead`: the scan's blocks may start when the random reads have been asked for, not only when they are done.
template <class Rows>
__device__ void guess_threshold(const Rows& rows, unsigned of_block, unsigned size, unsigned rank,
                                Guess<typename Rows::Element>* guess, typename Rows::Element* minima, unsigned* arrived,
                                bool looks_ahead, const BinRule<typename Rows::Element>& rule) {
  using Element = typename Rows::Element;
  using Few = LeastOfFew<Element>;
  constexpr unsigned kStaged = 16 * 1024 / sizeof(Element);
  static_assert(kMostOfBlock == 2 * kSampleThreads);
  union Memory {
    Element staged[kStaged];
    Few few;
  };
  __shared__ Memory memory;
  Element* const staged = memory.staged;
  __shared__ BlockSelect<Element, kSampleThreads> select;
  const unsigned groups_of_block = of_block / size;
  const unsigned groups = groups_of_block * gridDim.x;
  const std::size_t all = std::size_t{gridDim.x} * of_block;
  const unsigned of_thread = of_block > kSampleThreads ? 2 : 1;
  const unsigned first = of_thread * threadIdx.x;
  const unsigned group = first / size * gridDim.x + blockIdx.x;
  const auto which = [&](unsigned member) { return sample_of_group(group, member, groups); };
  Element least = kNoElement<Element>;
  if (of_thread == 2) {
    least = least_sampled(rows, {which(first % size), which(first % size + 1)}, all);
  } else if (first < of_block) {
    if constexpr (requires { rows.sampled(first); })
      least = rows.sampled(which(first % size));
    else
      least = rows.at(sampled_place(which(first % size), all, rows.size()));
  }
  if (looks_ahead) let_next_start();
  least = least_of_groups(least, size * (2 / of_thread));
  let_next_start();  // any other scan that begins to read while the random reads are under way only slows these
  const bool alone = gridDim.x == 1;  // it needs no minima but its threads' own
  static_assert(kStaged >= kSampleThreads);
  if (!alone) {
    if (threadIdx.x < groups_of_block) minima[threadIdx.x * gridDim.x + blockIdx.x] = least;
    if (!last_block(arrived)) return;
  }
  if (groups <= Few::kMost && rank <= Few::kMostWanted && (rule.count == 0 || rule.count == rank)) {
    if (alone && threadIdx.x < groups) staged[threadIdx.x] = least;
    __syncthreads();
    if (threadIdx.x < kLanes) guess_of_few(alone ? staged : minima, groups, rank, guess, rule, memory.few);
    return;
  }
  const bool fits = groups <= kStaged;
  SetBits<Element> bits;
  for (unsigned i = threadIdx.x; i < groups; i += kSampleThreads) {
    const Element element = alone ? least : minima[i];
    bits.add(element);
    if (fits) staged[i] = element;
  }
  __syncthreads();
  const Element* const chosen_from = fits ? staged : minima;
  const Element threshold = select.kth(chosen_from, groups, rank, bits);
  if (threadIdx.x == 0) *guess = {.failed = 0, .candidates = 0, .threshold = threshold};
  if (rule.count > 0) choose_knots(chosen_from, groups, threshold, rank - 1, rule);
}

/// Besides, empties bins, where there are some, and sets what the scan counts in to zero.
template <class Rows>
__global__ void __launch_bounds__(kSampleThreads)
    find_threshold(const __grid_constant__ Rows rows, unsigned of_block, unsigned size, unsigned rank,
                   Guess<typename Rows::Element>* guess, typename Rows::Element* minima, unsigned* arrived,
                   const __grid_constant__ Bins<typename Rows::Element> bins, bool looks_ahead, Zeros counters) {
  if (bins.some()) Zeros{.words = bins.sizes, .count = kBins + 1}.set();
  counters.set();
  guess_threshold(rows, of_block, size, rank, guess, minima, arrived, looks_ahead, bins.rule);
}

/// A warp's way to a list of candidates that grows. All lanes call.
template <class Element>
struct ListSink {
  Element* candidates;
  std::size_t capacity;
  unsigned long long* count;

  /// `size` elements of shared memory.
  __device__ void put(const Element* held, unsigned size) const {
    const unsigned long long place = room_for(size);
    for (unsigned i = threadIdx.x % kLanes; i < size; i += kLanes) {
      if (place + i < capacity) candidates[place + i] = held[i];
    }
  }

  /// Those of each lane's kItems elements that `taken` has a bit for, `all` in all. What lanes write together lies side
  /// by side.
  template <unsigned kItems, class Make>
  __device__ void put_some(unsigned taken, unsigned all, Make element) const {
    const unsigned before_lane = (1u << threadIdx.x % kLanes) - 1;
    unsigned long long place = room_for(all);
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      const bool mine = (taken >> i & 1) != 0;
      const unsigned lanes = __ballot_sync(kAllLanes, mine);
      const unsigned long long own = place + static_cast<unsigned>(__popc(lanes & before_lane));
      if (mine && own < capacity) candidates[own] = element(i);
      place += static_cast<unsigned>(__popc(lanes));
    }
  }

 private:
  __device__ unsigned long long room_for(unsigned elements) const {
    unsigned long long place = 0;
    if (threadIdx.x % kLanes == 0) place = atomicAdd(count, static_cast<unsigned long long>(elements));
    return __shfl_sync(kAllLanes, place, 0);
  }
};

/// Makes nothing.
struct NoMake {};

/// What one warp has found, and where it goes. All lanes call, with the same `held`.
template <class Element, class Sink, unsigned kElements = 128>
class CollectorTo {
 public:
  /// Elements that a warp collects before it asks for room for them.
  static constexpr unsigned kHeld = kElements;

  /// `buffer`: kHeld elements of shared memory.
  __device__ CollectorTo(Element* buffer, const Sink& sink) : buffer_(buffer), sink_(sink) {}

  /// Takes those of a lane's kItems elements that `taken` has a bit for. `element(i)` makes them, i being known to the
  /// compiler. Few of a warp are mostly in different lanes, and are taken one of each lane at a time where
  /// `element_at(i)` makes them, of any i.
  template <unsigned kItems, class Make, class MakeAt = NoMake>
  __device__ void add(unsigned taken, Make element, MakeAt element_at = {}) {
    const auto mine = static_cast<unsigned>(__popc(taken));
    const unsigned total = __reduce_add_sync(kAllLanes, mine);
    if (total == 0) return;
    if (held_ + total > kHeld) flush();
    if constexpr (kItems * kLanes > kHeld) {
      if (total > kHeld) return sink_.template put_some<kItems>(taken, total, element);
    }
    if constexpr (!std::is_same_v<MakeAt, NoMake>) {
      if (total <= kFew) return hold_in_turns(taken, element_at);
    }
    unsigned before = held_ + sum_up_to_lane(mine) - mine;
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      if ((taken >> i & 1) != 0) buffer_[before++] = element(i);
    }
    held_ += total;
  }

  /// The same of kWords words of bits, one of each lane at a time: for few, or where there are no registers to make
  /// several. `element(word, bit)` makes them.
  template <unsigned kWords, class Make>
  __device__ void add_in_turns(unsigned (&taken)[kWords], Make element) {
    const unsigned before_lane = (1u << threadIdx.x % kLanes) - 1;
    for (;;) {
      unsigned word = 0;
      const unsigned bits = first_of(taken, word);
      const unsigned lanes = __ballot_sync(kAllLanes, bits != 0);
      if (lanes == 0) return;
      if (held_ + kLanes > kHeld) flush();
      if (bits != 0) {
        buffer_[held_ + static_cast<unsigned>(__popc(lanes & before_lane))] =
            element(word, static_cast<unsigned>(__ffs(static_cast<int>(bits)) - 1));
      }
      held_ += static_cast<unsigned>(__popc(lanes));
    }
  }

  __device__ void flush() {
    __syncwarp();
    if (held_ == 0) return;
    sink_.put(buffer_, held_);
    __syncwarp();
    held_ = 0;
  }

 private:
  static constexpr unsigned kFew = 32;

  /// Where there is room for all of them.
  template <class Make>
  __device__ void hold_in_turns(unsigned taken, Make element) {
    const unsigned before_lane = (1u << threadIdx.x % kLanes) - 1;
#pragma unroll 1
    for (unsigned lanes = lanes_with(taken); lanes != 0; lanes = lanes_with(taken)) {
      if (taken != 0) {
        const auto i = static_cast<unsigned>(__ffs(static_cast<int>(taken)) - 1);
        buffer_[held_ + static_cast<unsigned>(__popc(lanes & before_lane))] = element(i);
      }
      held_ += static_cast<unsigned>(__popc(lanes));
      taken &= taken - 1;
    }
  }

  __device__ static unsigned lanes_with(unsigned taken) { return __ballot_sync(kAllLanes, taken != 0); }

  /// The first word that has a bit, and its number. Its first bit is taken away.
  template <unsigned kWords>
  __device__ static unsigned first_of(unsigned (&taken)[kWords], unsigned& word) {
    unsigned bits = 0;
#pragma unroll
    for (unsigned i = 0; i < kWords; ++i) {
      if (bits != 0 || taken[i] == 0) continue;
      bits = taken[i];
      word = i;
      taken[i] &= bits - 1;
    }
    return bits;
  }

  Element* buffer_;
  Sink sink_;
  unsigned held_ = 0;
};

/// Of what goes to a list.
template <class Element, unsigned kElements = 128>
class Collector : public CollectorTo<Element, ListSink<Element>, kElements> {
 public:
  __device__ Collector(Element* buffer, Element* candidates, std::size_t capacity, unsigned long long* count)
      : CollectorTo<Element, ListSink<Element>, kElements>(buffer, {candidates, capacity, count}) {}
};

/// One of a few values by a number that is known only at run time: registers have no addresses.
template <class T, unsigned kCount>
__device__ T chosen_of(const T (&values)[kCount], unsigned which) {
  if constexpr (kCount == 1) {
    return values[0];
  } else {
    T halves[kCount / 2];
#pragma unroll
    for (unsigned i = 0; i < kCount / 2; ++i) halves[i] = (which & 1) != 0 ? values[2 * i + 1] : values[2 * i];
    return chosen_of(halves, which / 2);
  }
}

/// Adds every element at or below the threshold to what is found.
template <class Rows, class Ahead, class Found>
__device__ void keep_within(const Rows& rows, typename Rows::Element threshold, const Ahead& ahead, Found& found) {
  using Key = typename Rows::Item;
  unsigned which = 0;
  for (TurnsOfTiles turns(rows.count()); turns.some(); turns.next(), ++which) {
    const std::size_t tile = turns.tile();
    const TileBound<Rows> bound(rows, tile, threshold);
    if (bound.none || !ahead.may_have(which, [&] { return bound.most; })) continue;
    Key keys[Rows::kItems];
    const unsigned present = rows.load(tile, keys);
    if (!__any_sync(kAllLanes, least_of(keys) <= bound.most)) continue;
    const auto element = [&](unsigned i) { return rows.element(keys[i], rows.place(tile, i)); };
    unsigned taken = 0;
#pragma unroll
    for (unsigned i = 0; i < Rows::kItems; ++i) taken |= unsigned{keys[i] <= bound.most} << i;
    if (bound.mixed) {
#pragma unroll
      for (unsigned i = 0; i < Rows::kItems; ++i) taken &= ~(unsigned{element(i) > threshold} << i);
    }
    found.template add<Rows::kItems>(taken & present, element,
                                     [&](unsigned i) { return rows.element(chosen_of(keys, i), rows.place(tile, i)); });
  }
  found.flush();
}

template <class Rows, class Ahead, class Found>
__device__ void keep_all_within(const Rows& rows, typename Rows::Element threshold, const Ahead& ahead, Found& found) {
  if constexpr (sizeof(typename Rows::Item) < 4)
    keep_narrow_within(rows, threshold, ahead, found);
  else
    keep_within(rows, threshold, ahead, found);
}

/// Keeps every element at or below the threshold, in any order. `Ahead`: what its blocks do before the threshold is
/// known, PrefetchFirst or LookAhead; the keys were there before.
template <class Rows, class Ahead>
__global__ void __launch_bounds__(kScanThreads, kScanBlocks)
    keep_candidates(Rows rows, Guess<typename Rows::Element>* guess, typename Rows::Element* candidates,
                    std::size_t capacity) {
  using Element = typename Rows::Element;
  // A block's are 32 KiB. Many candidates are as many as all blocks' requests for room, at one place, let through.
  using Found = Collector<Element, 4096 / sizeof(Element)>;
  __shared__ Element buffers[kScanThreads / kLanes][Found::kHeld];
  const Ahead ahead(rows);
  wait_for_previous();
  let_next_start();
  Found found(buffers[threadIdx.x / kLanes], candidates, capacity, &guess->candidates);
  keep_all_within(rows, guess->threshold, ahead, found);
}

/// Keeps them in bins.
template <class Rows, class Ahead>
__global__ void __launch_bounds__(kScanThreads, kScanBlocks)
    keep_in_bins(Rows rows, Bins<typename Rows::Element> bins) {
  using Element = typename Rows::Element;
  using Knots = std::conditional_t<sizeof(typename Rows::Item) < 4, NarrowKnotsOfBlock<Element>, KnotsOfBlock<Element>>;
  using Found = CollectorTo<Element, BinSink<Element, Knots>>;
  __shared__ Element buffers[kScanThreads / kLanes][Found::kHeld];
  __shared__ Knots knots;
  const Ahead ahead(rows);
  wait_for_previous();
  let_next_start();
  bins.rule.load_knots(knots);
  Found found(buffers[threadIdx.x / kLanes], {bins, knots});
  keep_all_within(rows, knots.threshold(bins.rule.count), ahead, found);
}

}  // namespace skyrank::kernels::cuda
