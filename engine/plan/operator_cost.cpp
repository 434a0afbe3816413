#include "engine/plan/operator_cost.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "engine/plan/estimate.hpp"
#include "planner/cost/common.hpp"
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

double seconds_with_operands(const Ir& ir, const Operation& operation);

/// Seconds of an `and` or an `or`, which evaluates its cheap operands first, and others for the rows that these leave.
double seconds_of_logic(const Ir& ir, const Operation& logic) {
  std::vector<std::pair<double, double>> operands;  // seconds, and the share of rows that are left
  for (std::size_t i = 0; i < logic.operands.size(); ++i) {
    const Operation& operand = ir.operand(logic, i);
    const double share = guess_selectivity(ir, operand);
    operands.emplace_back(seconds_with_operands(ir, operand), logic.op == Op::logical_and ? share : 1 - share);
  }
  std::ranges::sort(operands);
  constexpr double kListed = 2;  // a row in a list over one that lies beside the one before
  double seconds = unit_cost::kNode * static_cast<double>(operands.size() - 1);
  double left = 1;
  for (const auto& [all, share] : operands) {
    seconds += std::min(kListed * left, 1.0) * all;
    left *= share;
  }
  return seconds;
}

double seconds_with_operands(const Ir& ir, const Operation& operation) {
  if (operation.op == Op::logical_and || operation.op == Op::logical_or) return seconds_of_logic(ir, operation);
  double seconds = seconds_of(ir, operation);
  for (std::size_t i = 0; i < operation.operands.size(); ++i) {
    seconds += seconds_with_operands(ir, ir.operand(operation, i));
  }
  return seconds;
}

/// Seconds for a value of one of so many columns, of rows that are listed among others.
double listed_load(double columns, const RowsOfKeys& rows) {
  constexpr double kValueBytes = 8;
  constexpr double kLineValues = 8;
  const double lines = rows.is_permuted ? 1 : std::min(1.0, rows.among / (kLineValues * std::max(rows.rows, 1.0)));
  const double far = planner::cost::beyond(columns * rows.among * kValueBytes, planner::cost::kSharedCache);
  return unit_cost::kListedLoad + lines * far * unit_cost::kFarLoad;
}

}  // namespace

double evaluation_seconds(const Ir& ir) { return seconds_with_operands(ir, ir.root()); }

double memory_seconds(const Ir& ir, double rows, double written, int threads) {
  std::map<int, double> widths;  // by column
  for (const Operation& operation : ir.operations()) {
    if (operation.op == Op::column && !is_text(operation)) {
      widths[operation.column] = std::max(1, width_in_bytes(operation.type.type));
    }
  }
  double bytes = written;
  for (const auto& [column, width] : widths) bytes += width * rows;
  return bytes * planner::cost::beyond(bytes, planner::cost::kSharedCache) * unit_cost::kMemoryByte /
         planner::cost::memory_threads(threads);
}

double count_operations(const Ir& ir) {
  return static_cast<double>(
      std::ranges::count_if(ir.operations(), [](const Operation& operation) { return !operation.operands.empty(); }));
}

OperatorCost keys_cost(const std::vector<const query::BoundExpression*>& expressions, double bytes,
                       const RowsOfKeys& rows, int threads) {
  const bool is_listed = rows.among > 0;
  const double load = is_listed ? listed_load(static_cast<double>(expressions.size()), rows) : 0;
  const double written = rows.rows * bytes / std::max(static_cast<double>(expressions.size()), 1.0);
  double row = 0;
  double memory = 0;
  for (const query::BoundExpression* expression : expressions) {
    const Ir ir = lower(*expression->root);
    row += unit_cost::kKey + evaluation_seconds(ir) + load;
    if (!is_listed) memory += memory_seconds(ir, rows.rows, written, threads);
  }
  return {std::max(start_and(rows.rows * row, threads), memory), rows.rows * bytes};
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
