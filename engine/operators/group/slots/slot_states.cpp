#include "engine/operators/group/slots/slot_states.hpp"

#include <array>

namespace skyrank::exec {
namespace {

constexpr std::int64_t kBits = 64;

/// Writes the groups that begin in a range of the rows, in order of their first rows, from `place` on.
void order_range(const HashPartitions& partitions, std::int64_t range, std::int64_t place, SlotOrder& order) {
  std::array<std::uint64_t, HashPartitions::kRangeRows / kBits> bits = {};
  std::array<std::int64_t, HashPartitions::kRangeRows / kBits> places;
  const std::int64_t begin = range * HashPartitions::kRangeRows;
  partitions.visit_groups_of_range(range, [&](std::int64_t, std::int64_t, std::int64_t first) {
    bits[(first - begin) / kBits] |= std::uint64_t{1} << (first % kBits);
  });
  for (std::size_t word = 0; word < bits.size(); ++word) {
    places[word] = place;
    place += std::popcount(bits[word]);
  }
  partitions.visit_groups_of_range(range, [&](std::int64_t partition, std::int64_t group, std::int64_t first) {
    const std::int64_t word = (first - begin) / kBits;
    const std::uint64_t lower = bits[word] & ((std::uint64_t{1} << (first % kBits)) - 1);
    const std::int64_t to = places[word] + std::popcount(lower);
    order.slots[to] = group << partitions.bits() | partition;
    order.first[to] = first;
  });
}

}  // namespace

SlotOrder order_slots(const HashPartitions& partitions) {
  Vector<std::int64_t> places;
  std::int64_t count = 0;
  for (std::int64_t range = 0; range < partitions.ranges(); ++range) {
    places.push_back(count);
    count += partitions.groups_of_range(range);
  }
  SlotOrder order(count);
  for_each_range(partitions.ranges(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t range = begin; range < end; ++range) order_range(partitions, range, places[range], order);
  });
  return order;
}

}  // namespace skyrank::exec
