#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/operators/groups/row_slots.hpp"
#include "engine/runtime/ranges.hpp"
#include "engine/runtime/stop.hpp"
#include "kernels/cpu/parallel.hpp"

// One state for each slot of a row set, made in one pass over the slots by all threads. A state is the same for any
// number of threads.
namespace skyrank::exec {

/// The states of all slots, in shards: slot s is in shard s % shards.
template <class State>
class SlotStates {
 public:
  explicit SlotStates(int shard_bits) : shard_bits_(shard_bits), shards_(std::size_t{1} << shard_bits) {}

  const State& operator[](std::int64_t slot) const { return shards_[shard_of(slot)][slot >> shard_bits_]; }
  State& operator[](std::int64_t slot) { return shards_[shard_of(slot)][slot >> shard_bits_]; }

  std::vector<Vector<State>>& shards() { return shards_; }
  int shard_bits() const { return shard_bits_; }

 private:
  std::size_t shard_of(std::int64_t slot) const { return static_cast<std::size_t>(slot) & (shards_.size() - 1); }

  int shard_bits_;
  std::vector<Vector<State>> shards_;
};

namespace slot_states {

/// States of at most so many bytes are kept once for every thread, as they fit its cache.
inline constexpr std::size_t kPrivateBytes = std::size_t{1} << 18;
inline constexpr int kMaxShardBits = 6;

/// Calls visit(slot, position) for the positions of [begin, end), in order.
template <class Visit>
void visit_range(const RowSlots& slots, std::int64_t begin, std::int64_t end, const Visit& visit) {
  std::uint32_t of[kBlockRows];
  const std::stop_token& stop = current_stop();
  for (std::int64_t at = begin; at < end; at += kBlockRows) {
    check_at(at - begin, stop);
    const std::int64_t size = std::min(kBlockRows, end - at);
    slots.load(at, size, of);
    for (std::int64_t i = 0; i < size; ++i) visit(of[i], at + i);
  }
}

/// Calls visit(slot >> bits, position) for all positions whose slots have these last bits, in order. Shards of slots of
/// partitions are the partitions; of these, prefetch(position) is called some rows before.
template <class Visit, class Prefetch = NoPrefetch>
void visit_shard(const RowSlots& slots, std::uint32_t shard, int bits, const Visit& visit,
                 const Prefetch& prefetch = {}) {
  if (slots.partitions() != nullptr) return slots.partitions()->visit(shard, visit, prefetch);
  if (bits == 0) return visit_range(slots, 0, slots.rows(), visit);
  const std::uint32_t mask = (std::uint32_t{1} << bits) - 1;
  std::uint32_t of[kBlockRows];
  std::uint16_t mine[kBlockRows];
  const std::stop_token& stop = current_stop();
  for (std::int64_t at = 0; at < slots.rows(); at += kBlockRows) {
    check_at(at, stop);
    const std::int64_t size = std::min(kBlockRows, slots.rows() - at);
    slots.load(at, size, of);
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      mine[count] = static_cast<std::uint16_t>(i);
      count += (of[i] & mask) == shard ? 1 : 0;
    }
    for (std::int64_t i = 0; i < count; ++i) visit(of[mine[i]] >> bits, at + mine[i]);
  }
}

/// Returns the bits of shard numbers for so many threads, each of which has a shard at least.
inline int shard_bits(const RowSlots& slots, std::size_t threads) {
  if (slots.partitions() != nullptr) return slots.partitions()->bits();
  return std::min(std::countr_zero(std::bit_ceil(threads)), kMaxShardBits);
}

/// Returns the number of slots of a shard, of which some may have no rows.
inline std::int64_t shard_slots(const RowSlots& slots, std::int64_t shard, int bits) {
  if (slots.partitions() != nullptr) return slots.partitions()->groups(shard);
  return (slots.count() >> bits) + 1;
}

/// Returns true if every thread is to have states of its own for all slots: those of few slots take few bytes.
inline bool keeps_ranges(const RowSlots& slots, std::size_t state_bytes, std::size_t private_bytes) {
  return slots.partitions() == nullptr && static_cast<std::size_t>(slots.count()) * state_bytes <= private_bytes;
}

/// Returns the threads that are worth their start for n rows.
inline std::size_t threads_for(std::int64_t n) { return n <= kGrain ? 1 : kernels::concurrency(); }

/// Returns the rows of the ranges into which so many threads divide n rows.
inline std::int64_t range_rows(std::int64_t n, std::size_t threads) {
  const auto parts = static_cast<std::int64_t>(threads);
  return std::max((n + parts - 1) / parts, kGrain);
}

/// Every thread folds the rows of its shards.
template <class State, class Fold, class Prefetch>
SlotStates<State> fold_sharded(const RowSlots& slots, std::size_t threads, const State& initial, const Fold& fold,
                               const Prefetch& prefetch) {
  SlotStates<State> states(shard_bits(slots, threads));
  const auto shards = static_cast<std::int64_t>(states.shards().size());
  for_each_range(shards, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t shard = begin; shard < end; ++shard) {
      Vector<State>& mine = states.shards()[shard];
      mine.assign(static_cast<std::size_t>(shard_slots(slots, shard, states.shard_bits())), initial);
      visit_shard(
          slots, static_cast<std::uint32_t>(shard), states.shard_bits(),
          [&](std::uint32_t slot, std::int64_t i) { fold(mine[slot], i); }, prefetch);
    }
  });
  return states;
}

/// Every thread folds a range of the rows into states of its own, which are merged in the order of the ranges.
template <class State, class Fold, class Merge>
SlotStates<State> fold_ranges(const RowSlots& slots, std::size_t threads, const State& initial, const Fold& fold,
                              const Merge& merge) {
  const std::int64_t n = slots.rows();
  const std::int64_t grain = range_rows(n, threads);
  std::vector<Vector<State>> parts(static_cast<std::size_t>(std::max<std::int64_t>((n + grain - 1) / grain, 1)));
  parts.front().assign(static_cast<std::size_t>(slots.count()), initial);
  for_each_range(n, grain, [&](std::int64_t begin, std::int64_t end) {
    Vector<State>& part = parts[begin / grain];
    part.assign(static_cast<std::size_t>(slots.count()), initial);
    visit_range(slots, begin, end, [&](std::uint32_t slot, std::int64_t i) { fold(part[slot], i); });
  });
  for (std::size_t p = 1; p < parts.size(); ++p) {
    for (std::size_t s = 0; s < parts[p].size(); ++s) merge(parts.front()[s], parts[p][s]);
  }
  SlotStates<State> states(0);
  states.shards().front() = std::move(parts.front());
  return states;
}

}  // namespace slot_states

/// Folds all positions into the states of their slots: fold(state, position), in ascending order, from `initial` on.
/// The fold may be split into ranges of rows, whose states are put together by merge(state, state of the rows after):
/// that must give what a single fold gives. prefetch(position) may begin to load what fold reads.
template <class State, class Fold, class Merge, class Prefetch = NoPrefetch>
SlotStates<State> fold_slots(const RowSlots& slots, const State& initial, const Fold& fold, const Merge& merge,
                             const Prefetch& prefetch = {}) {
  const std::size_t threads = slot_states::threads_for(slots.rows());
  if (slot_states::keeps_ranges(slots, sizeof(State), slot_states::kPrivateBytes)) {
    return slot_states::fold_ranges(slots, threads, initial, fold, merge);
  }
  return slot_states::fold_sharded(slots, threads, initial, fold, prefetch);
}

/// The slots that have rows, in the order of their first rows.
struct SlotOrder {
  kernels::RawVector<std::int64_t> slots;
  kernels::RawVector<std::int64_t> first;  ///< per slot of the list: its first position; ascending

  explicit SlotOrder(std::int64_t count)
      : slots(static_cast<std::size_t>(count)), first(static_cast<std::size_t>(count)) {}
  std::int64_t count() const { return static_cast<std::int64_t>(slots.size()); }
};

/// Orders the groups of partitions.
SlotOrder order_slots(const HashPartitions& partitions);

/// Orders slots by their first positions, given by first(slot); -1 for slots without rows. No sort: first positions are
/// distinct, so their places are counted in a bitmap. Slots of partitions know their first positions.
template <class First>
SlotOrder order_slots(const RowSlots& slots, const First& first) {
  if (slots.partitions() != nullptr) return order_slots(*slots.partitions());
  constexpr std::int64_t kBits = 64;
  Vector<std::uint64_t> bits(static_cast<std::size_t>(slots.rows() / kBits + 1));
  const std::stop_token& stop = current_stop();
  for (std::int64_t slot = 0; slot < slots.count(); ++slot) {
    check_at(slot, stop);
    const std::int64_t at = first(slot);
    if (at >= 0) bits[at / kBits] |= std::uint64_t{1} << (at % kBits);
  }
  Vector<std::int64_t> before(bits.size());
  std::int64_t used = 0;
  for (std::size_t word = 0; word < bits.size(); ++word)
    before[word] = std::exchange(used, used + std::popcount(bits[word]));
  SlotOrder order(used);
  for_each_range(slots.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t slot = begin; slot < end; ++slot) {
      const std::int64_t at = first(slot);
      if (at < 0) continue;
      const std::uint64_t lower = bits[at / kBits] & ((std::uint64_t{1} << (at % kBits)) - 1);
      const std::int64_t place = before[at / kBits] + std::popcount(lower);
      order.slots[place] = slot;
      order.first[place] = at;
    }
  });
  return order;
}

}  // namespace skyrank::exec
