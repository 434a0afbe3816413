#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/quotient.cuh"
#include "kernels/cuda/select/least_number.cuh"
#include "kernels/cuda/select/numbers.cuh"
#include "kernels/cuda/select/row_threads.cuh"
#include "kernels/cuda/topk/batched/order_of_kept.cuh"
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

/// Values among which a bound is searched: fewer than k, `below`, are below `low`, and `within` >= k at or below
/// `high`.
template <class T>
struct SearchRange {
  T low;
  T high;
  unsigned within;
  unsigned below = 0;

  /// Narrows the range until at most `most` are within it, or all that are have one value. `count` returns how many are
  /// at or below a guess. Guesses are interpolated and halved by turns, so that even data take few and no data more
  /// than twice as many as a value has bits.
  template <class Count>
  __device__ void search(unsigned k, unsigned most, Count count) {
    const unsigned aim = k + (most - k) / 2;
    for (bool even = true; within > most && low < high; even = !even) {
      const T length = high - low;
      T step = length / 2;
      if (even) {
        const float share = quotient(static_cast<float>(aim - below), static_cast<float>(within - below));
        step = min(static_cast<T>(static_cast<float>(length) * share), static_cast<T>(length - 1));
      }
      const T guess = low + step;
      const unsigned found = count(guess);
      if (found >= k) {
        high = guess;
        within = found;
      } else {
        low = guess + 1;
        below = found;
      }
    }
  }
};

/// `N`: Numbers; `Shape`: a RowShape. All threads of the row call each public function.
template <class N, class Shape>
class RowSelection {
 public:
  using Stored = typename N::Stored;
  using Key = typename N::Key;
  using Element = typename N::Element;
  using Bits = typename N::Bits;
  static constexpr unsigned kThreads = Shape::kThreads;
  static constexpr unsigned kGroups = Shape::kGroups;
  static constexpr unsigned kRoom = Shape::kRoom;
  static constexpr bool kIsWarp = kThreads == kLanes;
  using Threads = RowThreads<kThreads>;
  using Order = topk::OrderOfKept<Bits, kThreads, Shape::kItems>;

  struct NoOrder {};
  /// Memory that the threads of the row share.
  struct Shared {
    Element kept[kRoom];
    std::conditional_t<kIsWarp, NoOrder, typename Order::Shared> order;
    typename Threads::Shared threads;
    unsigned count;
  };

  __device__ RowSelection(const N& numbers, unsigned size, Shared& shared)
      : numbers_(numbers),
        size_(size),
        lead_(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(numbers.stored) % sizeof(uint4) / sizeof(Stored))),
        words_((lead_ + size + kWidth - 1) / kWidth),
        shared_(shared),
        threads_(shared.threads) {}

  /// Calls put(rank, position) for the k best, 0 < k <= size and no more than there is room for.
  template <class Put>
  __device__ void select(unsigned k, Put put) {
    if (N::kFloat != Float::none && numbers_.order.nan_is_first()) {
      find_least<true>();
    } else {
      find_least<false>();
    }
    Range range = bound_by_groups(k);
    unsigned last = size_ - 1;
    // A key that many groups have as their least one most likely belongs to many equal numbers.
    if (range.within > most_groups(k)) last = last_of_ties(range, k);
    if (!keep(range.high, last)) {
      range.high = greatest_within(range.high);
      range.within = count(range.high, size_ - 1);
      range.search(k, kRoom, [&](Key guess) { return count(guess, size_ - 1); });
      last = range.within <= kRoom ? size_ - 1 : last_of_ties(range, k);
      keep(range.high, last);
    }
    order(k, range, last, put);
  }

 private:
  using Range = SearchRange<Key>;
  static constexpr Key kMaxKey = static_cast<Key>(~Key{0});
  static constexpr unsigned kWidth = sizeof(uint4) / sizeof(Stored);  ///< numbers of a word
  static constexpr unsigned kStep = kThreads * kGroups;               ///< words of which each group has one

  __device__ const uint4* word_at(unsigned word) const {
    const auto address = reinterpret_cast<std::uintptr_t>(numbers_.stored) - lead_ * sizeof(Stored);
    return reinterpret_cast<const uint4*>(address) + word;  // NOLINT(performance-no-int-to-ptr)
  }
  /// Returns the position of the first number of a word; before the first of the row it wraps around.
  __device__ unsigned position_of(unsigned word) const { return word * kWidth - lead_; }
  /// Returns true if all numbers of `words` words from one on are the row's.
  __device__ bool are_whole(unsigned word, unsigned words) const {
    return (word > 0 || lead_ == 0) && (word + words) * kWidth <= lead_ + size_;
  }

  __device__ void to_keys(const uint4& loaded, Key (&keys)[kWidth]) const {
    Stored stored[kWidth];
    __builtin_memcpy(stored, &loaded, sizeof(loaded));
#pragma unroll
    for (unsigned i = 0; i < kWidth; ++i) keys[i] = numbers_.key_of(stored[i]);
  }
  /// Loads the keys of a word. Returns a bit for each that is the row's; the others are the greatest there is.
  __device__ unsigned load(unsigned word, Key (&keys)[kWidth]) const {
    if (are_whole(word, 1)) {
      to_keys(__ldg(word_at(word)), keys);
      return (1u << kWidth) - 1;
    }
    unsigned present = 0;
#pragma unroll
    for (unsigned i = 0; i < kWidth; ++i) {
      const unsigned position = position_of(word) + i;
      keys[i] = position < size_ ? numbers_.key_of(numbers_.stored[position]) : kMaxKey;
      present |= unsigned{position < size_} << i;
    }
    return present;
  }

  /// Finds the least key of each of the thread's groups. `kNan`: NaN comes first.
  template <bool kNan>
  __device__ void find_least() {
    constexpr unsigned kLoads = kGroups < 8 ? kGroups : 8;  // that are under way at a time
    LeastNumber<N, kNan> least[kGroups];
    for (unsigned first = 0; first < words_; first += kStep) {
      const unsigned own = first + Threads::rank();
      if (are_whole(first, kStep)) {
        const uint4* const words = word_at(own);
#pragma unroll
        for (unsigned part = 0; part < kGroups; part += kLoads) {
          uint4 loaded[kLoads];
#pragma unroll
          for (unsigned i = 0; i < kLoads; ++i) loaded[i] = __ldg(words + (part + i) * kThreads);
#pragma unroll
          for (unsigned i = 0; i < kLoads; ++i) least[part + i].take(numbers_.order, loaded[i]);
        }
        continue;
      }
#pragma unroll
      for (unsigned i = 0; i < kGroups; ++i) take_some(own + i * kThreads, least[i]);
    }
#pragma unroll
    for (unsigned i = 0; i < kGroups; ++i) least_[i] = has_word(i) ? least[i].key(numbers_.order) : kMaxKey;
  }

  /// Takes the numbers of a word that are the row's.
  template <class Least>
  __device__ void take_some(unsigned word, Least& least) const {
    if (word >= words_) return;
    if (are_whole(word, 1)) return least.take(numbers_.order, __ldg(word_at(word)));
#pragma unroll
    for (unsigned i = 0; i < kWidth; ++i) {
      const unsigned position = position_of(word) + i;
      if (position < size_) least.take_one(numbers_.order, numbers_.stored[position]);
    }
  }

  /// Returns true if there is a word for a group of the thread's.
  __device__ bool has_word(unsigned group) const { return group * kThreads + Threads::rank() < words_; }

  /// Returns bits for the thread's groups with a key at or below a bound.
  __device__ unsigned groups_within(Key bound) const {
    unsigned groups = 0;
#pragma unroll
    for (unsigned i = 0; i < kGroups; ++i) groups |= unsigned{least_[i] <= bound} << i;
    return groups;
  }

  /// Calls use(key, position) for each of the thread's numbers below a bound, and those at it up to a position.
  template <class Use>
  __device__ void for_each_within(Key bound, unsigned last, Use use) const {
    const unsigned below = bound == 0 ? 0 : groups_within(bound - 1);
    for (unsigned groups = groups_within(bound); groups != 0; groups &= groups - 1) {
      const unsigned group = static_cast<unsigned>(__ffs(static_cast<int>(groups))) - 1;
      // A group without a key below the bound has none in words behind that position.
      const unsigned end = (below >> group & 1) != 0 ? words_ : min(words_, (last + lead_) / kWidth + 1);
      for (unsigned word = group * kThreads + Threads::rank(); word < end; word += kStep) {
        Key keys[kWidth];
        const unsigned present = load(word, keys);
#pragma unroll
        for (unsigned i = 0; i < kWidth; ++i) {
          const unsigned position = position_of(word) + i;
          const bool is_within = keys[i] < bound || (keys[i] == bound && position <= last);
          if ((present >> i & 1) != 0 && is_within) use(keys[i], position);
        }
      }
    }
  }

  __device__ unsigned count(Key bound, unsigned last) {
    unsigned mine = 0;
    for_each_within(bound, last, [&](Key, unsigned) { ++mine; });
    return threads_.sum(mine);
  }

  /// Returns the greatest key at or below a bound, from which a search takes fewer guesses.
  __device__ Key greatest_within(Key bound) {
    Key complement = kMaxKey;
    for_each_within(bound, size_ - 1, [&](Key key, unsigned) { complement = min(complement, static_cast<Key>(~key)); });
    return static_cast<Key>(~threads_.least(complement));
  }

  /// Returns a range whose `high` the least keys of k groups or more are at or below, `within` of them. If fewer groups
  /// have a number, `high` is the greatest key there is, and `within` 0.
  __device__ Range bound_by_groups(unsigned k) {
    Key low = kMaxKey;
    Key high_complement = kMaxKey;
#pragma unroll
    for (unsigned i = 0; i < kGroups; ++i) {
      if (!has_word(i)) continue;
      low = min(low, least_[i]);
      high_complement = min(high_complement, static_cast<Key>(~least_[i]));
    }
    low = threads_.least(low);
    const unsigned groups = min(words_, kStep);
    if (groups < k) return {.low = low, .high = kMaxKey, .within = 0};
    if constexpr (kIsWarp) {
      // Sorting the lanes' least keys takes less than a search.
      if (k <= kMaxSortedLanes && groups >= kLanes) return {.low = low, .high = least_of_lanes(k), .within = k};
    }
    Range range{.low = low, .high = static_cast<Key>(~threads_.least(high_complement)), .within = groups};
    range.search(k, most_groups(k),
                 [&](Key guess) { return threads_.sum(static_cast<unsigned>(__popc(groups_within(guess)))); });
    // A group may have several keys below what few groups are below.
    return {.low = low, .high = range.high, .within = range.within};
  }

  static constexpr unsigned kMaxSortedLanes = 16;

  /// Returns the k-th least of the least keys of the warp's lanes.
  __device__ Key least_of_lanes(unsigned k) const {
    Key least[1] = {kMaxKey};
#pragma unroll
    for (const Key& of_group : least_) least[0] = min(least[0], of_group);
    topk::sort_of_warp(least);
    return __shfl_sync(kAllLanes, least[0], static_cast<int>(k) - 1);
  }

  /// Returns the number of groups within the bound that are few enough: a tighter one takes more guesses, a wider one
  /// keeps more to be put in order. Of sorted numbers all of a word are within it, for which there is room if k is
  /// small.
  __device__ static unsigned most_groups(unsigned k) {
    const unsigned few = k + k / 16 + 2;
    return max(few, min(k + k / 4 + (kIsWarp ? 8 : 64), kRoom / kWidth));
  }

  /// Returns the last position of the numbers with the bound's key that are kept, where all of them may be more than
  /// there is room for.
  __device__ unsigned last_of_ties(const Range& keys, unsigned k) {
    SearchRange<unsigned> range{.low = 0, .high = size_ - 1, .within = max(keys.within, kRoom + 1)};
    range.search(k, kRoom, [&](unsigned last) { return count(keys.high, last); });
    return range.high;
  }

  /// Keeps the numbers below a bound, and those at it up to a position. Returns false if they are more than there is
  /// room for.
  __device__ bool keep(Key bound, unsigned last) {
    Threads::wait();
    if (Threads::rank() == 0) shared_.count = 0;
    Threads::wait();
    for_each_within(bound, last, [&](Key key, unsigned position) {
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
      const topk::KeptRange<Key> known{.knot = range.low, .greatest = range.high, .rows = size_, .tied_rows = last + 1};
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

  const N numbers_;
  unsigned size_;
  unsigned lead_;   ///< numbers that the first word has room for before the row
  unsigned words_;  ///< words that have a number of the row
  Key least_[kGroups];
  Shared& shared_;
  Threads threads_;
};

}  // namespace skyrank::kernels::cuda::select
