#include "engine/executor/shortcuts.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include "engine/device/scan.hpp"
#include "engine/executor/skyline_stage.hpp"
#include "engine/executor/stages.hpp"
#include "engine/keys/fused_keys.hpp"
#include "engine/operators/rank.hpp"
#include "engine/operators/skyline/skyline_prefix.hpp"
#include "engine/plan/paths.hpp"
#include "kernels/cuda/expression/columns.hpp"

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
  return gather(execution, {input, {}, false}, all, std::move(rows));
}

namespace {

/// The rows that a scan of the columns ranks, without keys in memory; nothing where it cannot.
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

/// The rows of a ranking by keys that a scan of the columns made, filter and all.
Vector<RowId> rank_after_scan(Execution& execution, const kernels::ColumnScan& scan, std::int64_t n) {
  const Operators& operators = execution.plan.operators;
  const auto keys = timed(execution, execution.timing.keys_ms, *operators.rank_keys,
                          [&] { return kernels::cuda::expression::scan_keys(scan, static_cast<std::size_t>(n)); });
  const auto passing = static_cast<std::int64_t>(keys.passing);
  execution.record.of(*operators.rank_keys).rows = passing;
  if (operators.filter) {
    execution.record.of(*operators.filter).rows = passing;
    execution.record.of(*operators.filter).note = "in one pass with the keys";
  }
  Report report;
  Vector<RowId> rows = timed(execution, execution.timing.compute_ms, *operators.order, [&] {
    return rank_scanned(execution.query(), keys, n, execution.context, execution.record.of(*operators.order).path,
                        report);
  });
  book(execution, *operators.order, report);
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
  if (rows) {
    rules.applied(Rule::device_scan, scan.columns ? "filter, score and ranking in one pass over the columns"
                                                  : "filter, score and ranking in one pass of programs");
  } else {
    if (!scan.columns || !scan.columns->leaves_greatest_key()) return std::nullopt;
    rules.applied(Rule::device_scan, "filter and keys of a ranking by columns");
    rows = rank_after_scan(execution, *scan.columns, n);
  }
  execution.record.of(*operators.order).rows = static_cast<std::int64_t>(rows->size());
  const Candidates all{RowSet::all(n), one_segment(n)};
  return gather(execution, {input, {}, false}, all, std::move(*rows));
}

std::optional<Result> rank_skyline_prefix(Execution& execution, const Table& input) {
  const PhysicalPlan& plan = execution.plan;
  const Operators& operators = plan.operators;
  execution.record.of(operators.scan).rows = input.num_rows();
  const auto path = planner::choose(*plan.selection, plan.constraints, with_memory_left(plan.machine),
                                    skyline_prefix_statistics(plan));
  Report report;
  auto found = timed(execution, execution.timing.compute_ms, *operators.skyline_prefix, [&] {
    return find_skyline_prefix(execution.query(), input, *plan.selection, path, fused_options(plan), execution.context,
                               report);
  });
  execution.record.of(*operators.skyline_prefix).path = describe_path(path);
  book(execution, *operators.skyline_prefix, report);
  if (found) {
    const bool all = found->all;
    const std::size_t count = found->rows.size();
    execution.record.of(*operators.skyline_prefix).rows = static_cast<std::int64_t>(count);
    const auto known = std::exchange(execution.context.preference, skyline_of_prefix(plan, *plan.selection));
    const auto share = std::exchange(execution.share, {});
    const SourceTable source{input, {}, false};
    const auto n = static_cast<std::int64_t>(count);
    const Candidates best = prefer(execution, source, RowSet::listed(std::move(found->rows)), one_segment(n));
    const Window window = window_of(execution.query());
    if (all || best.rows.size() >= window.end(input.num_rows())) {
      return gather(execution, source, best, rank(execution, source, best));
    }
    execution.context.preference = known;
    execution.share = share;
    execution.record.rules.left_out(Rule::skyline_top_k, "in vain: of " + std::to_string(count) + " contenders " +
                                                             std::to_string(best.rows.size()) + " are in the skyline");
  } else {
    execution.record.rules.left_out(Rule::skyline_top_k, "in vain: contenders have infinite, NaN or NULL scores");
  }
  return std::nullopt;
}

}  // namespace skyrank::exec
