#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/select/numbers.cuh"
#include "kernels/cuda/select/order_of_kept.cuh"
#include "kernels/cuda/select/row_groups.cuh"
#include "kernels/cuda/select/row_threads.cuh"
#include "kernels/cuda/select/search_range.cuh"
#include "kernels/cuda/topk/block/warp_sort.cuh"

// The k best numbers of one row, by the threads of a warp or a block. The row is read once, in words of 16 bytes, and
// its words are shared out over groups, several for each thread, of which each thread keeps the least key. Keys at or
// below the k-th least of these are k or more, as k groups have one; where the best are in no order they are hardly
// more, as most of them have a group of their own. Only the groups whose least key is within this bound are read again,
// and what is within it is kept and put in order. Where it is more than there is room for, as of sorted numbers, whose
// words have neighbours, the bound is searched for among the keys of those groups, and of equal keys by their
// positions.
//
// Example: 1,000,000 floats, k = 10, a block with 2,048 groups of 122 words: about ten groups, 1,220 words, are read
// again.
//
// Floor: one read of the row.
namespace skyrank::kernels::cuda::select {

/// `N`: Numbers; `Shape`: a RowShape. All threads of the row call each public function.
template <class N, class Shape>
class RowSelection {
 public:
  using Key = typename N::Key;
  using Element = typename N::Element;
  using Bits = typename N::Bits;
  static constexpr unsigned kThreads = Shape::kThreads;
  static constexpr unsigned kGroups = Shape::kGroups;
  static constexpr unsigned kRoom = Shape::kRoom;
  static constexpr bool kIsWarp = kThreads == kLanes;
  using Groups = RowGroups<N, Shape>;
  using Threads = typename Groups::Threads;
  using Order = OrderOfKept<Bits, kThreads, Shape::kItems>;

  struct NoOrder {};
  /// Memory that the threads of the row share.
  struct Shared {
    Element kept[kRoom];
    std::conditional_t<kIsWarp, NoOrder, typename Order::Shared> order;
    typename Threads::Shared threads;
    unsigned count;
  };

  __device__ RowSelection(const N& numbers, unsigned size, Shared& shared)
      : groups_(numbers, size), shared_(shared), threads_(shared.threads) {}

  /// Calls put(rank, position) for the k best, 0 < k <= size and no more than there is room for.
  template <class Put>
  __device__ void select(unsigned k, Put put) {
    groups_.find_least();
    Range range = bound_by_groups(k);
    unsigned last = groups_.size() - 1;
    // A key that many groups have as their least one most likely belongs to many equal numbers.
    const bool ties_are_last = groups_.ties_are_last();
    if (range.within > most_groups(k) && !ties_are_last) last = last_of_ties(range, k, kRoom);
    // Elements order ties from the first on, so that of the last no more may be kept than are wanted.
    if (ties_are_last || !keep(range.high, last)) {
      const unsigned room = ties_are_last ? k : kRoom;
      range.high = greatest_within(range.high);
      range.within = count(range.high, groups_.size() - 1);
      range.search(k, room, [&](Key guess) { return count(guess, groups_.size() - 1); });
      last = range.within <= room ? groups_.size() - 1 : last_of_ties(range, k, room);
      keep(range.high, last);
    }
    order(k, range, last, put);
  }

 private:
  using Range = SearchRange<Key>;
  static constexpr Key kMaxKey = Groups::kMaxKey;

  __device__ unsigned count(Key bound, unsigned last) {
    unsigned mine = 0;
    groups_.for_each_within(bound, last, [&](Key, unsigned) { ++mine; });
    return threads_.sum(mine);
  }

  /// Returns the greatest key at or below a bound, from which a search takes fewer guesses.
  __device__ Key greatest_within(Key bound) {
    Key complement = kMaxKey;
    groups_.for_each_within(bound, groups_.size() - 1,
                            [&](Key key, unsigned) { complement = min(complement, static_cast<Key>(~key)); });
    return static_cast<Key>(~threads_.least(complement));
  }

  /// Returns a range whose `high` the least keys of k groups or more are at or below, `within` of them. If fewer groups
  /// have a number, `high` is the greatest key there is, and `within` 0.
  __device__ Range bound_by_groups(unsigned k) {
    Key low = kMaxKey;
    Key high_complement = kMaxKey;
#pragma unroll
    for (unsigned i = 0; i < kGroups; ++i) {
      if (!groups_.has_word(i)) continue;
      low = min(low, groups_.least(i));
      high_complement = min(high_complement, static_cast<Key>(~groups_.least(i)));
    }
    low = threads_.least(low);
    const unsigned groups = min(groups_.words(), Groups::kAllGroups);
    if (groups < k) return {.low = low, .high = kMaxKey, .within = 0};
    if constexpr (kIsWarp) {
      // Sorting the lanes' least keys takes less than a search.
      if (k <= kMaxSortedLanes && groups >= kLanes) return {.low = low, .high = least_of_lanes(k), .within = k};
    }
    Range range{.low = low, .high = static_cast<Key>(~threads_.least(high_complement)), .within = groups};
    range.search(k, most_groups(k),
                 [&](Key guess) { return threads_.sum(static_cast<unsigned>(__popc(groups_.groups_within(guess)))); });
    // A group may have several keys below what few groups are below.
    return {.low = low, .high = range.high, .within = range.within};
  }

  static constexpr unsigned kMaxSortedLanes = 16;

  /// Returns the k-th least of the least keys of the warp's lanes.
  __device__ Key least_of_lanes(unsigned k) const {
    Key least[1] = {kMaxKey};
#pragma unroll
    for (unsigned i = 0; i < kGroups; ++i) least[0] = min(least[0], groups_.least(i));
    topk::sort_of_warp(least);
    return __shfl_sync(kAllLanes, least[0], static_cast<int>(k) - 1);
  }

  /// Returns the number of groups within the bound that are few enough: a tighter one takes more guesses, a wider one
  /// keeps more to be put in order. Of sorted numbers all of a word are within it, for which there is room if k is
  /// small.
  __device__ static unsigned most_groups(unsigned k) {
    const unsigned few = k + k / 16 + 2;
    return max(few, min(k + k / 4 + (kIsWarp ? 8 : 64), kRoom / Groups::kWidth));
  }

  /// Returns the last turn of the numbers with the bound's key that are kept, where all of them may be more than there
  /// is room for.
  __device__ unsigned last_of_ties(const Range& keys, unsigned k, unsigned room) {
    SearchRange<unsigned> range{.low = 0, .high = groups_.size() - 1, .within = max(keys.within, room + 1)};
    range.search(k, room, [&](unsigned last) { return count(keys.high, last); });
    return range.high;
  }

  /// Keeps the numbers below a bound, and those at it up to a turn. Returns false if they are more than there is
  /// room for.
  __device__ bool keep(Key bound, unsigned last) {
    Threads::wait();
    if (Threads::rank() == 0) shared_.count = 0;
    Threads::wait();
    groups_.for_each_within(bound, last, [&](Key key, unsigned position) {
      const unsigned place = atomicAdd(&shared_.count, 1u);
      if (place < kRoom) shared_.kept[place] = static_cast<Element>(key) << Bits::kRowBits | position;
    });
    Threads::wait();
    return shared_.count <= kRoom;
  }

  template <class Put>
  __device__ void order(unsigned k, const Range& range, unsigned last, Put put) {
    const auto put_position = [&](unsigned rank, Element element) {
      if (rank < k) put(rank, static_cast<unsigned>(element & Bits::kRowMask));
    };
    const unsigned count = shared_.count;
    if constexpr (kIsWarp) {
      if (count <= kLanes) return sort<1>(count, put_position);
      if (count <= 2 * kLanes) return sort<2>(count, put_position);
      sort<Shape::kItems>(count, put_position);
    } else {
      const KeptRange<Key> known{.knot = range.low,
                                 .greatest = range.high,
                                 .rows = groups_.size(),
                                 .tied_rows = groups_.ties_are_last() ? groups_.size() : last + 1};
      Order::order(shared_.kept, count, k, known, shared_.order, put_position);
    }
  }

  template <unsigned kItems, class Put>
  __device__ void sort(unsigned count, Put put) {
    Element items[kItems];
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      const unsigned place = i * kLanes + Threads::rank();
      items[i] = place < count ? shared_.kept[place] : topk::kNoElement<Element>;
    }
    topk::sort_of_warp(items);
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      const unsigned rank = Threads::rank() * kItems + i;
      if (rank < count) put(rank, items[i]);
    }
  }

  Groups groups_;
  Shared& shared_;
  Threads threads_;
};

}  // namespace skyrank::kernels::cuda::select
