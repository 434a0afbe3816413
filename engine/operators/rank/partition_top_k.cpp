#include "engine/operators/rank/partition_top_k.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/keys/key_memory.hpp"
#include "engine/operators/group/slots/slot_states.hpp"
#include "engine/runtime/query_memory.hpp"

namespace skyrank::exec {
namespace {

__extension__ using Unsigned128 = unsigned __int128;

constexpr std::int64_t kMaxBest = 128;
constexpr std::int64_t kFewBest = 32;  // so many are kept in order: a row that is among them moves half of them
constexpr std::int64_t kMaxRows = std::numeric_limits<std::uint32_t>::max();  // below the position in no rank

/// A key and a position in one number: less is better. Positions count backwards if the highest row wins a tie.
template <class Key>
struct Ranks {
  using Rank = std::conditional_t<sizeof(Key) == 8, Unsigned128, std::uint64_t>;
  static constexpr Rank kNone = std::numeric_limits<Rank>::max();
  static constexpr int kPositionBits = 32;

  const Key* keys;
  bool last_wins;

  Rank operator()(std::int64_t position) const { return Rank{keys[position]} << kPositionBits | turned(position); }
  std::int64_t position(Rank rank) const { return turned(static_cast<std::uint32_t>(rank)); }
  static bool same_key(Rank a, Rank b) { return a >> kPositionBits == b >> kPositionBits; }

 private:
  std::uint32_t turned(std::int64_t position) const {
    const auto bits = static_cast<std::uint32_t>(position);
    return last_wins ? static_cast<std::uint32_t>(kMaxRows - 1) - bits : bits;
  }
};

/// The best ranks of each of some slots. A few are kept in order. Of more there is room for twice as many, in no order,
/// and the worse half goes when all is full: that takes the same whatever the order of the rows, where keeping these in
/// order takes time proportional to their number for each row of keys that only get better.
template <class Rank>
class BestOfSlots {
 public:
  BestOfSlots() = default;
  BestOfSlots(std::int64_t slots, std::int64_t k)
      : k_(k),
        room_(room_for(k)),
        bounds_(static_cast<std::size_t>(slots), std::numeric_limits<Rank>::max()),
        slots_(static_cast<std::size_t>(slots)),
        ranks_(static_cast<std::size_t>(slots * room_)) {}

  /// Returns the ranks of a slot that there is room for.
  static std::int64_t room_for(std::int64_t k) { return k <= kFewBest ? k : 2 * k; }

  /// Takes the rows of a slot in ascending order.
  void sink(std::uint32_t slot, std::int64_t position, Rank rank) {
    if (rank >= bounds_[slot]) return;
    if (slots_[slot].first < 0) slots_[slot].first = position;
    insert(slot, rank);
  }

  /// Takes in the best of rows that come after all that were sunk.
  void combine(const BestOfSlots& later) {
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      if (later.slots_[slot].size == 0) continue;
      if (slots_[slot].first < 0) slots_[slot].first = later.slots_[slot].first;
      for (std::int64_t i = 0; i < later.slots_[slot].size; ++i) {
        const Rank rank = later.ranks(static_cast<std::int64_t>(slot))[i];
        if (rank < bounds_[slot]) insert(slot, rank);
      }
    }
  }

  std::int64_t first(std::int64_t slot) const { return slots_[slot].first; }
  std::int64_t size(std::int64_t slot) const { return std::min(slots_[slot].size, k_); }

  /// Returns the best ranks of a slot, ascending.
  const Rank* best(std::int64_t slot) {
    Rank* const all = ranks_.data() + slot * room_;
    if (room_ > k_) std::partial_sort(all, all + size(slot), all + slots_[slot].size);
    return all;
  }

 private:
  struct Slot {
    std::int64_t first = -1;
    std::int64_t size = 0;
  };

  const Rank* ranks(std::int64_t slot) const { return ranks_.data() + slot * room_; }

  // Rows that enter are few, and the loop over all others is short.
  [[gnu::noinline]] void insert(std::size_t slot, Rank rank) {
    Rank* const best = ranks_.data() + static_cast<std::int64_t>(slot) * room_;
    std::int64_t& size = slots_[slot].size;
    if (room_ > k_) {
      best[size++] = rank;
      if (size == room_) keep_better_half(slot, best);
      return;
    }
    std::int64_t at = size < k_ ? size++ : k_ - 1;
    for (; at > 0 && rank < best[at - 1]; --at) best[at] = best[at - 1];
    best[at] = rank;
    if (size == k_) bounds_[slot] = best[k_ - 1];
  }

  void keep_better_half(std::size_t slot, Rank* best) {
    std::nth_element(best, best + k_ - 1, best + room_);
    slots_[slot].size = k_;
    bounds_[slot] = best[k_ - 1];
  }

  std::int64_t k_ = 0;
  std::int64_t room_ = 0;
  Vector<Rank> bounds_;  // a row beyond it is not among the best, once it is known
  Vector<Slot> slots_;
  RawVector<Rank> ranks_;
};

/// Writes the positions of best ranks from the offset on; equal keys by ascending position.
template <class Key>
void write_window(const Ranks<Key>& ranks, const typename Ranks<Key>::Rank* best, std::int64_t size,
                  std::int64_t offset, std::int64_t* to) {
  for (std::int64_t begin = 0; begin < size;) {
    std::int64_t end = begin + 1;
    while (end < size && Ranks<Key>::same_key(best[begin], best[end])) ++end;
    for (std::int64_t i = std::max(begin, offset); i < end; ++i) {
      // The highest rows of equal keys may have come first.
      to[i - offset] = ranks.position(best[ranks.last_wins ? begin + end - 1 - i : i]);
    }
    begin = end;
  }
}

template <class Key>
PartitionAnswer windows_of(SlotShards<BestOfSlots<typename Ranks<Key>::Rank>>& all, const RowSlots& slots,
                           const Ranks<Key>& ranks, std::int64_t offset) {
  const SlotOrder order = order_slots(slots, [&](std::int64_t slot) { return all.of(slot).first(all.at(slot)); });
  Vector<std::int64_t> begins(static_cast<std::size_t>(order.count()) + 1);
  for (std::int64_t p = 0; p < order.count(); ++p) {
    const std::int64_t slot = order.slots[p];
    begins[p + 1] = begins[p] + std::max<std::int64_t>(all.of(slot).size(all.at(slot)) - offset, 0);
  }
  PartitionAnswer answer{Vector<std::int64_t>(static_cast<std::size_t>(begins.back())), order.count()};
  for_each_range(order.count(), kGrain / kMaxBest, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t slot = order.slots[p];
      auto& best = all.of(slot);
      write_window(ranks, best.best(all.at(slot)), best.size(all.at(slot)), offset,
                   answer.positions.data() + begins[p]);
    }
  });
  return answer;
}

}  // namespace

bool keeps_best_in_order(const Window& window) {
  return window.limit && !window.is_empty() && window.ties != Ties::all && window.offset < kMaxBest &&
         window.end(std::numeric_limits<std::int64_t>::max()) <= kMaxBest;
}

bool keeps_best_in_memory(const Window& window, std::int64_t slots, std::int64_t n) {
  constexpr std::int64_t kFew = std::int64_t{1} << 14;
  return n < kMaxRows && slots * window.end(kMaxBest) <= std::max(n, kFew);
}

PartitionAnswer best_of_partitions(const RowSlots& slots, const kernels::KeyColumn& keys, const Window& window) {
  // The cache of a thread holds so many bytes beside its stretch of the keys.
  constexpr std::size_t kPrivateBytes = std::size_t{1} << 20;
  const std::int64_t k = window.end(kMaxBest);
  return with_width(keys.width, [&]<class Key>(Key) {
    const Ranks<Key> ranks{keys.as<Key>(), window.ties == Ties::last};
    using Best = BestOfSlots<typename Ranks<Key>::Rank>;
    const auto state_bytes = static_cast<std::size_t>(Best::room_for(k) + 2) * sizeof(typename Ranks<Key>::Rank);
    auto all = sink_slots(
        slots, {state_bytes, kPrivateBytes}, [&](std::int64_t n) { return Best(n, k); },
        [&](Best& best, std::uint32_t slot, std::int64_t i) { best.sink(slot, i, ranks(i)); },
        [](Best& best, const Best& later) { best.combine(later); },
        [&](std::int64_t i) { __builtin_prefetch(ranks.keys + i); });
    return windows_of(all, slots, ranks, window.offset);
  });
}

}  // namespace skyrank::exec
