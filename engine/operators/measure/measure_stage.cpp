#include "engine/operators/measure/measure_stage.hpp"

#include <utility>

#include <optional>
#include <vector>

#include "engine/operators/measure/measures.hpp"

namespace skyrank::exec {

Candidates measure(Execution& execution, const SourceTable& source, const ChosenFrom& from, Candidates candidates) {
  const std::optional<Operator>& op = execution.plan.operators.measure;
  if (!op) return candidates;
  Report report;
  report.rows = candidates.rows.size();
  candidates.measures = timed(execution, execution.timing.compute_ms, *op, [&] {
    Measurer measurer(execution.query(), source.table, from, candidates, execution.plan.counts_on_device,
                      execution.context);
    std::vector<Column> columns;
    for (const query::BoundMeasure& one : execution.query().measures) columns.push_back(measurer.column(one));
    report.work = measurer.work();
    return columns;
  });
  book(execution, *op, report);
  return candidates;
}

}  // namespace skyrank::exec
