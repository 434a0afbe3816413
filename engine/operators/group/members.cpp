#include "engine/operators/group/members.hpp"

#include <array>
#include <cstddef>
#include <numeric>
#include <utility>

namespace skyrank::exec {
namespace {

/// Few slots have most of their rows in a row: counters that take turns do not wait for each other's increments.
struct Counters {
  std::int64_t first = -1;
  std::array<std::int64_t, 4> counts{};
};

constexpr std::int64_t kMaxFew = 1024;  // all counters fit an L1 cache

SlotStates<GroupMembers> find_members_of_few(const RowSlots& slots) {
  const auto counters = fold_slots(
      slots, Counters{},
      [](Counters& counted, std::int64_t i) {
        ++counted.counts[static_cast<std::size_t>(i) % counted.counts.size()];
        if (counted.first < 0) counted.first = i;
      },
      [](Counters& counted, const Counters& later) {
        if (counted.first < 0) counted.first = later.first;
        for (std::size_t i = 0; i < counted.counts.size(); ++i) counted.counts[i] += later.counts[i];
      });
  SlotShards<Vector<GroupMembers>> all;
  all.shards.emplace_back(static_cast<std::size_t>(slots.count()));
  for (std::int64_t slot = 0; slot < slots.count(); ++slot) {
    const auto& counts = counters[slot].counts;
    all.of(slot)[slot] = {counters[slot].first, std::accumulate(counts.begin(), counts.end(), std::int64_t{0})};
  }
  return SlotStates<GroupMembers>(std::move(all));
}

}  // namespace

SlotStates<GroupMembers> find_members(const RowSlots& slots) {
  if (slots.partitions() == nullptr && slots.count() <= kMaxFew) return find_members_of_few(slots);
  return fold_slots(
      slots, GroupMembers{},
      [](GroupMembers& members, std::int64_t i) {
        if (members.count++ == 0) members.first = i;
      },
      [](GroupMembers& members, const GroupMembers& later) {
        if (members.count == 0) members.first = later.first;
        members.count += later.count;
      });
}

SlotStates<std::int64_t> count_values(const RowSlots& slots, const Column& values) {
  return fold_slots(
      slots, std::int64_t{0}, [&](std::int64_t& count, std::int64_t i) { count += values.is_null(i) ? 0 : 1; },
      [](std::int64_t& count, std::int64_t more) { count += more; });
}

RowGroups find_groups(const Table& table, std::span<const int> columns, const Rows& rows, Numbering numbering) {
  RowSlots slots = slots_of(table, columns, rows, numbering);
  SlotStates<GroupMembers> members = find_members(slots);
  SlotOrder order = order_slots(slots, [&](std::int64_t slot) { return members[slot].first; });
  Vector<RowId> first_rows;
  first_rows.reserve(order.first.size());
  for (const std::int64_t position : order.first) first_rows.push_back(rows[position]);
  return {std::move(slots), std::move(members), std::move(order), std::move(first_rows)};
}

}  // namespace skyrank::exec
