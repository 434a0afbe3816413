#include "engine/operators/filter/filter_stage.hpp"

#include <utility>

#include "engine/expression/evaluate.hpp"
#include "engine/operators/filter/filter.hpp"

namespace skyrank::exec {
namespace {

/// Returns the rows that pass a condition. The filter runs on the device if the query's keys are made there.
RowSet passing(Execution& execution, const query::BoundExpression& condition, const Table& input, const RowSet& all) {
  if (execution.device_state) return filter(*execution.device_state, condition, input, all);
  return RowSet::listed(filter(condition, input, all.view()));
}

}  // namespace

RowSet filter_rows(Execution& execution, const Table& input) {
  RowSet all = RowSet::all(input.num_rows());
  execution.record.of(execution.plan.operators.scan).rows = input.num_rows();
  if (!execution.query().condition || execution.plan.operators.filter_last) return all;
  const Operator& op = *execution.plan.operators.filter;
  RowSet rows = execution.timed(op, [&] { return passing(execution, *execution.query().condition, input, all); });
  execution.record.of(op).rows = rows.size();
  return rows;
}

RowSet filter_groups(Execution& execution, const SourceTable& source, RowSet groups) {
  if (!execution.plan.operators.having) return groups;
  const Operator& op = *execution.plan.operators.having;
  groups = execution.timed(
      op, [&] { return RowSet::listed(filter(*execution.query().having, source.table, groups.view())); });
  execution.record.of(op).rows = groups.size();
  return groups;
}

Candidates filter_last(Execution& execution, const SourceTable& source, Candidates candidates) {
  if (!execution.plan.operators.filter_last) return candidates;
  const Operator& op = *execution.plan.operators.filter;
  RowSet rows = execution.timed(op, [&] {
    const query::BoundExpression& condition = *execution.query().condition;
    if (candidates.rows.has_device_ids()) return passing(execution, condition, source.table, candidates.rows);
    return RowSet::listed(filter(condition, source.table, candidates.rows.view()));
  });
  execution.record.of(op).rows = rows.size();
  const std::int64_t n = rows.size();
  return {std::move(rows), one_segment(n)};
}

}  // namespace skyrank::exec
