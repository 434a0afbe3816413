#include "engine/operators/group.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/decimal.hpp"
#include "engine/operators/exact_sum.hpp"
#include "engine/operators/gather.hpp"
#include "engine/operators/groups/classes.hpp"
#include "engine/operators/groups/slot_states.hpp"
#include "engine/row_error.hpp"
#include "engine/runtime/ranges.hpp"

namespace skyrank::exec {
namespace {

__extension__ using Int128 = __int128;  // no sum of fewer than 2^63 values of 64 bits overflows it

/// The rows of a group.
struct Members {
  std::int64_t first = -1;
  std::int64_t count = 0;
};

SlotStates<Members> find_members(const RowSlots& slots) {
  return fold_slots(
      slots, Members{},
      [](Members& members, std::int64_t i) {
        if (members.count++ == 0) members.first = i;
      },
      [](Members& members, const Members& later) {
        if (members.count == 0) members.first = later.first;
        members.count += later.count;
      });
}

/// The input of an aggregation.
struct Input {
  const Table& table;
  const Rows& rows;
  const RowSlots& slots;
  const SlotOrder& groups;
  const SlotStates<Members>& members;
  const Vector<RowId>& first_rows;
};

/// Returns finish(state) for each group.
template <class State, class Finish>
auto for_groups(const Input& input, const SlotStates<State>& states, const Finish& finish) {
  Vector<std::decay_t<decltype(finish(states[0]))>> result(static_cast<std::size_t>(input.groups.count()));
  for_each_range(input.groups.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t g = begin; g < end; ++g) result[g] = finish(states[input.groups.slots[g]]);
  });
  return result;
}

/// One state a group: fold(state, position) over a group's positions in ascending order. A fold over ranges of them,
/// put together by merge(state, state of the next range), has to give the same.
template <class State, class Fold, class Merge>
Vector<State> reduce(const Input& input, const Fold& fold, const Merge& merge) {
  return for_groups(input, fold_slots(input.slots, State{}, fold, merge), [](const State& state) { return state; });
}

template <class T>
const T* values_of(const Column& column) {
  return static_cast<const T*>(column.data().values);
}

/// A column of values, which it copies.
template <class T>
Column owned(const std::string& name, const Vector<T>& values, const std::vector<bool>& valid = {}) {
  QueryMemory::hold(values.size() * sizeof(T));
  return Column::own(name, std::vector<T>(values.begin(), values.end()), valid);
}

Column count_rows(const Input& input, const query::BoundAggregate& aggregate) {
  return owned(aggregate.name, for_groups(input, input.members, [](const Members& members) { return members.count; }));
}

Column count_values(const Input& input, const query::BoundAggregate& aggregate, const Column& argument) {
  if (!argument.may_have_nulls()) return count_rows(input, aggregate);
  const auto counts = reduce<std::int64_t>(
      input, [&](std::int64_t& count, std::int64_t i) { count += argument.is_null(i) ? 0 : 1; },
      [](std::int64_t& count, std::int64_t more) { count += more; });
  return owned(aggregate.name, counts);
}

/// Sum and number of the values that are not NULL.
template <class Sum>
struct Total {
  Sum sum = 0;
  std::int64_t count = 0;
};

template <class T, class Sum>
Vector<Total<Sum>> total(const Input& input, const Column& argument) {
  const T* values = values_of<T>(argument);
  const auto fold = [&](Total<Sum>& t, std::int64_t i) {
    if (argument.is_null(i)) return;
    t.sum += static_cast<Sum>(values[i]);
    ++t.count;
  };
  const auto merge = [](Total<Sum>& t, const Total<Sum>& more) {
    t.sum += more.sum;
    t.count += more.count;
  };
  return reduce<Total<Sum>>(input, fold, merge);
}

/// finish(total, group) for groups that have values, NULL for the others.
template <class Out, class Sum, class Finish>
Column finish_totals(const std::string& name, const Vector<Total<Sum>>& totals, const Finish& finish) {
  Vector<Out> values;
  values.reserve(totals.size());
  QueryMemory::hold(totals.size() / 4 + 1);  // the flags here, and as bits of the column
  std::vector<bool> valid;
  valid.reserve(totals.size());
  for (std::size_t g = 0; g < totals.size(); ++g) {
    valid.push_back(totals[g].count > 0);
    values.push_back(totals[g].count > 0 ? finish(totals[g], g) : Out{});
  }
  return owned(name, values, valid);
}

template <class T>
Column sum_integers(const Input& input, const query::BoundAggregate& aggregate, const Column& argument) {
  return finish_totals<T>(aggregate.name, total<T, Int128>(input, argument),
                          [&](const Total<Int128>& t, std::size_t g) {
                            if (t.sum < std::numeric_limits<T>::min() || t.sum > std::numeric_limits<T>::max()) {
                              throw RowError("sum(" + aggregate.argument->text + ") overflows " +
                                                 to_string(DataType(type_of<T>())) + " in the group of row ",
                                             input.first_rows[g], "", aggregate.argument->location);
                            }
                            return static_cast<T>(t.sum);
                          });
}

Column sum_floats(const Input& input, const query::BoundAggregate& aggregate, const Column& argument) {
  return finish_totals<double>(aggregate.name, total<double, ExactSum>(input, argument),
                               [](const Total<ExactSum>& t, std::size_t) { return static_cast<double>(t.sum); });
}

/// Sum and number of the decimals that are not NULL.
struct DecimalTotal {
  WideSum sum;
  std::int64_t count = 0;
};

template <class T>
Vector<DecimalTotal> total_decimals(const Input& input, const Column& argument) {
  const T* values = values_of<T>(argument);
  return reduce<DecimalTotal>(
      input,
      [&](DecimalTotal& t, std::int64_t i) {
        if (argument.is_null(i)) return;
        t.sum += Int128{values[i]};
        ++t.count;
      },
      [](DecimalTotal& t, const DecimalTotal& more) {
        t.sum += more.sum;
        t.count += more.count;
      });
}

Vector<DecimalTotal> total_decimals(const Input& input, const Column& argument) {
  return argument.type().type == Type::decimal64 ? total_decimals<std::int64_t>(input, argument)
                                                 : total_decimals<Int128>(input, argument);
}

Column sum_decimals(const Input& input, const query::BoundAggregate& aggregate, const Column& argument) {
  const Vector<DecimalTotal> totals = total_decimals(input, argument);
  QueryMemory::hold(totals.size() * sizeof(Int128) + totals.size() / 4 + 1);
  std::vector<Int128> values;
  std::vector<bool> valid;
  const Int128 limit = power_of_ten(kMaxDigits128 - 1) * 10;
  for (std::size_t g = 0; g < totals.size(); ++g) {
    const std::optional<Int128> sum = totals[g].sum.value();
    if (!sum || *sum <= -limit || *sum >= limit) {
      throw RowError(
          "sum(" + aggregate.argument->text + ") overflows " + to_string(aggregate.type) + " in the group of row ",
          input.first_rows[g], "", aggregate.argument->location);
    }
    values.push_back(*sum);
    valid.push_back(totals[g].count > 0);
  }
  return Column::own_as(aggregate.name, aggregate.type, std::move(values), valid);
}

Column average_decimals(const Input& input, const query::BoundAggregate& aggregate, const Column& argument) {
  const Vector<DecimalTotal> totals = total_decimals(input, argument);
  QueryMemory::hold(totals.size() / 4 + 1);
  Vector<double> values;
  std::vector<bool> valid;
  for (const DecimalTotal& total : totals) {
    values.push_back(total.count > 0 ? total.sum.average(total.count, argument.type().scale) : 0);
    valid.push_back(total.count > 0);
  }
  return owned(aggregate.name, values, valid);
}

template <class T, class Sum>
Column average(const Input& input, const query::BoundAggregate& aggregate, const Column& argument) {
  return finish_totals<double>(aggregate.name, total<T, Sum>(input, argument), [](const Total<Sum>& t, std::size_t) {
    return static_cast<double>(t.sum) / static_cast<double>(t.count);
  });
}

bool is_nan(double value) { return std::isnan(value); }
template <class T>
bool is_nan(T) {
  return false;
}

/// The value nearest to the sought end, taken from the first row that has it. NaN only where there is nothing else.
template <class T>
Column extreme_of(const Input& input, const query::BoundAggregate& aggregate, const Column& argument) {
  const T* values = values_of<T>(argument);
  const bool highest = aggregate.function == Aggregate::Function::max;
  const auto better = [&](T a, T b) { return is_nan(b) ? !is_nan(a) : (highest ? a > b : a < b); };
  struct Best {
    std::int64_t position = -1;
  };
  const auto offer = [&](Best& best, std::int64_t i) {
    if (best.position < 0 || better(values[i], values[best.position])) best.position = i;
  };
  const Vector<Best> best = reduce<Best>(
      input,
      [&](Best& b, std::int64_t i) {
        if (!argument.is_null(i)) offer(b, i);
      },
      [&](Best& b, const Best& other) {
        if (other.position >= 0) offer(b, other.position);
      });
  const bool plain = aggregate.argument->column >= 0;
  Vector<RowId> from;
  from.reserve(best.size());
  for (const Best& b : best) from.push_back(b.position >= 0 && plain ? input.rows[b.position] : b.position);
  return gather(plain ? input.table.column(aggregate.argument->column) : argument, from, aggregate.name);
}

Column extreme(const Input& input, const query::BoundAggregate& aggregate, const Column& argument) {
  switch (argument.type().type) {
    case Type::boolean: return extreme_of<std::uint8_t>(input, aggregate, argument);
    case Type::date: return extreme_of<std::int32_t>(input, aggregate, argument);
    case Type::uint64: return extreme_of<std::uint64_t>(input, aggregate, argument);
    case Type::decimal128: return extreme_of<Int128>(input, aggregate, argument);
    case Type::float64: return extreme_of<double>(input, aggregate, argument);
    default: return extreme_of<std::int64_t>(input, aggregate, argument);  // int64, decimal64 and timestamps
  }
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
    case Type::uint64: return average<std::uint64_t, Int128>(input, aggregate, argument);
    case Type::float64: return average<double, ExactSum>(input, aggregate, argument);
    case Type::decimal64:
    case Type::decimal128: return average_decimals(input, aggregate, argument);
    default: return average<std::int64_t, Int128>(input, aggregate, argument);
  }
}

Column aggregate_column(const Input& input, const query::BoundAggregate& aggregate) {
  if (!aggregate.argument) return count_rows(input, aggregate);
  const Column argument = evaluate_all(*aggregate.argument, input.table, input.rows, aggregate.name);
  switch (aggregate.function) {
    case Aggregate::Function::count: return count_values(input, aggregate, argument);
    case Aggregate::Function::sum: return sum(input, aggregate, argument);
    case Aggregate::Function::avg: return avg(input, aggregate, argument);
    case Aggregate::Function::min:
    case Aggregate::Function::max: break;
  }
  return extreme(input, aggregate, argument);
}

}  // namespace

Grouped group(const query::BoundGroup& group, const Table& table, const Rows& rows, Numbering numbering) {
  const RowSlots slots = slots_of(table, group.columns, rows, numbering);
  const SlotStates<Members> members = find_members(slots);
  const SlotOrder groups = order_slots(slots, [&](std::int64_t slot) { return members[slot].first; });
  Vector<RowId> first_rows;
  first_rows.reserve(groups.first.size());
  for (const std::int64_t position : groups.first) first_rows.push_back(rows[position]);
  const Input input{table, rows, slots, groups, members, first_rows};
  std::vector<Column> columns;
  for (const int index : group.columns) {
    columns.push_back(gather(table.column(index), first_rows, table.column(index).name()));
  }
  for (const query::BoundAggregate& aggregate : group.aggregates) {
    columns.push_back(aggregate_column(input, aggregate));
  }
  return {Table(std::move(columns)), std::move(first_rows)};
}

}  // namespace skyrank::exec
