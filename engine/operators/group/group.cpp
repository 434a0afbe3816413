#include "engine/operators/group/group.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/decimal.hpp"
#include "engine/operators/gather/gather.hpp"
#include "engine/operators/group/extremes.hpp"
#include "engine/operators/group/members.hpp"
#include "engine/operators/group/slots/classes.hpp"
#include "engine/operators/group/slots/slot_states.hpp"
#include "engine/operators/group/totals.hpp"
#include "engine/runtime/large_pages.hpp"
#include "engine/runtime/parallel.hpp"

namespace skyrank::exec {
namespace {

__extension__ using Int128 = __int128;  // no sum of fewer than 2^63 values of 64 bits overflows it

/// The input of an aggregation.
struct Input {
  const Table& table;
  const Rows& rows;
  const RowSlots& slots;
  const SlotOrder& groups;
  const SlotStates<GroupMembers>& members;
  const Vector<RowId>& first_rows;
  std::map<std::string, std::shared_ptr<void>>& totals;  ///< by argument: its totals, for a sum and an average of it
};

/// Returns finish(state, group) for each group, in memory that a column can take over, and counts it. Throws what
/// finish throws for the first of the groups.
template <class State, class Finish>
auto finish_groups(const Input& input, const SlotStates<State>& states, const Finish& finish) {
  using Out = std::decay_t<decltype(finish(states[0], std::int64_t{0}))>;
  const auto groups = static_cast<std::size_t>(input.groups.count());
  QueryMemory::hold(groups * sizeof(Out));
  auto result = in_large_pages(groups, Out{});
  for_chunks(input.groups.count(), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t g = begin; g < end; ++g) {
      result[static_cast<std::size_t>(g)] = finish(states[input.groups.slots[g]], g);
    }
  });
  return result;
}

/// Returns which groups have values; nothing where all have, because the argument has no NULLs.
template <class State>
std::vector<bool> find_valid(const Input& input, const Column& argument, const SlotStates<State>& states) {
  std::vector<bool> valid;
  if (!argument.may_have_nulls()) return valid;
  const auto groups = static_cast<std::size_t>(input.groups.count());
  QueryMemory::hold(groups / 4 + 1);  // the flags here, and as bits of the column
  valid.reserve(groups);
  for (const std::int64_t slot : input.groups.slots) valid.push_back(states[slot].count > 0);
  return valid;
}

template <class T>
const T* values_of(const Column& column) {
  return static_cast<const T*>(column.data().values);
}

Column count_rows(const Input& input, const query::BoundAggregate& aggregate) {
  return Column::own(aggregate.name, finish_groups(input, input.members, [](const GroupMembers& members, std::int64_t) {
                       return members.count;
                     }));
}

Column count_values(const Input& input, const query::BoundAggregate& aggregate, const Column& argument) {
  if (!argument.may_have_nulls()) return count_rows(input, aggregate);
  const auto counts = fold_slots(
      input.slots, std::int64_t{0}, [&](std::int64_t& count, std::int64_t i) { count += argument.is_null(i) ? 0 : 1; },
      [](std::int64_t& count, std::int64_t more) { count += more; });
  return Column::own(aggregate.name,
                     finish_groups(input, counts, [](std::int64_t count, std::int64_t) { return count; }));
}

/// Returns the total of each slot, made once for each argument, whose type decides on `State`. `Value` is what values
/// are converted to before they are added.
template <class T, class Value, class State>
const SlotStates<State>& total(const Input& input, const query::BoundAggregate& aggregate, const Column& argument) {
  std::shared_ptr<void>& made = input.totals[aggregate.argument->text];
  if (made == nullptr) {
    const T* values = values_of<T>(argument);
    const auto fold = [&](State& t, std::int64_t i) {
      if (argument.is_null(i)) return;
      t.sum += static_cast<Value>(values[i]);
      ++t.count;
    };
    const auto merge = [](State& t, const State& more) { t += more; };
    made = std::make_shared<SlotStates<State>>(
        fold_slots(input.slots, State{}, fold, merge, [&](std::int64_t i) { __builtin_prefetch(values + i); }));
  }
  return *static_cast<const SlotStates<State>*>(made.get());
}

template <class T>
Column sum_integers(const Input& input, const query::BoundAggregate& aggregate, const Column& argument) {
  const auto& totals = total<T, Int128, Total<Int128>>(input, aggregate, argument);
  auto sums = finish_groups(input, totals, [&](const Total<Int128>& t, std::int64_t g) {
    if (t.sum < std::numeric_limits<T>::min() || t.sum > std::numeric_limits<T>::max()) {
      throw sum_overflow(aggregate, DataType(type_of<T>()), input.first_rows[g]);
    }
    return static_cast<T>(t.sum);
  });
  return Column::own(aggregate.name, std::move(sums), find_valid(input, argument, totals));
}

Column sum_floats(const Input& input, const query::BoundAggregate& aggregate, const Column& argument) {
  const auto& totals = total<double, double, Total<ExactSum>>(input, aggregate, argument);
  auto sums =
      finish_groups(input, totals, [](const Total<ExactSum>& t, std::int64_t) { return static_cast<double>(t.sum); });
  return Column::own(aggregate.name, std::move(sums), find_valid(input, argument, totals));
}

const SlotStates<Total<WideSum>>& total_decimals(const Input& input, const query::BoundAggregate& aggregate,
                                                 const Column& argument) {
  return argument.type().type == Type::decimal64
             ? total<std::int64_t, Int128, Total<WideSum>>(input, aggregate, argument)
             : total<Int128, Int128, Total<WideSum>>(input, aggregate, argument);
}

Column sum_decimals(const Input& input, const query::BoundAggregate& aggregate, const Column& argument) {
  const Int128 limit = power_of_ten(kMaxDigits128 - 1) * 10;
  const auto& totals = total_decimals(input, aggregate, argument);
  auto sums = finish_groups(input, totals, [&](const Total<WideSum>& t, std::int64_t g) {
    const std::optional<Int128> sum = t.sum.value();
    if (!sum || *sum <= -limit || *sum >= limit) {
      throw sum_overflow(aggregate, aggregate.type, input.first_rows[g]);
    }
    return *sum;
  });
  return Column::own_as(aggregate.name, aggregate.type, std::move(sums), find_valid(input, argument, totals));
}

Column average_decimals(const Input& input, const query::BoundAggregate& aggregate, const Column& argument) {
  const auto& totals = total_decimals(input, aggregate, argument);
  auto averages = finish_groups(input, totals, [&](const Total<WideSum>& t, std::int64_t) {
    return t.count > 0 ? t.sum.average(t.count, argument.type().scale) : 0;
  });
  return Column::own(aggregate.name, std::move(averages), find_valid(input, argument, totals));
}

template <class T, class Value, class Sum>
Column average(const Input& input, const query::BoundAggregate& aggregate, const Column& argument) {
  const auto& totals = total<T, Value, Total<Sum>>(input, aggregate, argument);
  auto averages = finish_groups(input, totals, [](const Total<Sum>& t, std::int64_t) {
    return t.count > 0 ? static_cast<double>(t.sum) / static_cast<double>(t.count) : 0;
  });
  return Column::own(aggregate.name, std::move(averages), find_valid(input, argument, totals));
}

/// The value nearest to the sought end, taken from the first row that has it. NaN only where there is nothing else.
Column extreme(const Input& input, const query::BoundAggregate& aggregate) {
  const query::BoundExpression& expression = *aggregate.argument;
  const Column argument = comparable_values(expression, input.table, input.rows, aggregate.name);
  std::vector<RowId> from =
      find_extremes(input.slots, input.groups, argument, aggregate.function == Aggregate::Function::max);
  if (expression.column < 0) return gather(argument, from, aggregate.name);
  for (RowId& row : from) row = row >= 0 ? input.rows[row] : row;
  return gather(input.table.column(expression.column), from, aggregate.name);
}

Column sum(const Input& input, const query::BoundAggregate& aggregate, const Column& argument) {
  switch (argument.type().type) {
    case Type::uint64: return sum_integers<std::uint64_t>(input, aggregate, argument);
    case Type::float64: return sum_floats(input, aggregate, argument);
    case Type::decimal64:
    case Type::decimal128: return sum_decimals(input, aggregate, argument);
    default: return sum_integers<std::int64_t>(input, aggregate, argument);
  }
}

Column avg(const Input& input, const query::BoundAggregate& aggregate, const Column& argument) {
  switch (argument.type().type) {
    case Type::uint64: return average<std::uint64_t, Int128, Int128>(input, aggregate, argument);
    case Type::float64: return average<double, double, ExactSum>(input, aggregate, argument);
    case Type::decimal64:
    case Type::decimal128: return average_decimals(input, aggregate, argument);
    default: return average<std::int64_t, Int128, Int128>(input, aggregate, argument);
  }
}

Column aggregate_column(const Input& input, const query::BoundAggregate& aggregate) {
  if (!aggregate.argument) return count_rows(input, aggregate);
  switch (aggregate.function) {
    case Aggregate::Function::count:
      return count_values(input, aggregate, argument_of(aggregate, input.table, input.rows));
    case Aggregate::Function::sum: return sum(input, aggregate, argument_of(aggregate, input.table, input.rows));
    case Aggregate::Function::avg: return avg(input, aggregate, argument_of(aggregate, input.table, input.rows));
    case Aggregate::Function::min:
    case Aggregate::Function::max: break;
  }
  return extreme(input, aggregate);
}

}  // namespace

Column argument_of(const query::BoundAggregate& aggregate, const Table& table, const Rows& rows) {
  const query::BoundExpression& argument = *aggregate.argument;
  if (argument.column >= 0 && rows.ids == nullptr) {
    const Column& column = table.column(argument.column);
    const ColumnData& data = column.data();
    const std::int64_t width = width_in_bytes(data.type.type);
    const bool is_array = data.layout == Layout::plain && data.stride == width &&
                          reinterpret_cast<std::uintptr_t>(data.values) % static_cast<std::uintptr_t>(width) == 0;
    if (is_array && data.type == argument.root->type && data.type.type != Type::boolean) return column;
  }
  return evaluate_all(argument, table, rows, aggregate.name);
}

Table group_without_rows(const query::BoundGroup& group, const Table& no_groups) {
  constexpr RowId kNull = -1;
  std::vector<Column> columns;
  for (std::size_t a = 0; a < group.aggregates.size(); ++a) {
    const query::BoundAggregate& aggregate = group.aggregates[a];
    columns.push_back(aggregate.function == Aggregate::Function::count
                          ? Column::own(aggregate.name, std::vector<std::int64_t>{0})
                          : gather(no_groups.column(static_cast<int>(a)), std::vector<RowId>{kNull}, aggregate.name));
  }
  return Table(std::move(columns));
}

RowError sum_overflow(const query::BoundAggregate& aggregate, DataType type, RowId row) {
  return {"sum(" + aggregate.argument->text + ") overflows " + to_string(type) + " in the group of row ", row, "",
          aggregate.argument->location};
}

Grouped group(const query::BoundGroup& group, const Table& table, const Rows& rows, Numbering numbering) {
  const RowSlots slots = slots_of(table, group.columns, rows, numbering);
  const SlotStates<GroupMembers> members = find_members(slots);
  const SlotOrder groups = order_slots(slots, [&](std::int64_t slot) { return members[slot].first; });
  Vector<RowId> first_rows;
  first_rows.reserve(groups.first.size());
  for (const std::int64_t position : groups.first) first_rows.push_back(rows[position]);
  std::map<std::string, std::shared_ptr<void>> totals;
  const Input input{table, rows, slots, groups, members, first_rows, totals};
  std::vector<Column> columns;
  for (const int index : group.columns) {
    columns.push_back(gather(table.column(index), first_rows, table.column(index).name()));
  }
  for (const query::BoundAggregate& aggregate : group.aggregates) {
    columns.push_back(aggregate_column(input, aggregate));
  }
  if (group.columns.empty() && first_rows.empty()) {
    return {group_without_rows(group, Table(std::move(columns))), Vector<RowId>{kNoRow}, slots.describe()};
  }
  return {Table(std::move(columns)), std::move(first_rows), slots.describe()};
}

}  // namespace skyrank::exec
