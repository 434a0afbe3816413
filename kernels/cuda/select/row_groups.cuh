#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/select/least_number.cuh"
#include "kernels/cuda/select/numbers.cuh"
#include "kernels/cuda/select/row_threads.cuh"

// A row in words of 16 bytes, which are shared out over groups: the words that are a multiple of the number of groups
// apart are one. So the least numbers of a sorted row are in many groups too. The row is read once for the least key of
// each group; later only the groups that matter are read again.
namespace skyrank::kernels::cuda::select {

/// The words that a thread reads if all groups are its block's or warp's: one of each of its groups, and so on.
template <class Shape>
struct OwnWords {
  __device__ static unsigned first() { return threadIdx.x % Shape::kThreads; }
  __device__ static constexpr unsigned apart() { return Shape::kThreads; }  ///< words from one load to the next
  __device__ static constexpr unsigned step() { return Shape::kThreads * Shape::kGroups; }  ///< and after kGroups
};

/// `N`: Numbers; `Shape`: a RowShape; `Words`: OwnWords, or what has its functions.
template <class N, class Shape, class Words = OwnWords<Shape>>
class RowGroups {
 public:
  using Stored = typename N::Stored;
  using Key = typename N::Key;
  static constexpr unsigned kThreads = Shape::kThreads;
  static constexpr unsigned kGroups = Shape::kGroups;  ///< groups of a thread
  using Threads = RowThreads<kThreads>;
  static constexpr Key kMaxKey = static_cast<Key>(~Key{0});
  static constexpr unsigned kWidth = sizeof(uint4) / sizeof(Stored);  ///< numbers of a word
  static constexpr unsigned kAllGroups = kThreads * kGroups;          ///< groups of all threads

  __device__ RowGroups(const N& numbers, unsigned size, const Words& walk = {})
      : numbers_(numbers),
        walk_(walk),
        size_(size),
        lead_(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(numbers.stored) % sizeof(uint4) / sizeof(Stored))),
        words_((lead_ + size + kWidth - 1) / kWidth) {}

  __device__ unsigned size() const { return size_; }
  __device__ unsigned words() const { return words_; }  ///< words that have a number of the row

  /// Finds the least key of each of the thread's groups.
  __device__ void find_least() {
    if (N::kFloat != Float::none && numbers_.order.nan_is_first()) {
      find_least_with<true>();
    } else {
      find_least_with<false>();
    }
  }
  /// Returns the least key of a group of the thread's, after find_least; of one without a word the greatest there is.
  __device__ Key least(unsigned group) const { return least_[group]; }

  /// Returns true if there is a word for a group of the thread's.
  __device__ bool has_word(unsigned group) const { return walk_.first() + group * walk_.apart() < words_; }

  /// Returns the position of the first number of a word; before the first of the row it wraps around.
  __device__ unsigned position_of(unsigned word) const { return word * kWidth - lead_; }

  /// Returns how many numbers come before a position from where ties are taken.
  __device__ unsigned turn_of(unsigned position) const { return numbers_.last_ties ? size_ - 1 - position : position; }
  __device__ bool ties_are_last() const { return numbers_.last_ties; }

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

  /// Returns bits for the thread's groups with a key at or below a bound.
  __device__ unsigned groups_within(Key bound) const {
    unsigned groups = 0;
#pragma unroll
    for (unsigned i = 0; i < kGroups; ++i) groups |= unsigned{least_[i] <= bound} << i;
    return groups;
  }

  /// Returns the first position among the thread's numbers of the least key of any group; ~0 where it has none.
  __device__ unsigned first_of(Key key) const {
    unsigned first = ~0u;
    unsigned end = words_;
    for (unsigned groups = groups_within(key); groups != 0; groups &= groups - 1) {
      const unsigned group = static_cast<unsigned>(__ffs(static_cast<int>(groups))) - 1;
      for (unsigned word = walk_.first() + group * walk_.apart(); word < end; word += walk_.step()) {
        Key keys[kWidth];
        const unsigned present = load(word, keys);
        unsigned equal = 0;
#pragma unroll
        for (unsigned i = 0; i < kWidth; ++i) equal |= unsigned{keys[i] == key} << i;
        equal &= present;
        if (equal == 0) continue;
        first = position_of(word) + static_cast<unsigned>(__ffs(static_cast<int>(equal))) - 1;
        end = word;
      }
    }
    return first;
  }

  /// Calls use(key, position) for each of the thread's numbers below a bound, and those at it up to a turn.
  template <class Use>
  __device__ void for_each_within(Key bound, unsigned last, Use use) const {
    const unsigned below = bound == 0 ? 0 : groups_within(bound - 1);
    for (unsigned groups = groups_within(bound); groups != 0; groups &= groups - 1) {
      const unsigned group = static_cast<unsigned>(__ffs(static_cast<int>(groups))) - 1;
      // A group without a key below the bound has none in words behind the last position.
      const bool has_all = (below >> group & 1) != 0 || numbers_.last_ties;
      const unsigned end = has_all ? words_ : min(words_, (last + lead_) / kWidth + 1);
      for (unsigned word = walk_.first() + group * walk_.apart(); word < end; word += walk_.step()) {
        Key keys[kWidth];
        const unsigned present = load(word, keys);
#pragma unroll
        for (unsigned i = 0; i < kWidth; ++i) {
          const unsigned position = position_of(word) + i;
          const bool is_within = keys[i] < bound || (keys[i] == bound && turn_of(position) <= last);
          if ((present >> i & 1) != 0 && is_within) use(keys[i], position);
        }
      }
    }
  }

 private:
  __device__ const uint4* word_at(unsigned word) const {
    const auto address = reinterpret_cast<std::uintptr_t>(numbers_.stored) - lead_ * sizeof(Stored);
    return reinterpret_cast<const uint4*>(address) + word;  // NOLINT(performance-no-int-to-ptr)
  }
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

  /// Finds the least key of each of the thread's groups. `kNan`: NaN comes first.
  template <bool kNan>
  __device__ void find_least_with() {
    constexpr unsigned kLoads = kGroups < 8 ? kGroups : 8;  // that are under way at a time
    LeastNumber<N, kNan> least[kGroups];
    for (unsigned word = walk_.first(); word < words_; word += walk_.step()) {
      if (are_whole(word, (kGroups - 1) * walk_.apart() + 1)) {
        const uint4* const words = word_at(word);
#pragma unroll
        for (unsigned part = 0; part < kGroups; part += kLoads) {
          uint4 loaded[kLoads];
#pragma unroll
          for (unsigned i = 0; i < kLoads; ++i) loaded[i] = __ldg(words + (part + i) * walk_.apart());
#pragma unroll
          for (unsigned i = 0; i < kLoads; ++i) least[part + i].take(numbers_.order, loaded[i]);
        }
        continue;
      }
#pragma unroll
      for (unsigned i = 0; i < kGroups; ++i) take_some(word + i * walk_.apart(), least[i]);
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

  const N numbers_;
  const Words walk_;
  unsigned size_;
  unsigned lead_;   ///< numbers that the first word has room for before the row
  unsigned words_;  ///< words that have a number of the row
  Key least_[kGroups];
};

}  // namespace skyrank::kernels::cuda::select
