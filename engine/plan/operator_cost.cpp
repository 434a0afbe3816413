#include "engine/plan/operator_cost.hpp"

#include <algorithm>

#include "planner/cost/cuda_common.hpp"

namespace skyrank::exec {
namespace {

using query::Op;

bool is_text(const Operation& operation) { return operation.type.type == Type::string; }

/// Seconds for the value of one row of an operation whose operands are there.
double seconds_of(const Ir& ir, const Operation& operation) {
  if (is_literal(operation)) return 0;
  if (operation.op == Op::column) return is_text(operation) ? unit_cost::kText / 2 : unit_cost::kNode / 2;
  if (operation.op == Op::log || operation.op == Op::exp) return unit_cost::kFunction;
  for (std::size_t i = 0; i < operation.operands.size(); ++i) {
    if (is_text(ir.operand(operation, i))) return unit_cost::kText;
  }
  return unit_cost::kNode;
}

}  // namespace

double evaluation_seconds(const Ir& ir) {
  double seconds = 0;
  for (const Operation& operation : ir.operations()) seconds += seconds_of(ir, operation);
  return seconds;
}

double count_operations(const Ir& ir) {
  return static_cast<double>(
      std::ranges::count_if(ir.operations(), [](const Operation& operation) { return !operation.operands.empty(); }));
}

OperatorCost keys_cost(const std::vector<const query::BoundExpression*>& expressions, double bytes, double rows,
                       bool listed, int threads) {
  double row = 0;
  for (const query::BoundExpression* expression : expressions) {
    row += unit_cost::kKey + evaluation_seconds(lower(*expression->root)) + (listed ? unit_cost::kListedLoad : 0);
  }
  return {start_and(rows * row, threads), rows * bytes};
}

// Values of rows here and there take as much as whole columns do, as long as these have a row in each piece of memory.
OperatorCost device_keys_cost(const std::vector<const query::BoundExpression*>& expressions, double column_bytes,
                              double bytes, double rows, double share) {
  const auto terms = static_cast<double>(expressions.size());
  const double read = std::min(column_bytes / std::max(share, 1e-9), terms * kSectorBytes);
  const double id = share < 1 ? terms * sizeof(std::int64_t) : 0;
  double computed = 0;
  for (const query::BoundExpression* expression : expressions) computed += count_operations(lower(*expression->root));
  return {terms * planner::cost::kCudaLaunch +
              rows * ((read + id + bytes) * planner::cost::kCudaByte + computed * unit_cost::kDeviceOperation),
          rows * bytes};
}

}  // namespace skyrank::exec
