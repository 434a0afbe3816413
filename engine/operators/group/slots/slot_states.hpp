#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/operators/group/slots/row_slots.hpp"
#include "engine/runtime/parallel.hpp"
#include "engine/runtime/query_memory.hpp"
#include "engine/stop.hpp"
#include "kernels/cpu/parallel.hpp"

// One state for each slot of a row set, made in one pass over the slots by all threads: each sinks rows into a state of
// its own, and states of the same slots are combined. The result is the same for any number of threads.
namespace skyrank::exec {

/// States of all slots, in shards: slot s is the slot at(s) of a shard.
template <class State>
struct SlotShards {
  int bits = 0;
  std::vector<State> shards;

  const State& of(std::int64_t slot) const { return shards[shard_of(slot)]; }
  State& of(std::int64_t slot) { return shards[shard_of(slot)]; }
  std::int64_t at(std::int64_t slot) const { return slot >> bits; }

 private:
  std::size_t shard_of(std::int64_t slot) const { return static_cast<std::size_t>(slot) & (shards.size() - 1); }
};

namespace slot_states {

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

/// Every thread sinks the rows of its shards of the slots.
template <class Make, class Sink, class Prefetch>
auto sink_shards(const RowSlots& slots, std::size_t threads, const Make& make, const Sink& sink,
                 const Prefetch& prefetch) {
  SlotShards<decltype(make(std::int64_t{0}))> states;
  states.bits = shard_bits(slots, threads);
  const std::int64_t count = std::int64_t{1} << states.bits;
  states.shards.resize(static_cast<std::size_t>(count));
  for_each_range(count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t shard = begin; shard < end; ++shard) {
      auto& state = states.shards[shard];
      state = make(shard_slots(slots, shard, states.bits));
      visit_shard(
          slots, static_cast<std::uint32_t>(shard), states.bits,
          [&](std::uint32_t slot, std::int64_t i) { sink(state, slot, i); }, prefetch);
    }
  });
  return states;
}

/// Every thread sinks a range of the rows into a state of all slots; these are combined in the order of the ranges.
template <class Make, class Sink, class Combine>
auto sink_ranges(const RowSlots& slots, std::size_t threads, const Make& make, const Sink& sink,
                 const Combine& combine) {
  SlotShards<decltype(make(std::int64_t{0}))> states;
  const std::int64_t n = slots.rows();
  const auto parts = static_cast<std::int64_t>(threads);
  const std::int64_t grain = std::max((n + parts - 1) / parts, kGrain);
  states.shards.resize(static_cast<std::size_t>(std::max<std::int64_t>((n + grain - 1) / grain, 1)));
  states.shards.front() = make(slots.count());
  for_each_range(n, grain, [&](std::int64_t begin, std::int64_t end) {
    auto& state = states.shards[begin / grain];
    state = make(slots.count());
    visit_range(slots, begin, end, [&](std::uint32_t slot, std::int64_t i) { sink(state, slot, i); });
  });
  for (std::size_t range = 1; range < states.shards.size(); ++range) {
    combine(states.shards.front(), states.shards[range]);
  }
  states.shards.resize(1);
  return states;
}

}  // namespace slot_states

/// Bytes of states of one slot, and the most of all slots with which every thread has states of its own.
struct StateBytes {
  std::size_t of_slot = 0;
  std::size_t of_thread = 0;
};

/// Sinks all positions into states of their slots. make(n) makes the state of n slots, sink(state, slot, position)
/// takes the positions of a slot in ascending order, and combine(state, later) takes in a state of the same slots and
/// of positions after all that the first has seen. prefetch(position) may begin to load what sink reads.
template <class Make, class Sink, class Combine, class Prefetch = NoPrefetch>
auto sink_slots(const RowSlots& slots, const StateBytes& bytes, const Make& make, const Sink& sink,
                const Combine& combine, const Prefetch& prefetch = {}) {
  // More threads are not worth their start for few rows.
  const std::size_t threads = slots.rows() <= kGrain ? 1 : kernels::concurrency();
  if (slot_states::keeps_ranges(slots, bytes.of_slot, bytes.of_thread)) {
    return slot_states::sink_ranges(slots, threads, make, sink, combine);
  }
  return slot_states::sink_shards(slots, threads, make, sink, prefetch);
}

/// One value for each slot.
template <class State>
class SlotStates {
 public:
  explicit SlotStates(SlotShards<Vector<State>> shards) : shards_(std::move(shards)) {}

  const State& operator[](std::int64_t slot) const { return shards_.of(slot)[shards_.at(slot)]; }
  State& operator[](std::int64_t slot) { return shards_.of(slot)[shards_.at(slot)]; }

  const std::vector<Vector<State>>& shards() const { return shards_.shards; }

 private:
  SlotShards<Vector<State>> shards_;
};

/// Folds all positions into the states of their slots: fold(state, position), in ascending order, from `initial` on.
/// merge(state, later) puts a state and that of rows after its own together: that must give what a single fold gives.
template <class State, class Fold, class Merge, class Prefetch = NoPrefetch>
SlotStates<State> fold_slots(const RowSlots& slots, const State& initial, const Fold& fold, const Merge& merge,
                             const Prefetch& prefetch = {}) {
  constexpr std::size_t kPrivateBytes = std::size_t{1} << 18;  // fit the cache of a thread
  const auto make = [&](std::int64_t n) { return Vector<State>(static_cast<std::size_t>(n), initial); };
  const auto sink = [&](Vector<State>& states, std::uint32_t slot, std::int64_t i) { fold(states[slot], i); };
  const auto combine = [&](Vector<State>& states, const Vector<State>& later) {
    for (std::size_t slot = 0; slot < states.size(); ++slot) merge(states[slot], later[slot]);
  };
  return SlotStates<State>(sink_slots(slots, {sizeof(State), kPrivateBytes}, make, sink, combine, prefetch));
}

/// The slots that have rows, in the order of their first rows.
struct SlotOrder {
  RawVector<std::int64_t> slots;
  RawVector<std::int64_t> first;  ///< per slot of the list: its first position; ascending

  explicit SlotOrder(std::int64_t count)
      : slots(static_cast<std::size_t>(count)), first(static_cast<std::size_t>(count)) {}
  std::int64_t count() const { return static_cast<std::int64_t>(slots.size()); }
};

/// Orders the groups of partitions.
SlotOrder order_slots(const HashPartitions& partitions);

/// Orders `count` slots by their first positions among `rows`, given by first(slot); -1 for slots without rows. No
/// sort: first positions are distinct, so their places are counted in a bitmap.
template <class First>
SlotOrder order_slots(std::int64_t count, std::int64_t rows, const First& first) {
  constexpr std::int64_t kBits = 64;
  Vector<std::uint64_t> bits(static_cast<std::size_t>(rows / kBits + 1));
  const std::stop_token& stop = current_stop();
  for (std::int64_t slot = 0; slot < count; ++slot) {
    check_at(slot, stop);
    const std::int64_t at = first(slot);
    if (at >= 0) bits[at / kBits] |= std::uint64_t{1} << (at % kBits);
  }
  Vector<std::int64_t> before(bits.size());
  std::int64_t used = 0;
  for (std::size_t word = 0; word < bits.size(); ++word)
    before[word] = std::exchange(used, used + std::popcount(bits[word]));
  SlotOrder order(used);
  for_each_range(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
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

/// Orders the slots of a row set. Slots of partitions know their first positions.
template <class First>
SlotOrder order_slots(const RowSlots& slots, const First& first) {
  if (slots.partitions() != nullptr) return order_slots(*slots.partitions());
  return order_slots(slots.count(), slots.rows(), first);
}

}  // namespace skyrank::exec
