#include "engine/operators/partition_top_k.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/keys/key_memory.hpp"
#include "engine/operators/groups/slot_states.hpp"

namespace skyrank::exec {
namespace {

__extension__ using Unsigned128 = unsigned __int128;

constexpr std::int64_t kMaxBest = 128;  // a row that is among the best moves half of them
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

/// The best ranks of each of some slots, ascending.
template <class Rank>
class BestOfSlots {
 public:
  BestOfSlots() = default;
  BestOfSlots(std::int64_t slots, std::int64_t k)
      : k_(k),
        bounds_(static_cast<std::size_t>(slots), std::numeric_limits<Rank>::max()),
        slots_(static_cast<std::size_t>(slots)),
        ranks_(static_cast<std::size_t>(slots * k)) {}

  /// Takes the rows of a slot in ascending order.
  void offer(std::uint32_t slot, std::int64_t position, Rank rank) {
    if (rank >= bounds_[slot]) return;
    if (slots_[slot].first < 0) slots_[slot].first = position;
    insert(slot, rank);
  }

  /// Adds the best of rows that come after all that were offered.
  void add(const BestOfSlots& later) {
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      if (later.slots_[slot].size == 0) continue;
      if (slots_[slot].first < 0) slots_[slot].first = later.slots_[slot].first;
      for (std::int64_t i = 0; i < later.slots_[slot].size; ++i) {
        const Rank rank = later.best(slot)[i];
        if (rank >= bounds_[slot]) break;
        insert(slot, rank);
      }
    }
  }

  std::int64_t first(std::size_t slot) const { return slots_[slot].first; }
  std::int64_t size(std::size_t slot) const { return slots_[slot].size; }
  const Rank* best(std::size_t slot) const { return ranks_.data() + static_cast<std::int64_t>(slot) * k_; }

 private:
  struct Slot {
    std::int64_t first = -1;
    std::int64_t size = 0;
  };

  void insert(std::size_t slot, Rank rank) {
    Rank* const best = ranks_.data() + static_cast<std::int64_t>(slot) * k_;
    std::int64_t& size = slots_[slot].size;
    std::int64_t at = size < k_ ? size++ : k_ - 1;
    for (; at > 0 && rank < best[at - 1]; --at) best[at] = best[at - 1];
    best[at] = rank;
    if (size == k_) bounds_[slot] = best[k_ - 1];
  }

  std::int64_t k_ = 0;
  Vector<Rank> bounds_;  // the last of the best, once there are k
  Vector<Slot> slots_;
  kernels::RawVector<Rank> ranks_;
};

/// Slot s is the slot s >> bits of part s & (2^bits - 1).
template <class Rank>
struct Parts {
  int bits = 0;
  std::vector<BestOfSlots<Rank>> parts;

  const BestOfSlots<Rank>& of(std::int64_t slot) const { return parts[slot & ((std::int64_t{1} << bits) - 1)]; }
  std::size_t at(std::int64_t slot) const { return static_cast<std::size_t>(slot >> bits); }
};

/// Every thread keeps the best of its range of the rows, which are put together in order.
template <class Key>
Parts<typename Ranks<Key>::Rank> best_of_ranges(const RowSlots& slots, const Ranks<Key>& ranks, std::int64_t k,
                                                std::size_t threads) {
  using Best = BestOfSlots<typename Ranks<Key>::Rank>;
  const std::int64_t grain = slot_states::range_rows(slots.rows(), threads);
  std::vector<Best> ranges(static_cast<std::size_t>(std::max<std::int64_t>((slots.rows() + grain - 1) / grain, 1)));
  ranges.front() = Best(slots.count(), k);
  for_each_range(slots.rows(), grain, [&](std::int64_t begin, std::int64_t end) {
    Best& best = ranges[begin / grain];
    best = Best(slots.count(), k);
    slot_states::visit_range(slots, begin, end,
                             [&](std::uint32_t slot, std::int64_t i) { best.offer(slot, i, ranks(i)); });
  });
  for (std::size_t r = 1; r < ranges.size(); ++r) ranges.front().add(ranges[r]);
  ranges.resize(1);
  return {0, std::move(ranges)};
}

/// Every thread keeps the best of its shards of the slots.
template <class Key>
Parts<typename Ranks<Key>::Rank> best_of_shards(const RowSlots& slots, const Ranks<Key>& ranks, std::int64_t k,
                                                std::size_t threads) {
  using Best = BestOfSlots<typename Ranks<Key>::Rank>;
  const int bits = slot_states::shard_bits(slots, threads);
  const std::int64_t count = std::int64_t{1} << bits;
  std::vector<Best> shards(static_cast<std::size_t>(count));
  for_each_range(count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t shard = begin; shard < end; ++shard) {
      Best& best = shards[shard];
      best = Best(slot_states::shard_slots(slots, shard, bits), k);
      slot_states::visit_shard(
          slots, static_cast<std::uint32_t>(shard), bits,
          [&](std::uint32_t slot, std::int64_t i) { best.offer(slot, i, ranks(i)); },
          [&](std::int64_t i) { __builtin_prefetch(ranks.keys + i); });
    }
  });
  return {bits, std::move(shards)};
}

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
PartitionAnswer windows_of(const Parts<typename Ranks<Key>::Rank>& parts, const RowSlots& slots,
                           const Ranks<Key>& ranks, std::int64_t offset) {
  const SlotOrder order = order_slots(slots, [&](std::int64_t slot) { return parts.of(slot).first(parts.at(slot)); });
  Vector<std::int64_t> begins(static_cast<std::size_t>(order.count()) + 1);
  for (std::int64_t p = 0; p < order.count(); ++p) {
    const std::int64_t slot = order.slots[p];
    begins[p + 1] = begins[p] + std::max<std::int64_t>(parts.of(slot).size(parts.at(slot)) - offset, 0);
  }
  PartitionAnswer answer{Vector<std::int64_t>(static_cast<std::size_t>(begins.back())), order.count()};
  for_each_range(order.count(), kGrain / kMaxBest, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t slot = order.slots[p];
      const auto& part = parts.of(slot);
      write_window(ranks, part.best(parts.at(slot)), part.size(parts.at(slot)), offset,
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
  const std::size_t threads = slot_states::threads_for(slots.rows());
  return with_width(keys.width, [&]<class Key>(Key) {
    const Ranks<Key> ranks{keys.as<Key>(), window.ties == Ties::last};
    const auto state_bytes = static_cast<std::size_t>(k + 2) * sizeof(typename Ranks<Key>::Rank);
    const bool few = slot_states::keeps_ranges(slots, state_bytes, kPrivateBytes);
    const auto parts = few ? best_of_ranges(slots, ranks, k, threads) : best_of_shards(slots, ranks, k, threads);
    return windows_of(parts, slots, ranks, window.offset);
  });
}

}  // namespace skyrank::exec
