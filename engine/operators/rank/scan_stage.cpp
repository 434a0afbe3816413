#include "engine/operators/rank/scan_stage.hpp"

#include <cstdint>
#include <utility>

#include "engine/device/scan.hpp"
#include "engine/operators/gather/gather_stage.hpp"
#include "engine/operators/rank/rank.hpp"

namespace skyrank::exec {
namespace {

/// Ranks rows by a scan of the columns, without keys in memory. Returns nothing where the scan cannot.
std::optional<Vector<RowId>> rank_in_one_pass(Execution& execution, const DeviceScan& scan, const Table& input) {
  const Operator& order = *execution.plan.operators.order;
  Report report;
  auto rows = execution.timed(order, [&] {
    return rank_scan(execution.query(), scan, input, execution.context, execution.record.of(order).path, report);
  });
  if (!rows) return std::nullopt;
  for (const auto* op : {&execution.plan.operators.filter, &execution.plan.operators.rank_keys}) {
    if (*op) execution.record.of(**op).note = "in one pass with the ranking";
  }
  execution.book(order, report);
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
  const auto scan =
      execution.timed(*operators.rank_keys, [&] { return match_scan(*execution.device_state, query, input); });
  if (!scan.columns && !scan.computed) return std::nullopt;
  auto rows = rank_in_one_pass(execution, scan, input);
  if (!rows) return std::nullopt;
  rules.applied(Rule::device_scan, scan.columns ? "filter, score and ranking in one pass over the columns"
                                                : "filter, score and ranking in one pass of programs");
  execution.record.of(*operators.order).rows = static_cast<std::int64_t>(rows->size());
  const Candidates all{RowSet::all(n), one_segment(n)};
  return gather(execution, {input}, all, std::move(rows));
}

}  // namespace skyrank::exec
