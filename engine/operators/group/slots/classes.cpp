#include "engine/operators/group/slots/classes.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "engine/operators/group/slots/slot_states.hpp"
#include "engine/runtime/device_values.hpp"
#include "engine/runtime/parallel.hpp"

namespace skyrank::exec {
namespace {

DataType evaluation_type(DataType type) {
  if (is_signed_integer(type.type)) return Type::int64;
  if (is_unsigned_integer(type.type)) return Type::uint64;
  if (is_floating(type.type)) return Type::float64;
  return type;
}

}  // namespace

query::BoundExpression column_expression(const Table& table, int column) {
  auto node = std::make_shared<query::BoundNode>();
  node->op = query::Op::column;
  node->type = evaluation_type(table.column(column).type());
  node->column = column;
  return {.root = node,
          .type = table.column(column).type(),
          .column = column,
          .text = table.column(column).name(),
          .location = {}};
}

namespace {

/// Writes the number of each position's slot.
void list_numbers(const RowSlots& slots, const SlotStates<std::int64_t>& numbers, std::int64_t* of) {
  for_each_range(slots.rows(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    slot_states::visit_range(slots, begin, end, [&](std::uint32_t slot, std::int64_t i) { of[i] = numbers[slot]; });
  });
}

void list_numbers(const HashPartitions& partitions, const std::vector<Vector<std::int64_t>>& numbers,
                  std::int64_t* of) {
  for_each_range(partitions.partitions(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      partitions.visit(p, [&](std::uint32_t group, std::int64_t i) { of[i] = numbers[p][group]; });
    }
  });
}

}  // namespace

Classes classify(const RowSlots& slots) {
  SlotStates<std::int64_t> numbers = fold_slots(
      slots, std::int64_t{-1}, [](std::int64_t& first, std::int64_t i) { first = first < 0 ? i : first; },
      [](std::int64_t& first, std::int64_t later) { first = first < 0 ? later : first; });
  const SlotOrder order = order_slots(slots, [&](std::int64_t slot) { return numbers[slot]; });
  for (std::int64_t c = 0; c < order.count(); ++c) numbers[order.slots[c]] = c;
  Classes result{Vector<std::int64_t>(static_cast<std::size_t>(slots.rows())),
                 Vector<std::int64_t>(order.first.begin(), order.first.end())};
  if (slots.partitions() != nullptr) {
    list_numbers(*slots.partitions(), numbers.shards(), result.of.data());
  } else {
    list_numbers(slots, numbers, result.of.data());
  }
  return result;
}

Classes classify(const Table& table, std::span<const int> columns, const Rows& rows, Numbering numbering) {
  return classify(slots_of(table, columns, rows, numbering));
}

Numbering choose_numbering(const Table& table, std::span<const int> columns, const Rows& sampled, std::int64_t n) {
  const bool are_close = RowSlots::of_values(table, columns, sampled, RowSlots::max_count(n)).has_value();
  return are_close ? Numbering::by_values : Numbering::by_hashing;
}

RowSlots slots_of(const Table& table, std::span<const int> columns, const Rows& rows, Numbering numbering) {
  for (const int column : columns) copy_to_host(table.column(column).data());
  if (numbering == Numbering::by_values) {
    if (auto slots = RowSlots::of_values(table, columns, rows)) return std::move(*slots);
  }
  const GroupKeys keys(table, columns, rows);
  if (auto few = number_few_groups(keys)) return RowSlots(std::move(*few));
  return RowSlots(keys);
}

}  // namespace skyrank::exec
