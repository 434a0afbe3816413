#include "engine/operators/missing/missing_stage.hpp"

#include "engine/operators/missing/missing.hpp"

namespace skyrank::exec {

RowSet apply_missing_rules(Execution& execution, const SourceTable& source, RowSet rows) {
  const query::BoundQuery& query = execution.query();
  if (!execution.plan.operators.missing) return rows;
  const Operator& op = *execution.plan.operators.missing;
  rows = execution.timed(op, [&] {
    return RowSet::listed(
        apply_missing_rules(value_expressions(query), source.table, rows.view(), query.nan_rule, query.null_rule));
  });
  execution.record.of(op).rows = rows.size();
  return rows;
}

}  // namespace skyrank::exec
