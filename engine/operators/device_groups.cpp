#include "engine/operators/device_groups.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/device/resident.hpp"
#include "engine/expression/load.hpp"
#include "engine/operators/device_partitions.hpp"
#include "engine/operators/gather.hpp"
#include "engine/runtime/query_memory.hpp"
#include "engine/runtime/stop.hpp"
#include "kernels/common/key_recipe.hpp"
#include "kernels/cuda/groups/aggregate.hpp"

namespace skyrank::exec {
namespace {

__extension__ using Int128 = __int128;
__extension__ using Unsigned128 = unsigned __int128;
using Function = Aggregate::Function;
using kernels::cuda::groups::IntegerTotal;

/// Returns true if values are stored as integers that are ordered as they are.
bool is_stored_as_integer(Type type) {
  return is_integer(type) || type == Type::date || type == Type::timestamp || type == Type::decimal64;
}

Int128 sum_of(const IntegerTotal& total) {
  return static_cast<Int128>(Unsigned128{total.sum_high} << 64 | total.sum_low);
}

/// Groups in the order of their first rows, and the totals of the columns that aggregates name.
class DeviceGroups {
 public:
  DeviceGroups(DeviceQueryState& device_state, const Table& table, const RowSet& rows, DevicePartitions partitions)
      : device_state_(device_state), table_(table), rows_(rows), partitions_(std::move(partitions)) {
    const auto& groups = partitions_.rows();
    Vector<std::int64_t> first;
    first.reserve(groups.by_first.size());
    for (const std::int64_t group : groups.by_first) first.push_back(groups.first[group]);
    first_rows_ = rows.is_all() ? std::move(first) : rows.at(first);
  }

  const Vector<RowId>& first_rows() const { return first_rows_; }

  Column aggregate(const query::BoundAggregate& aggregate) {
    if (!aggregate.argument) return count_rows(aggregate.name);
    const Column& argument = table_.column(aggregate.argument->column);
    const Vector<IntegerTotal>& totals = totals_of(aggregate.argument->column);
    switch (aggregate.function) {
      case Function::count:
        return Column::own(aggregate.name, finished(totals, [](const IntegerTotal& total, std::int64_t) {
                             return static_cast<std::int64_t>(total.count);
                           }));
      case Function::sum:
        return aggregate.type.type == Type::uint64 ? sum<std::uint64_t>(aggregate, argument, totals)
                                                   : sum<std::int64_t>(aggregate, argument, totals);
      case Function::avg: return average(aggregate, argument, totals);
      case Function::min:
      case Function::max: break;
    }
    return extreme(aggregate, argument, totals);
  }

 private:
  /// Returns finish(total, group) for each group, in memory that a column can take over, and counts it.
  template <class Finish>
  auto finished(const Vector<IntegerTotal>& totals, const Finish& finish) const
      -> std::vector<decltype(finish(IntegerTotal(), std::int64_t{0}))> {
    const auto& order = partitions_.rows().by_first;
    using Out = decltype(finish(IntegerTotal(), std::int64_t{0}));
    QueryMemory::hold(order.size() * sizeof(Out));
    std::vector<Out> result;
    result.reserve(order.size());
    const std::stop_token& stop = current_stop();
    for (std::size_t g = 0; g < order.size(); ++g) {
      check_at(static_cast<std::int64_t>(g), stop);
      result.push_back(finish(totals[order[g]], static_cast<std::int64_t>(g)));
    }
    return result;
  }

  /// Returns which groups have values; nothing where all have, because the column has no NULLs.
  std::vector<bool> valid(const Column& argument, const Vector<IntegerTotal>& totals) const {
    std::vector<bool> flags;
    if (!argument.may_have_nulls()) return flags;
    const auto& order = partitions_.rows().by_first;
    QueryMemory::hold(order.size() / 4 + 1);
    flags.reserve(order.size());
    for (const std::int64_t group : order) flags.push_back(totals[group].count > 0);
    return flags;
  }

  Column count_rows(const std::string& name) const {
    const auto& groups = partitions_.rows();
    QueryMemory::hold(groups.by_first.size() * sizeof(std::int64_t));
    std::vector<std::int64_t> counts;
    counts.reserve(groups.by_first.size());
    for (const std::int64_t group : groups.by_first) counts.push_back(groups.bounds[group + 1] - groups.bounds[group]);
    return Column::own(name, std::move(counts));
  }

  template <class T>
  Column sum(const query::BoundAggregate& aggregate, const Column& argument, const Vector<IntegerTotal>& totals) const {
    auto sums = finished(totals, [&](const IntegerTotal& total, std::int64_t g) {
      const Int128 value = sum_of(total);
      if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) {
        throw sum_overflow(aggregate, DataType(type_of<T>()), first_rows_[g]);
      }
      return static_cast<T>(value);
    });
    return Column::own(aggregate.name, std::move(sums), valid(argument, totals));
  }

  Column average(const query::BoundAggregate& aggregate, const Column& argument,
                 const Vector<IntegerTotal>& totals) const {
    auto averages = finished(totals, [](const IntegerTotal& total, std::int64_t) {
      return total.count > 0 ? static_cast<double>(sum_of(total)) / static_cast<double>(total.count) : 0.0;
    });
    return Column::own(aggregate.name, std::move(averages), valid(argument, totals));
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
        return Column::own_as(aggregate.name, argument.type(), std::move(values), valid(argument, totals));
      }
    });
  }

  const Vector<IntegerTotal>& totals_of(int column) {
    const auto [at, is_new] = totals_.try_emplace(column);
    if (is_new) {
      at->second = kernels::cuda::groups::total_integers(device_state_.column(table_.column(column).data()),
                                                         device_state_.rows(rows_), partitions_.rows());
    }
    return at->second;
  }

  DeviceQueryState& device_state_;
  const Table& table_;
  const RowSet& rows_;
  DevicePartitions partitions_;
  Vector<RowId> first_rows_;
  std::map<int, Vector<IntegerTotal>> totals_;  // by column
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

std::optional<Grouped> group_on_device(DeviceQueryState& device_state, const query::BoundGroup& group,
                                       const Table& table, const RowSet& rows) {
  auto partitions = DevicePartitions::of(device_state, table, group.columns, rows);
  if (!partitions) return std::nullopt;
  DeviceGroups groups(device_state, table, rows, std::move(*partitions));
  std::vector<Column> columns;
  for (const int index : group.columns) {
    columns.push_back(gather(table.column(index), groups.first_rows(), table.column(index).name()));
  }
  for (const query::BoundAggregate& aggregate : group.aggregates) columns.push_back(groups.aggregate(aggregate));
  return Grouped{Table(std::move(columns)), groups.first_rows(), kSortedOnDevice};
}

}  // namespace skyrank::exec
