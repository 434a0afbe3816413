#include "engine/operators/missing/missing_plan.hpp"

#include <string>
#include <string_view>
#include <vector>

#include "engine/operators/missing/missing.hpp"
#include "engine/plan/operator_cost.hpp"

namespace skyrank::exec {
namespace {

std::string describe_missing(const query::BoundQuery& query) {
  const auto rule = [](std::string_view name, Missing missing) {
    if (!query::drops_or_refuses(missing)) return std::string();
    return std::string(name) + (missing == Missing::exclude ? ": exclude" : ": error");
  };
  const std::string nan = rule("nan", query.nan_rule);
  const std::string nulls = rule("nulls", query.null_rule);
  return nan + (nan.empty() || nulls.empty() ? "" : ", ") + nulls;
}

OperatorCost missing_cost(const std::vector<const query::BoundExpression*>& expressions, double rows, int threads) {
  double row = unit_cost::kListRow;
  for (const query::BoundExpression* expression : expressions)
    row += unit_cost::kNode + evaluation_seconds(lower(*expression->root));
  return {start_and(rows * row, threads), rows * sizeof(std::int64_t)};
}

}  // namespace

planner::Cardinality lay_out_missing(PhysicalPlan& plan, const Table& /*table*/, const planner::Cardinality& rows) {
  const query::BoundQuery& query = plan.query;
  if (!query::drops_or_refuses(query.nan_rule) && !query::drops_or_refuses(query.null_rule)) return rows;
  const bool drops = query.nan_rule == Missing::exclude || query.null_rule == Missing::exclude;
  const planner::Cardinality left{drops ? 0 : rows.low, rows.expected, rows.high};
  Operator& missing =
      plan.operators.missing.emplace(make_operator(OperatorKind::missing, describe_missing(query), left));
  predict(missing, missing_cost(value_expressions(query), rows.expected, plan.machine.threads));
  return left;
}

}  // namespace skyrank::exec
