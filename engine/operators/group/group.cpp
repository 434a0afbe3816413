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

/// The input of an aggregation.
struct Input {
  const Table& table;
  const Rows& rows;
  const RowGroups& groups;
  std::map<std::string, std::shared_ptr<void>>& totals;  ///< by argument: its totals, for a sum and an average of it
};

/// Returns finish(state, group) for each group, in memory that a column can take over, and counts it. Throws what
/// finish throws for the first of the groups.
template <class State, class Finish>
auto finish_groups(const Input& input, const SlotStates<State>& states, const Finish& finish) {
  using Out = std::decay_t<decltype(finish(states[0], std::int64_t{0}))>;
  const auto groups = static_cast<std::size_t>(input.groups.order.count());
  QueryMemory::hold(groups * sizeof(Out));
  auto result = in_large_pages(groups, Out{});
  for_chunks(input.groups.order.count(), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t g = begin; g < end; ++g) {
      result[static_cast<std::size_t>(g)] = finish(states[input.groups.order.slots[g]], g);
    }
  });
  return result;
}

/// Returns which groups have values; nothing where all have, because the argument has no NULLs.
template <class State>
std::vector<bool> find_valid(const Input& input, const Column& argument, const SlotStates<State>& states) {
  std::vector<bool> valid;
  if (!argument.may_have_nulls()) return valid;
  const auto groups = static_cast<std::size_t>(input.groups.order.count());
  QueryMemory::hold(groups / 4 + 1);  // the flags here, and as bits of the column
  valid.reserve(groups);
  for (const std::int64_t slot : input.groups.order.slots) valid.push_back(states[slot].count > 0);
  return valid;
}

Column count_rows(const Input& input, const query::BoundAggregate& aggregate) {
  return Column::own(aggregate.name,
                     finish_groups(input, input.groups.members,
                                   [](const GroupMembers& members, std::int64_t) { return members.count; }));
}

Column count_values(const Input& input, const query::BoundAggregate& aggregate, const Column& argument) {
  if (!argument.may_have_nulls()) return count_rows(input, aggregate);
  const auto counts = count_values(input.groups.slots, argument);
  return Column::own(aggregate.name,
                     finish_groups(input, counts, [](std::int64_t count, std::int64_t) { return count; }));
}

/// Returns the total of each slot, made once for each argument, whose type decides on T and Sum.
template <class T, class Sum>
const SlotStates<Total<Sum>>& total(const Input& input, const query::BoundAggregate& aggregate,
                                    const Column& argument) {
  std::shared_ptr<void>& made = input.totals[aggregate.argument->text];
  if (made == nullptr) {
    made = std::make_shared<SlotStates<Total<Sum>>>(fold_totals<T, Sum>(input.groups.slots, argument));
  }
  return *static_cast<const SlotStates<Total<Sum>>*>(made.get());
}

/// Returns sums or averages.
Column finish_totals(const Input& input, const query::BoundAggregate& aggregate, const Column& argument) {
  return with_summed_type<Int128>(argument.type(), [&]<class T, class Sum>(T, Sum) {
    const auto& totals = total<T, Sum>(input, aggregate, argument);
    return with_finish<T, Sum>(aggregate, [&](const auto& finish) {
      auto values = finish_groups(input, totals, [&](const Total<Sum>& one, std::int64_t g) {
        return one.count > 0 ? finish(one, input.groups.first_rows[g]) : 0;
      });
      return Column::own_as(aggregate.name, aggregate.type, std::move(values), find_valid(input, argument, totals));
    });
  });
}

/// The value nearest to the sought end, taken from the first row that has it. NaN only where there is nothing else.
Column extreme(const Input& input, const query::BoundAggregate& aggregate) {
  const query::BoundExpression& expression = *aggregate.argument;
  const Column argument = comparable_values(expression, input.table, input.rows, aggregate.name);
  std::vector<RowId> from =
      find_extremes(input.groups.slots, input.groups.order, argument, aggregate.function == Aggregate::Function::max);
  if (expression.column < 0) return gather(argument, from, aggregate.name);
  for (RowId& row : from) row = row >= 0 ? input.rows[row] : row;
  return gather(input.table.column(expression.column), from, aggregate.name);
}

Column aggregate_column(const Input& input, const query::BoundAggregate& aggregate) {
  if (!aggregate.argument) return count_rows(input, aggregate);
  switch (aggregate.function) {
    case Aggregate::Function::count:
      return count_values(input, aggregate, argument_of(aggregate, input.table, input.rows));
    case Aggregate::Function::sum:
    case Aggregate::Function::avg:
      return finish_totals(input, aggregate, argument_of(aggregate, input.table, input.rows));
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

RowError sum_overflow(const query::BoundAggregate& aggregate, RowId row) {
  return {"sum(" + aggregate.argument->text + ") overflows " + to_string(aggregate.type) + " in the group of row ", row,
          "", aggregate.argument->location};
}

Grouped group(const query::BoundGroup& group, const Table& table, const Rows& rows, Numbering numbering) {
  RowGroups groups = find_groups(table, group.columns, rows, numbering);
  std::map<std::string, std::shared_ptr<void>> totals;
  const Input input{table, rows, groups, totals};
  std::vector<Column> columns;
  for (const int index : group.columns) {
    columns.push_back(gather(table.column(index), groups.first_rows, table.column(index).name()));
  }
  for (const query::BoundAggregate& aggregate : group.aggregates) {
    columns.push_back(aggregate_column(input, aggregate));
  }
  if (group.columns.empty() && groups.first_rows.empty()) {
    return {group_without_rows(group, Table(std::move(columns))), Vector<RowId>{kNoRow}, groups.slots.describe()};
  }
  return {Table(std::move(columns)), std::move(groups.first_rows), groups.slots.describe()};
}

}  // namespace skyrank::exec
