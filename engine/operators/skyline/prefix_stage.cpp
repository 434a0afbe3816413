#include "engine/operators/skyline/prefix_stage.hpp"

#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "engine/operators/gather/gather_stage.hpp"
#include "engine/operators/rank/rank_plan.hpp"
#include "engine/operators/rank/rank_stage.hpp"
#include "engine/operators/skyline/skyline_plan.hpp"
#include "engine/operators/skyline/skyline_prefix.hpp"
#include "engine/operators/skyline/skyline_stage.hpp"
#include "engine/operators/window.hpp"

namespace skyrank::exec {
namespace {

/// Finds the rows that the skyline's first ones must be among, by the ranking. Nothing where scores are not comparable.
std::optional<SkylinePrefix> find_candidates(Execution& execution, const Table& input) {
  const PhysicalPlan& plan = execution.plan;
  const Operator& prefix = *plan.operators.skyline_prefix;
  const auto path = planner::choose(*plan.selection, plan.constraints, with_memory_left(plan.machine),
                                    skyline_prefix_statistics(plan));
  Report report;
  auto found = execution.timed(prefix, [&] {
    return find_skyline_prefix(execution.query(), input, *plan.selection, path, fused_options(plan), execution.context,
                               report);
  });
  execution.record.of(prefix).path = describe_path(path);
  execution.book(prefix, report);
  if (found) execution.record.of(prefix).rows = std::ssize(found->rows);
  return found;
}

}  // namespace

std::optional<Result> rank_skyline_prefix(Execution& execution, const Table& input) {
  const PhysicalPlan& plan = execution.plan;
  RuleLog& rules = execution.record.rules;
  execution.record.of(plan.operators.scan).rows = input.num_rows();
  auto found = find_candidates(execution, input);
  if (!found) {
    rules.left_out(Rule::skyline_top_k, "did not help: scores are infinite, NaN or NULL");
    return std::nullopt;
  }
  // Statistics and keys of all rows are not those of the candidates.
  ExecutionContext of_candidates = execution.context;
  of_candidates.preference = skyline_of_prefix(plan, *plan.selection);
  const std::int64_t count = std::ssize(found->rows);
  const Candidates best =
      prefer(execution, {input}, RowSet::listed(std::move(found->rows)), one_segment(count), of_candidates, nullptr);
  if (found->all || best.rows.size() >= window_of(execution.query()).end(input.num_rows())) {
    return gather(execution, {input}, best, rank(execution, {input}, best));
  }
  rules.left_out(Rule::skyline_top_k, "did not help: of " + std::to_string(count) + " candidates " +
                                          std::to_string(best.rows.size()) + " are in the skyline");
  return std::nullopt;
}

}  // namespace skyrank::exec
