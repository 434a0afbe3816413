#include "engine/operators/rank/rank_plan.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/operators/rank/rank.hpp"
#include "engine/plan/operator_cost.hpp"
#include "engine/text.hpp"
#include "planner/cost/cuda_partitions.hpp"

namespace skyrank::exec {

using kernels::KeyWidth;

namespace {

std::string describe_window(const query::BoundQuery& query) {
  std::string text;
  if (query.offset != 0) text += "offset: " + std::to_string(query.offset);
  if (query.limit) text += (text.empty() ? "" : ", ") + ("limit: " + std::to_string(*query.limit));
  if (!query.limit || query.ranking.empty()) return text;
  switch (query.ties) {
    case Ties::first: return text;
    case Ties::last: return text + ", ties: last";
    case Ties::all: return text + ", ties: all";
    case Ties::any: break;
  }
  return text + ", ties: any";
}

std::vector<std::pair<std::string, double>> described_ranking(const planner::Statistics& ranking) {
  if (ranking.sample == 0) return {};
  return {{"sample", static_cast<double>(ranking.sample)},
          {"distinct", ranking.distinct},
          {"in order", ranking.order},
          {"tied with the last", ranking.ties},
          {"NULL or NaN", ranking.worst}};
}

/// Returns the rows of the window of each of some partitions, which have so many rows together.
planner::Cardinality rows_of_window(const Window& window, const planner::Cardinality& rows,
                                    const planner::Cardinality& partitions) {
  const auto offset = static_cast<double>(window.offset);
  const auto rest = [&](double all, double skipping) { return std::max(all - skipping * offset, 0.0); };
  const planner::Cardinality left{rest(rows.low, partitions.high), rest(rows.expected, partitions.expected),
                                  rest(rows.high, partitions.low)};
  if (!window.limit) return left;
  const auto limit = static_cast<double>(*window.limit);
  const double expected = std::min(left.expected, partitions.expected * limit);
  const bool alone = partitions.high <= 1;
  // Each partition has a row, but may have no more.
  const double least = alone ? limit : offset == 0 ? std::min(limit, 1.0) * partitions.low : 0;
  const double most = window.ties == Ties::all ? left.high : partitions.high * limit;
  return planner::Cardinality::around(std::min(left.low, least), expected, std::min(left.high, most));
}

}  // namespace

std::string describe_ranking(const std::vector<query::BoundRankTerm>& ranking) {
  return query::join(ranking, [](const query::BoundRankTerm& t) {
    return (t.high ? "high " : "low ") + t.expression.text + (t.nulls_first ? " (NULL first)" : "");
  });
}

planner::Cardinality lay_out_rank(PhysicalPlan& plan, const Table& table, const planner::Cardinality& rows) {
  const query::BoundQuery& query = plan.query;
  if (!query.ranking.empty()) {
    plan.operators.rank_keys = make_operator(OperatorKind::rank_keys, describe_ranking(query.ranking), rows);
    const RowsOfKeys made = rows_of_keys(plan, table, rows.expected, is_listed(plan) || plan.preference);
    predict(*plan.operators.rank_keys,
            keys_cost(ranking_expressions(plan), ranking_key_bytes(plan), made, plan.machine.threads));
  }
  const Window window = window_of(query);
  if (query.ranking.empty() && window.is_all()) return rows;
  const planner::Cardinality answer = rows_of_window(window, rows, plan.segments);
  const OperatorKind op = query.ranking.empty() ? OperatorKind::limit
                          : query.limit         ? OperatorKind::top_k
                                                : OperatorKind::sort;
  const std::string what = describe_ranking(query.ranking);
  const std::string part = describe_window(query);
  plan.operators.order = make_operator(op, what + (what.empty() || part.empty() ? "" : "; ") + part, answer);
  if (query.ranking.empty()) plan.operators.order->estimate.bytes = answer.expected * sizeof(std::int64_t);
  plan.operators.order->statistics = described_ranking(plan.sample.ranking);
  return answer;
}

std::vector<KeyWidth> ranking_widths(const PhysicalPlan& plan) {
  std::vector<KeyWidth> widths;
  for (const query::BoundRankTerm& term : plan.query.ranking) widths.push_back(width_of(term.expression));
  return widths;
}

double ranking_key_bytes(const PhysicalPlan& plan) {
  double bytes = 0;
  for (const KeyWidth width : ranking_widths(plan)) bytes += static_cast<double>(width);
  return bytes;
}

std::vector<const query::BoundExpression*> ranking_expressions(const PhysicalPlan& plan) {
  std::vector<const query::BoundExpression*> expressions;
  for (const query::BoundRankTerm& term : plan.query.ranking) expressions.push_back(&term.expression);
  return expressions;
}

FusedOptions fused_options(const PhysicalPlan& plan) {
  const Rules& rules = plan.rules.rules();
  return {.late_filter = rules.has(Rule::late_filter),
          .zone_maps = rules.has(Rule::zone_maps),
          .weighted_sum = rules.has(Rule::weighted_sum),
          .raw_floats = rules.has(Rule::raw_floats)};
}

bool packs_ranking(const PhysicalPlan& plan) { return plan.rules.rules().has(Rule::packed_ranking); }

planner::Choice<kernels::TopKAlgorithm> rank_path(const PhysicalPlan& plan) {
  const std::int64_t n = segment_rows(plan, plan.operators.rank_keys->estimate.rows.expected);
  planner::Constraints constraints = plan.constraints;
  if (plan.device_partitions) constraints.device = kernels::Device::cuda;
  const ExecutionContext context{
      constraints, machine_beside(plan, plan.operators.rank_keys), {}, {}, plan.sample.ranking};
  return Ranker(window_of(plan.query), context, n).path(packed_widths(ranking_widths(plan), packs_ranking(plan)), n);
}

void price_at_once(PathDescription& path, double count, double rows, double k, double key_bytes) {
  const auto cost = planner::cost::cuda_partitions({.partitions = count, .rows = rows, .k = k, .key_bytes = key_bytes});
  path.predicted_ms = planner::seconds_of(cost) * 1e3;
  path.predicted_bytes = cost.bytes;
  path.price.high = 0;  // of one partition
  path.reason = "all partitions in one launch, a block for each";
  path.alternatives.clear();  // of one partition
}

void choose_rank_path(PhysicalPlan& plan) {
  if (plan.strategy == Strategy::fused_ranking) {
    const auto path = planner::choose(*plan.selection, plan.constraints, plan.machine, plan.sample.ranking);
    add_expressions(plan.operators.order->path.emplace(describe_path(path)), plan.fused_seconds);
    return;
  }
  if (!plan.operators.rank_keys || plan.partition_top_k) return;
  const double rows = plan.operators.rank_keys->estimate.rows.expected;
  const auto path = rank_path(plan);
  PathDescription& order = plan.operators.order->path.emplace(describe_path(path));
  const std::vector<KeyWidth> widths = packed_widths(ranking_widths(plan), packs_ranking(plan));
  const Window window = window_of(plan.query);
  const std::int64_t largest = segment_rows(plan, rows);
  const bool there = plan.on_device && path.algorithm->device == kernels::Device::cuda && widths.size() == 1;
  if (there && ranks_at_once(window, std::llround(plan.segments.expected), largest)) {
    return price_at_once(order, plan.segments.expected, rows, static_cast<double>(window.end(largest)),
                         static_cast<double>(widths.front()));
  }
  price_repeated(order, partitions_to_solve(plan, rows), plan.machine.threads);
}

}  // namespace skyrank::exec
