#include "engine/operators/group/device_groups.hpp"

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/column_traits.hpp"
#include "engine/device/resident.hpp"
#include "engine/expression/load.hpp"
#include "engine/operators/gather/gather.hpp"
#include "engine/operators/group/totals.hpp"
#include "engine/operators/partition/device_partitions.hpp"
#include "engine/operators/window.hpp"
#include "engine/runtime/query_memory.hpp"
#include "engine/stop.hpp"
#include "kernels/common/keys/key_recipe.hpp"
#include "kernels/cuda/groups/aggregate.hpp"
#include "kernels/cuda/groups/best_groups.hpp"

namespace skyrank::exec {
namespace {

using Function = Aggregate::Function;
using kernels::cuda::groups::IntegerTotal;
namespace groups = kernels::cuda::groups;

/// Returns true if values are stored as integers that are ordered as they are.
bool is_stored_as_integer(Type type) {
  return is_integer(type) || type == Type::date || type == Type::timestamp || type == Type::decimal64;
}

Int128 sum_of(const IntegerTotal& total) { return static_cast<Int128>(UInt128{total.sum_high} << 64 | total.sum_low); }

/// Groups of rows that lie sorted by their codes, and the totals of the columns that aggregates name.
class DeviceGroups {
 public:
  DeviceGroups(DeviceQueryState& device_state, const Table& table, const RowSet& rows, const Keys& codes)
      : device_state_(device_state),
        table_(table),
        rows_(rows),
        sorted_(groups::sort_rows(codes.column, static_cast<std::size_t>(rows.size()))),
        list_(groups::all_groups(sorted_)) {}

  /// Leaves groups out that cannot be among the best, unless some sum overflows: the first such group is to be named.
  void keep_best(const query::BoundGroup& group, const BestGroups& best) {
    for (const query::BoundAggregate& aggregate : group.aggregates) {
      if (aggregate.function != Function::sum) continue;
      const bool with_sign = aggregate.type.type != Type::uint64;
      if (!groups::sums_fit(totals_there(aggregate.argument->column), with_sign)) return;
    }
    const query::BoundAggregate& aggregate = group.aggregates[static_cast<std::size_t>(best.aggregate)];
    groups::GroupValue value;
    value.kind = kind_of(aggregate);
    value.high = best.high;
    value.nulls_first = best.nulls_first;
    value.with_sign = aggregate.type.type != Type::uint64;
    if (aggregate.argument) {
      value.totals = static_cast<const IntegerTotal*>(totals_there(aggregate.argument->column).data());
    }
    list_ = groups::best_groups(sorted_, value, static_cast<std::size_t>(best.k));
  }

  /// Copies the ids of the groups' first rows to the host, ascending. The group columns are gathered at these rows.
  const Vector<RowId>& find_first_rows() {
    Vector<std::int64_t> first = groups::first_places(sorted_, list_);
    first_rows_ = rows_.is_all() ? std::move(first) : rows_.at(first);
    return first_rows_;
  }

  std::int64_t all() const { return static_cast<std::int64_t>(sorted_.count); }

  Column aggregate(const query::BoundAggregate& aggregate) {
    if (!aggregate.argument) return count_rows(aggregate.name);
    const Column& argument = table_.column(aggregate.argument->column);
    const Vector<IntegerTotal> totals = groups::totals_of(totals_there(aggregate.argument->column), list_);
    switch (aggregate.function) {
      case Function::count:
        return Column::own(aggregate.name, finished(totals, [](const IntegerTotal& total, std::int64_t) {
                             return static_cast<std::int64_t>(total.count);
                           }));
      case Function::sum:
      case Function::avg:
        return aggregate.argument->root->type == Type::uint64 ? finish<std::uint64_t>(aggregate, argument, totals)
                                                              : finish<std::int64_t>(aggregate, argument, totals);
      case Function::min:
      case Function::max: break;
    }
    return extreme(aggregate, argument, totals);
  }

 private:
  static groups::GroupValue::Kind kind_of(const query::BoundAggregate& aggregate) {
    using Kind = groups::GroupValue::Kind;
    switch (aggregate.function) {
      case Function::sum: return Kind::sum;
      case Function::min: return Kind::lowest;
      case Function::max: return Kind::highest;
      case Function::count:
      case Function::avg: break;
    }
    return aggregate.argument ? Kind::count : Kind::rows;
  }

  /// Returns finish(total, group) for each group, in memory that a column can take over, and counts it.
  template <class Finish>
  auto finished(const Vector<IntegerTotal>& totals, const Finish& finish) const
      -> std::vector<decltype(finish(IntegerTotal(), std::int64_t{0}))> {
    using Out = decltype(finish(IntegerTotal(), std::int64_t{0}));
    QueryMemory::hold(totals.size() * sizeof(Out));
    std::vector<Out> result;
    result.reserve(totals.size());
    const std::stop_token& stop = current_stop();
    for (std::size_t g = 0; g < totals.size(); ++g) {
      check_at(static_cast<std::int64_t>(g), stop);
      result.push_back(finish(totals[g], static_cast<std::int64_t>(g)));
    }
    return result;
  }

  /// Returns which groups have values; nothing where all have, because the column has no NULLs.
  static std::vector<bool> valid(const Column& argument, const Vector<IntegerTotal>& totals) {
    std::vector<bool> flags;
    if (!argument.may_have_nulls()) return flags;
    QueryMemory::hold(totals.size() / 4 + 1);
    flags.reserve(totals.size());
    for (const IntegerTotal& total : totals) flags.push_back(total.count > 0);
    return flags;
  }

  Column count_rows(const std::string& name) const {
    const Vector<std::int64_t> sizes = groups::sizes(sorted_, list_);
    QueryMemory::hold(sizes.size() * sizeof(std::int64_t));
    return Column::own(name, std::vector<std::int64_t>(sizes.begin(), sizes.end()));
  }

  template <class T>
  Column finish(const query::BoundAggregate& aggregate, const Column& argument,
                const Vector<IntegerTotal>& totals) const {
    return with_finish<T, Int128>(aggregate, [&](const auto& value_of) {
      auto values = finished(totals, [&](const IntegerTotal& total, std::int64_t g) {
        const Total<Int128> exact{sum_of(total), static_cast<std::int64_t>(total.count)};
        return total.count > 0 ? value_of(exact, first_rows_[g]) : 0;
      });
      return Column::own_as(aggregate.name, aggregate.type, std::move(values), valid(argument, totals));
    });
  }

  Column extreme(const query::BoundAggregate& aggregate, const Column& argument,
                 const Vector<IntegerTotal>& totals) const {
    return with_stored_type(argument.type().type, [&]<class T>(T) -> Column {
      if constexpr (!std::is_integral_v<T> || sizeof(T) > sizeof(std::uint64_t)) {
        throw std::logic_error("extremes of values that are no integers");
      } else {
        auto values = finished(totals, [&](const IntegerTotal& total, std::int64_t) {
          const std::uint64_t value = aggregate.function == Function::max ? total.highest : total.lowest;
          return static_cast<T>(total.count > 0 ? kernels::ordered(value, std::is_signed_v<T>) : std::uint64_t{0});
        });
        const Column extremes =
            Column::own_as(aggregate.name, argument.type(), std::move(values), valid(argument, totals));
        return with_traits(extremes, traits_of(argument.data()));
      }
    });
  }

  const kernels::cuda::DeviceArray& totals_there(int column) {
    const auto [at, is_new] = totals_.try_emplace(column);
    if (is_new) {
      at->second = groups::total_integers(device_state_.column(table_.column(column).data()), device_state_.rows(rows_),
                                          sorted_);
    }
    return at->second;
  }

  DeviceQueryState& device_state_;
  const Table& table_;
  const RowSet& rows_;
  groups::SortedRows sorted_;
  groups::GroupList list_;  // the groups that are copied to the host
  Vector<RowId> first_rows_;
  std::map<int, kernels::cuda::DeviceArray> totals_;  // by column
};

}  // namespace

bool can_aggregate_on_device(const query::BoundAggregate& aggregate, const Table& table) {
  if (!aggregate.argument) return true;
  if (aggregate.argument->column < 0) return false;
  const ColumnData& column = table.column(aggregate.argument->column).data();
  if (!ResidentColumn::is_possible(column)) return false;
  switch (aggregate.function) {
    case Function::count: return true;
    case Function::sum:
    case Function::avg: return is_integer(column.type.type);
    case Function::min:
    case Function::max: break;
  }
  return is_stored_as_integer(column.type.type);
}

std::optional<BestGroups> best_groups_of(const query::BoundQuery& query) {
  if (!query.group || query.ranking.empty() || !query.limit || *query.limit == 0) return std::nullopt;
  if (query.preference || query.having || !query.partition_columns.empty()) return std::nullopt;
  // An algorithm that the query names is to rank all groups.
  if (!query.path.algorithms.empty()) return std::nullopt;
  if (query::drops_or_refuses(query.nan_rule) || query::drops_or_refuses(query.null_rule)) return std::nullopt;
  const query::BoundRankTerm& first = query.ranking.front();
  const int aggregate = first.expression.column - static_cast<int>(query.group->columns.size());
  if (aggregate < 0) return std::nullopt;
  if (query.group->aggregates[static_cast<std::size_t>(aggregate)].function == Function::avg) return std::nullopt;
  const std::int64_t k = window_of(query).end(std::numeric_limits<std::int64_t>::max());
  return BestGroups{aggregate, first.high, first.nulls_first, k};
}

std::optional<Grouped> group_on_device(DeviceQueryState& device_state, const query::BoundGroup& group,
                                       const Table& table, const RowSet& rows, const std::optional<BestGroups>& best) {
  auto codes = codes_on_device(device_state, table, group.columns, rows);
  if (!codes) return std::nullopt;
  DeviceGroups made(device_state, table, rows, *codes);
  codes.reset();  // totals need the room
  if (best) made.keep_best(group, *best);
  const Vector<RowId>& first_rows = made.find_first_rows();
  std::vector<Column> columns;
  for (const int index : group.columns) {
    columns.push_back(gather(table.column(index), first_rows, table.column(index).name()));
  }
  for (const query::BoundAggregate& aggregate : group.aggregates) columns.push_back(made.aggregate(aggregate));
  Grouped grouped{Table(std::move(columns)), first_rows, kSortedOnDevice, made.all()};
  const std::int64_t kept = grouped.table.num_rows();
  if (kept < made.all()) grouped.numbering += ": " + std::to_string(kept) + " groups that can be among the best";
  return grouped;
}

}  // namespace skyrank::exec
