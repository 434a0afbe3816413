#include "engine/operators/rank/fused_stage.hpp"

#include <cstdint>
#include <utility>

#include "engine/keys/fused_keys.hpp"
#include "engine/operators/gather/gather_stage.hpp"
#include "engine/operators/rank/rank.hpp"
#include "engine/operators/rank/rank_plan.hpp"

namespace skyrank::exec {

std::optional<Result> rank_fused(Execution& execution, const Table& input) {
  const Operators& operators = execution.plan.operators;
  const auto path = planner::choose(*execution.plan.selection, execution.plan.constraints,
                                    with_memory_left(execution.plan.machine), execution.plan.sample.ranking);
  execution.record.of(operators.scan).rows = input.num_rows();
  Report report;
  Vector<RowId> rows = execution.timed(*operators.order, [&] {
    return rank_fused(execution.query(), input, path, fused_options(execution.plan), execution.context, report);
  });
  PathDescription described = describe_path(path);
  add_expressions(described, execution.plan.fused_seconds);
  execution.record.of(*operators.order).path = std::move(described);
  execution.book(*operators.order, report);
  execution.record.of(*operators.order).rows = static_cast<std::int64_t>(rows.size());
  const Candidates all{RowSet::all(input.num_rows()), one_segment(input.num_rows())};
  return gather(execution, {input}, all, std::move(rows));
}

}  // namespace skyrank::exec
