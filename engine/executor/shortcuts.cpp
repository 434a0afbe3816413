#include "engine/executor/shortcuts.hpp"

#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "engine/device/scan.hpp"
#include "engine/executor/skyline_stage.hpp"
#include "engine/executor/stages.hpp"
#include "engine/keys/fused_keys.hpp"
#include "engine/operators/rank.hpp"
#include "engine/operators/skyline/skyline_prefix.hpp"
#include "engine/plan/paths.hpp"

namespace skyrank::exec {

std::optional<Result> rank_fused(Execution& execution, const Table& input) {
  const Operators& operators = execution.plan.operators;
  const auto path = planner::choose(*execution.plan.selection, execution.plan.constraints,
                                    with_memory_left(execution.plan.machine), execution.plan.sample.ranking);
  execution.record.of(operators.scan).rows = input.num_rows();
  Report report;
  Vector<RowId> rows = timed(execution, execution.timing.compute_ms, *operators.order, [&] {
    return rank_fused(execution.query(), input, path, fused_options(execution.plan), execution.context, report);
  });
  execution.record.of(*operators.order).path = describe_path(path);
  book(execution, *operators.order, report);
  execution.record.of(*operators.order).rows = static_cast<std::int64_t>(rows.size());
  const Candidates all{RowSet::all(input.num_rows()), one_segment(input.num_rows())};
  return gather(execution, {input}, all, std::move(rows));
}

namespace {

/// Ranks rows by a scan of the columns, without keys in memory. Returns nothing where the scan cannot.
std::optional<Vector<RowId>> rank_in_one_pass(Execution& execution, const DeviceScan& scan, const Table& input) {
  const Operator& order = *execution.plan.operators.order;
  Report report;
  auto rows = timed(execution, execution.timing.compute_ms, order, [&] {
    return rank_scan(execution.query(), scan, input, execution.context, execution.record.of(order).path, report);
  });
  if (!rows) return std::nullopt;
  for (const auto* op : {&execution.plan.operators.filter, &execution.plan.operators.rank_keys}) {
    if (*op) execution.record.of(**op).note = "in one pass with the ranking";
  }
  book(execution, order, report);
  return rows;
}

}  // namespace

std::optional<Result> rank_scanned(Execution& execution, const Table& input) {
  const query::BoundQuery& query = execution.query();
  const std::int64_t n = input.num_rows();
  RuleLog& rules = execution.record.rules;
  rules.left_out(Rule::device_scan, "the query is more than what a scan of columns can do");
  const Operators& operators = execution.plan.operators;
  execution.record.of(operators.scan).rows = n;
  const auto scan = timed(execution, execution.timing.keys_ms, *operators.rank_keys,
                          [&] { return match_scan(*execution.device_state, query, input); });
  if (!scan.columns && !scan.computed) return std::nullopt;
  auto rows = rank_in_one_pass(execution, scan, input);
  if (!rows) return std::nullopt;
  rules.applied(Rule::device_scan, scan.columns ? "filter, score and ranking in one pass over the columns"
                                                : "filter, score and ranking in one pass of programs");
  execution.record.of(*operators.order).rows = static_cast<std::int64_t>(rows->size());
  const Candidates all{RowSet::all(n), one_segment(n)};
  return gather(execution, {input}, all, std::move(*rows));
}

namespace {

/// Finds the rows that the skyline's first ones must be among, by the ranking. Nothing where scores are not comparable.
std::optional<SkylinePrefix> find_candidates(Execution& execution, const Table& input) {
  const PhysicalPlan& plan = execution.plan;
  const Operator& prefix = *plan.operators.skyline_prefix;
  const auto path = planner::choose(*plan.selection, plan.constraints, with_memory_left(plan.machine),
                                    skyline_prefix_statistics(plan));
  Report report;
  auto found = timed(execution, execution.timing.compute_ms, prefix, [&] {
    return find_skyline_prefix(execution.query(), input, *plan.selection, path, fused_options(plan), execution.context,
                               report);
  });
  execution.record.of(prefix).path = describe_path(path);
  book(execution, prefix, report);
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
  const auto statistics = std::exchange(execution.context.preference, skyline_of_prefix(plan, *plan.selection));
  const auto share = std::exchange(execution.share, {});
  const std::int64_t count = std::ssize(found->rows);
  const Candidates best = prefer(execution, {input}, RowSet::listed(std::move(found->rows)), one_segment(count));
  if (found->all || best.rows.size() >= window_of(execution.query()).end(input.num_rows())) {
    return gather(execution, {input}, best, rank(execution, {input}, best));
  }
  execution.context.preference = statistics;
  execution.share = share;
  rules.left_out(Rule::skyline_top_k, "did not help: of " + std::to_string(count) + " candidates " +
                                          std::to_string(best.rows.size()) + " are in the skyline");
  return std::nullopt;
}

}  // namespace skyrank::exec
