#include "engine/operators/gather/gather_plan.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/plan/operator_cost.hpp"
#include "engine/text.hpp"

namespace skyrank::exec {
namespace {

/// The cost depends on the types of the columns.
OperatorCost gather_cost(const std::vector<query::BoundOutput>& outputs, double rows) {
  double seconds = 0;
  double bytes = 0;
  for (const query::BoundOutput& output : outputs) {
    const bool stored = output.kind == query::BoundOutput::Kind::expression && output.expression.root != nullptr;
    const bool text = stored && output.expression.type.type == Type::string;
    seconds += rows * (text ? unit_cost::kGatherText : unit_cost::kGatherValue);
    bytes += rows * (text || !stored ? 8 : std::max(1, width_in_bytes(output.expression.type.type)));
  }
  return {unit_cost::kStart + seconds, bytes};
}

}  // namespace

planner::Cardinality lay_out_gather(PhysicalPlan& plan, const Table& /*table*/, const planner::Cardinality& rows) {
  const std::vector<query::BoundOutput>& outputs = plan.query.outputs;
  const std::string names = query::join(outputs, [](const query::BoundOutput& output) { return output.name; });
  plan.operators.gather = make_operator(OperatorKind::gather, names, rows);
  predict(plan.operators.gather, gather_cost(outputs, rows.expected));
  return rows;
}

}  // namespace skyrank::exec
