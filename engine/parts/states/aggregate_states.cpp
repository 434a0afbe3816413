#include "engine/parts/states/aggregate_states.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/column_traits.hpp"
#include "engine/decimal.hpp"
#include "engine/device/resident.hpp"
#include "engine/operators/gather/gather.hpp"
#include "engine/operators/group/extremes.hpp"
#include "engine/operators/group/growing_aggregate.hpp"
#include "engine/operators/group/members.hpp"
#include "engine/operators/group/slots/classes.hpp"
#include "engine/operators/group/totals.hpp"
#include "engine/row_error.hpp"
#include "engine/runtime/device_values.hpp"
#include "engine/runtime/stored_values.hpp"

namespace skyrank::exec {
namespace {

using query::BoundAggregate;
using Function = Aggregate::Function;

/// More values than a table has; sums of so many stay within the words of theirs.
constexpr std::int64_t kMaxCount = std::int64_t{1} << 60;

[[noreturn]] void fail(const std::string& why) { throw DataError("partial answer: " + why); }

// -------------------------------------------------------------------------------------------------------------- sums

std::string text_of(const WideSum& sum) { return hex_of(sum.words()); }
std::string text_of(const ExactSum& sum) { return sum.text(); }

void read_sum(std::string_view text, std::int64_t count, std::optional<WideSum>& sum) {
  std::array<std::uint64_t, 3> words{};
  if (!read_hex(text, words)) return;
  std::array<std::uint64_t, 3> magnitude{};
  read_hex(text.starts_with('-') ? text.substr(1) : text, magnitude);
  // No value has more than 127 bits and a sign.
  const std::uint64_t beyond = (magnitude[2] << 1) | (magnitude[1] >> 63);
  if (magnitude[2] >> 62 == 0 && beyond <= static_cast<std::uint64_t>(count)) sum = WideSum::of_words(words);
}

void read_sum(std::string_view text, std::int64_t, std::optional<ExactSum>& sum) { sum = ExactSum::parse(text); }

template <class T>
const T* values_of(const Column& column) {
  return static_cast<const T*>(column.data().values);
}

// ----------------------------------------------------------------------------------------------------------- layout

/// Names and places of the columns of states.
class StateLayout {
 public:
  /// `columns` are those before the states.
  StateLayout(const query::BoundGroup& group, const std::vector<Column>& columns) : size_(columns.size()) {
    const auto is_taken = [&] {
      return std::ranges::any_of(columns, [&](const Column& c) { return c.name().starts_with(prefix_ + "."); });
    };
    while (is_taken()) prefix_ += '_';
    for (const BoundAggregate& aggregate : group.aggregates) {
      first_.push_back(size_);
      size_ += aggregate.function == Function::count ? 1 : 2;
    }
  }

  std::string name(std::size_t aggregate, const std::string& what) const {
    return prefix_ + "." + std::to_string(aggregate) + "." + what;
  }
  /// Returns the place of an aggregate's first column.
  std::size_t first(std::size_t aggregate) const { return first_[aggregate]; }
  std::size_t size() const { return size_; }

 private:
  std::string prefix_ = "state";
  std::vector<std::size_t> first_;
  std::size_t size_;
};

/// The extreme of a group: the row that has it, as a number that orders rows and as a position in the column.
struct Extreme {
  RowId row = -1;
  std::int64_t position = -1;
};

std::vector<Column> count_column(const std::string& name, std::vector<std::int64_t> counts) {
  return {Column::own(name, std::move(counts))};
}

template <class Sum>
std::vector<Column> total_columns(const StateLayout& layout, std::size_t a, const Vector<Total<Sum>>& totals) {
  std::vector<std::int64_t> counts;
  std::vector<std::string> sums;
  std::size_t characters = 0;
  QueryMemory::hold(totals.size() * (sizeof(std::int64_t) + sizeof(std::string)));
  for (const Total<Sum>& total : totals) {
    counts.push_back(total.count);
    sums.push_back(text_of(total.sum));
    characters += sums.back().size();
  }
  QueryMemory::hold(characters);
  return {Column::own(layout.name(a, "count"), std::move(counts)), Column::own(layout.name(a, "sum"), sums)};
}

/// `values` are those of the extremes' positions.
std::vector<Column> extreme_columns(const StateLayout& layout, std::size_t a, const Vector<Extreme>& extremes,
                                    const Column& values) {
  std::vector<RowId> rows;
  std::vector<bool> valid;
  for (const Extreme& extreme : extremes) {
    rows.push_back(std::max<RowId>(extreme.row, 0));
    valid.push_back(extreme.row >= 0);
  }
  return {Column::own(layout.name(a, "row"), std::move(rows), valid), values.renamed(layout.name(a, "value"))};
}

/// Appends the states of all aggregates: those of one are make(its place). A sum and an average of the same values have
/// the same state, which is made once.
template <class Make>
void append_states(const query::BoundGroup& group, const StateLayout& layout, std::vector<Column>& columns,
                   const Make& make) {
  const std::vector<BoundAggregate>& all = group.aggregates;
  for (std::size_t a = 0; a < all.size(); ++a) {
    const auto is_same = [&](const BoundAggregate& other) { return share_states(all[a], other); };
    const auto same = static_cast<std::size_t>(std::ranges::find_if(all, is_same) - all.begin());
    if (same < a) {
      columns.push_back(columns[layout.first(same)].renamed(layout.name(a, "count")));
      columns.push_back(columns[layout.first(same) + 1].renamed(layout.name(a, "sum")));
      continue;
    }
    for (Column& column : make(a)) columns.push_back(std::move(column));
  }
}

// ------------------------------------------------------------------------------------------------------ from the rows

/// The rows of a part, and the group of each.
struct Grouping {
  const Table& part;
  const Rows& rows;
  const RowGroups groups;
  RowId first_row;
};

/// Returns the states of the groups' slots, in the order of the groups.
template <class State>
Vector<State> in_order(const Grouping& grouping, const SlotStates<State>& states) {
  Vector<State> ordered;
  ordered.reserve(grouping.groups.first_rows.size());
  for (const std::int64_t slot : grouping.groups.order.slots) ordered.push_back(states[slot]);
  return ordered;
}

std::vector<std::int64_t> counts_of(const Grouping& grouping) {
  std::vector<std::int64_t> counts;
  counts.reserve(grouping.groups.first_rows.size());
  for (const std::int64_t slot : grouping.groups.order.slots) counts.push_back(grouping.groups.members[slot].count);
  return counts;
}

std::vector<std::int64_t> counts_of(const Grouping& grouping, const Column& argument) {
  if (!argument.may_have_nulls()) return counts_of(grouping);
  const Vector<std::int64_t> ordered = in_order(grouping, count_values(grouping.groups.slots, argument));
  return {ordered.begin(), ordered.end()};
}

bool is_nan(double value) { return std::isnan(value); }
template <class T>
bool is_nan(T) {
  return false;
}

/// Returns the extremes of values(i), the value of row(i) in group(i), for all rows that have one.
template <class Value, class Better, class Group, class Row>
Vector<Extreme> extremes_of(const Column& argument, const Value& value, const Better& better, std::size_t groups,
                            const Group& group, const Row& row) {
  Vector<Extreme> extremes(groups);
  for (std::int64_t i = 0; i < argument.size(); ++i) {
    if (argument.is_null(i)) continue;
    Extreme& best = extremes[group(i)];
    const bool is_first = best.position < 0;
    const bool wins = is_first || better(value(i), value(best.position)) ||
                      (row(i) < best.row && !better(value(best.position), value(i)));
    if (wins) best = {row(i), i};
  }
  return extremes;
}

std::vector<Column> extreme_columns(const Grouping& grouping, const BoundAggregate& aggregate,
                                    const StateLayout& layout, std::size_t a) {
  const query::BoundExpression& expression = *aggregate.argument;
  const Column argument = comparable_values(expression, grouping.part, grouping.rows, aggregate.name);
  const bool plain = expression.column >= 0;
  Vector<Extreme> extremes;
  std::vector<RowId> from;
  for (const std::int64_t position :
       find_extremes(grouping.groups.slots, grouping.groups.order, argument, aggregate.function == Function::max)) {
    const RowId row = position >= 0 ? grouping.rows[position] : -1;
    extremes.push_back({position >= 0 ? grouping.first_row + row : -1, position});
    from.push_back(plain ? row : position);
  }
  const Column& values = plain ? grouping.part.column(expression.column) : argument;
  return extreme_columns(layout, a, extremes, gather(values, from, argument.name()));
}

std::vector<Column> states_of(const Grouping& grouping, const BoundAggregate& aggregate, const StateLayout& layout,
                              std::size_t a) {
  if (!aggregate.argument) return count_column(layout.name(a, "count"), counts_of(grouping));
  const auto argument = [&] { return argument_of(aggregate, grouping.part, grouping.rows); };
  switch (aggregate.function) {
    case Function::count: return count_column(layout.name(a, "count"), counts_of(grouping, argument()));
    case Function::min:
    case Function::max: return extreme_columns(grouping, aggregate, layout, a);
    case Function::sum:
    case Function::avg: break;
  }
  const Column values = argument();
  return with_summed_type(values.type(), [&]<class T, class Sum>(T, Sum) {
    return total_columns(layout, a, in_order(grouping, fold_totals<T, Sum>(grouping.groups.slots, values)));
  });
}

// ---------------------------------------------------------------------------------------------------- from the states

/// The columns of states, which are checked against the query.
class States {
 public:
  States(const query::BoundQuery& query, const Table& table)
      : group_(*query.group), table_(table), layout_(group_, read_columns(query, table)) {
    if (static_cast<std::size_t>(table.num_columns()) != layout_.size()) {
      fail("it has " + std::to_string(table.num_columns()) + " columns where the groups of its query need " +
           std::to_string(layout_.size()));
    }
    for (std::size_t a = 0; a < group_.aggregates.size(); ++a) check(a);
  }

  const StateLayout& layout() const { return layout_; }
  const Column& column(std::size_t aggregate, std::size_t place) const {
    return table_.columns()[layout_.first(aggregate) + place];
  }

  std::int64_t count(std::size_t aggregate, std::int64_t i) const {
    const Column& counts = column(aggregate, 0);
    const std::int64_t count = values_of<std::int64_t>(counts)[i];
    if (counts.is_null(i) || count < 0 || count > kMaxCount) {
      fail("'" + counts.name() + "' in row " + std::to_string(i) + " must be a number from 0 to 2^60");
    }
    return count;
  }

  template <class Sum>
  Total<Sum> total(std::size_t aggregate, std::int64_t i) const {
    Total<Sum> total;
    total.count = count(aggregate, i);
    const Column& sums = column(aggregate, 1);
    std::optional<Sum> sum;
    if (!sums.is_null(i)) read_sum(sums.data().string_at(i), total.count, sum);
    if (!sum)
      fail("'" + sums.name() + "' in row " + std::to_string(i) + " is no sum of " + std::to_string(total.count) +
           " values");
    total.sum = std::move(*sum);
    return total;
  }

  /// Returns the evaluation type of an aggregate's argument.
  DataType argument_type(std::size_t aggregate) const { return group_.aggregates[aggregate].argument->root->type; }

 private:
  static std::vector<Column> read_columns(const query::BoundQuery& query, const Table& table) {
    const std::vector<int> read = columns_read(query);
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (read[i] != static_cast<int>(i)) fail("the columns that its query reads must come first, without others");
    }
    return {table.columns().begin(), table.columns().begin() + static_cast<std::ptrdiff_t>(read.size())};
  }

  void check(std::size_t a) const {
    const BoundAggregate& aggregate = group_.aggregates[a];
    switch (aggregate.function) {
      case Function::count: return check(a, 0, "count", Type::int64);
      case Function::sum:
      case Function::avg: check(a, 0, "count", Type::int64); return check(a, 1, "sum", Type::string);
      case Function::min:
      case Function::max: check(a, 0, "row", Type::int64); return check(a, 1, "value", aggregate.type);
    }
  }

  void check(std::size_t a, std::size_t place, const std::string& what, DataType type) const {
    const Column& found = column(a, place);
    if (found.name() == layout_.name(a, what) && found.type() == type) return;
    fail("it has the column '" + found.name() + "' (" + to_string(found.type()) +
         ") where the groups of its query need '" + layout_.name(a, what) + "' (" + to_string(type) + ")");
  }

  const query::BoundGroup& group_;
  const Table& table_;
  StateLayout layout_;
};

/// Returns the sum of two counts from 0 to kMaxCount.
std::int64_t sum_of_counts(std::int64_t a, std::int64_t b) {
  if (a + b > kMaxCount) fail("its groups have more than 2^60 values");
  return a + b;
}

std::vector<Column> merged_counts(const States& states, const Classes& classes, std::size_t a) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(classes.count()));
  for (std::size_t i = 0; i < classes.of.size(); ++i) {
    std::int64_t& count = counts[static_cast<std::size_t>(classes.of[i])];
    count = sum_of_counts(count, states.count(a, static_cast<std::int64_t>(i)));
  }
  return count_column(states.layout().name(a, "count"), std::move(counts));
}

template <class Sum>
std::vector<Column> merged_totals(const States& states, const Classes& classes, std::size_t a) {
  Vector<Total<Sum>> totals(static_cast<std::size_t>(classes.count()));
  for (std::size_t i = 0; i < classes.of.size(); ++i) {
    Total<Sum>& total = totals[static_cast<std::size_t>(classes.of[i])];
    const Total<Sum> more = states.total<Sum>(a, static_cast<std::int64_t>(i));
    total.count = sum_of_counts(total.count, more.count);
    total.sum += more.sum;
  }
  return total_columns(states.layout(), a, totals);
}

std::vector<Column> merged_extremes(const States& states, const Classes& classes, const StateRows& parts,
                                    const BoundAggregate& aggregate, std::size_t a) {
  const Table& table = parts.columns;
  const Column& rows = states.column(a, 0);
  const Column& values = states.column(a, 1);
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const bool is_before = !rows.is_null(i) && values_of<RowId>(rows)[i] < parts.rows[static_cast<std::size_t>(i)];
    if (rows.is_null(i) != values.is_null(i) || is_before) {
      fail("'" + rows.name() + "' in row " + std::to_string(i) + " must be a row of the group where '" + values.name() +
           "' has a value, and NULL elsewhere");
    }
  }
  const bool highest = aggregate.function == Function::max;
  const auto best_of = [&](const Column& loaded, const auto& value, const auto& better) {
    return extremes_of(
        loaded, value, better, static_cast<std::size_t>(classes.count()),
        [&](std::int64_t i) { return static_cast<std::size_t>(classes.of[i]); },
        [&](std::int64_t i) { return values_of<RowId>(rows)[i]; });
  };
  Vector<Extreme> extremes;
  if (values.type().type == Type::string) {
    const auto order = order_of(values.data());
    const auto text = [&](std::int64_t i) { return values.data().string_at(i); };
    extremes = best_of(values, text, [&](std::string_view a, std::string_view b) {
      return highest ? comes_before(order.get(), b, a) : comes_before(order.get(), a, b);
    });
  } else {
    const Column loaded = evaluate_all(column_expression(table, *table.find(values.name())), table,
                                       Rows{table.num_rows(), nullptr}, values.name());
    extremes = with_stored_type(loaded.type().type, [&]<class T>(T) -> Vector<Extreme> {
      if constexpr (std::is_same_v<T, Float16>) {
        return {};  // evaluated as float64
      } else {
        const T* const numbers = values_of<T>(loaded);
        return best_of(
            loaded, [&](std::int64_t i) { return numbers[i]; },
            [&](T a, T b) { return is_nan(b) ? !is_nan(a) : (highest ? a > b : a < b); });
      }
    });
  }
  std::vector<RowId> from;
  for (const Extreme& extreme : extremes) from.push_back(extreme.position);
  return extreme_columns(states.layout(), a, extremes, gather(values, from, values.name()));
}

std::vector<Column> merged_states(const States& states, const Classes& classes, const StateRows& parts,
                                  const BoundAggregate& aggregate, std::size_t a) {
  switch (aggregate.function) {
    case Function::count: return merged_counts(states, classes, a);
    case Function::min:
    case Function::max: return merged_extremes(states, classes, parts, aggregate, a);
    case Function::sum:
    case Function::avg: break;
  }
  return with_summed_type(states.argument_type(a),
                          [&]<class T, class Sum>(T, Sum) { return merged_totals<Sum>(states, classes, a); });
}

// ------------------------------------------------------------------------------------------------------- the answers

Column finished_column(const States& states, std::size_t a, const BoundAggregate& aggregate,
                       const std::vector<RowId>& first_rows) {
  switch (aggregate.function) {
    case Function::count: return states.column(a, 0).renamed(aggregate.name);
    case Function::min:
    case Function::max: return states.column(a, 1).renamed(aggregate.name);
    case Function::sum:
    case Function::avg: break;
  }
  return with_summed_type(states.argument_type(a), [&]<class T, class Sum>(T, Sum) {
    return with_finish<T, Sum>(aggregate, [&](const auto& finish) {
      std::vector<decltype(finish(Total<Sum>(), RowId{0}))> values(first_rows.size());
      std::vector<bool> valid(first_rows.size());
      for (std::size_t g = 0; g < first_rows.size(); ++g) {
        const Total<Sum> total = states.total<Sum>(a, static_cast<std::int64_t>(g));
        valid[g] = total.count > 0;
        if (valid[g]) values[g] = finish(total, first_rows[g]);
      }
      return Column::own_as(aggregate.name, aggregate.type, std::move(values), valid);
    });
  });
}

}  // namespace

StateRows group_states(const query::BoundQuery& query, const Table& part, const Rows& rows, RowId first_row) {
  for (const int column : columns_of_groups(*query.group)) copy_to_host(part.column(column).data());
  const Grouping grouping{part, rows, find_groups(part, query.group->columns, rows), first_row};
  StateRows states;
  std::vector<Column> columns = gather(chosen_columns(part, columns_read(query)), grouping.groups.first_rows).columns();
  const StateLayout layout(*query.group, columns);
  append_states(*query.group, layout, columns,
                [&](std::size_t a) { return states_of(grouping, query.group->aggregates[a], layout, a); });
  for (const RowId row : grouping.groups.first_rows) states.rows.push_back(first_row + row);
  states.columns = Table(std::move(columns));
  return states;
}

StateRows merge_states(const query::BoundQuery& query, const StateRows& parts) {
  const Table& table = parts.columns;
  const States states(query, table);
  const Classes classes = classify(table, query.group->columns, Rows{table.num_rows(), nullptr});
  const std::vector<RowId> first(classes.first.begin(), classes.first.end());
  std::vector<Column> columns;
  for (std::size_t c = 0; c < columns_read(query).size(); ++c) {
    columns.push_back(gather(table.columns()[c], first, table.columns()[c].name()));
  }
  append_states(*query.group, states.layout(), columns,
                [&](std::size_t a) { return merged_states(states, classes, parts, query.group->aggregates[a], a); });
  StateRows merged;
  for (const RowId position : first) merged.rows.push_back(parts.rows[static_cast<std::size_t>(position)]);
  merged.columns = Table(std::move(columns));
  return merged;
}

namespace {

/// Returns the columns of states with the row of each extreme at place(its column, its row).
template <class Place>
Table with_extremes_at(const query::BoundQuery& query, const Table& columns, const Place& place) {
  const States states(query, columns);
  std::vector<Column> moved = columns.columns();
  for (std::size_t a = 0; a < query.group->aggregates.size(); ++a) {
    const Function function = query.group->aggregates[a].function;
    if (function != Function::min && function != Function::max) continue;
    Column& rows = moved[states.layout().first(a)];
    std::vector<RowId> positions;
    std::vector<bool> valid;
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      positions.push_back(rows.is_null(i) ? 0 : place(rows, values_of<RowId>(rows)[i]));
      valid.push_back(!rows.is_null(i));
    }
    rows = Column::own(rows.name(), std::move(positions), valid);
  }
  return Table(std::move(moved));
}

}  // namespace

Table moved_states(const query::BoundQuery& query, const Table& columns, RowId by) {
  return with_extremes_at(query, columns, [&](const Column& rows, RowId row) {
    if (row > std::numeric_limits<RowId>::max() - by) {
      fail("'" + rows.name() + "' has row " + std::to_string(row) + ", which cannot move by " + std::to_string(by));
    }
    return row + by;
  });
}

Table placed_states(const query::BoundQuery& query, const Table& columns, std::span<const RowId> places) {
  return with_extremes_at(query, columns,
                          [&](const Column&, RowId row) { return places[static_cast<std::size_t>(row)]; });
}

Table finish_states(const query::BoundQuery& query, const StateRows& groups) {
  const States states(query, groups.columns);
  std::vector<Column> columns;
  for (const int index : query.group->columns) columns.push_back(groups.columns.column(index));
  for (std::size_t a = 0; a < query.group->aggregates.size(); ++a) {
    columns.push_back(finished_column(states, a, query.group->aggregates[a], groups.rows));
  }
  return Table(std::move(columns));
}

}  // namespace skyrank::exec
