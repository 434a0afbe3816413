#include "engine/operators/group/group_stage.hpp"

#include <utility>

#include "engine/device/resident.hpp"
#include "engine/operators/group/device_groups.hpp"
#include "engine/operators/group/group.hpp"
#include "engine/operators/try_on_device.hpp"

namespace skyrank::exec {
namespace {

Grouped make_groups(Execution& execution, const Table& input, const RowSet& rows) {
  const query::BoundGroup& columns = *execution.query().group;
  if (execution.plan.device_groups) {
    const auto best = best_groups_of(execution.query());
    const auto make = [&] { return group_on_device(*execution.device(), columns, input, rows, best); };
    if (auto grouped = try_on_device(execution, input, columns_of_groups(columns), Rule::device_groups, make)) {
      return std::move(*grouped);
    }
  }
  return group(columns, input, rows.view(), execution.plan.numbering);
}

}  // namespace

SourceTable group_rows(Execution& execution, const Table& input, RowSet& rows) {
  if (!execution.query().group) return {input};
  const Operator& op = *execution.plan.operators.group;
  Grouped grouped = execution.timed(op, [&] { return make_groups(execution, input, rows); });
  rows = RowSet::all(grouped.table.num_rows());
  execution.record.of(op).rows = grouped.num_groups.value_or(rows.size());
  execution.record.of(op).note = grouped.numbering;
  return {std::move(grouped.table), std::move(grouped.first_rows), true};
}

}  // namespace skyrank::exec
