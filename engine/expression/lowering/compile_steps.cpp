#include "engine/expression/lowering/compile_steps.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/expression/lowering/passes.hpp"

namespace skyrank::exec {

using kernels::Instruction;
using kernels::Opcode;
using kernels::cuda::expression::ComputedScan;
using kernels::cuda::expression::DeviceExpression;
using kernels::cuda::expression::Leaves;
using kernels::cuda::expression::StepProgram;

namespace {

/// The steps of a program whose first `of_score` instructions leave the score, if it leaves a score and a truth.
std::optional<StepProgram> steps_of(const DeviceExpression& expression, Leaves leaves, std::size_t of_score) {
  StepProgram program;
  const auto selected = lowering::select_instructions(expression, leaves, of_score, program);
  if (!selected || !lowering::allocate_registers(*selected, program)) return std::nullopt;
  lowering::join_steps(program);
  return program;
}

/// Adds the instructions of a program, and its columns behind those that are there.
void append(DeviceExpression& to, const DeviceExpression& from) {
  const auto shift = static_cast<std::uint32_t>(to.columns.size());
  to.columns.insert(to.columns.end(), from.columns.begin(), from.columns.end());
  for (Instruction how : from.instructions) {
    if (how.op == Opcode::column || how.op == Opcode::answer) how.index += shift;
    to.instructions.push_back(how);
  }
}

}  // namespace

void compile_steps(DeviceExpression& expression, Leaves leaves) { expression.steps = steps_of(expression, leaves, 0); }

ComputedScan compile_scan(DeviceExpression score, const std::optional<DeviceExpression>& condition, bool high) {
  ComputedScan scan{.program = std::move(score), .of_score = 0, .high = high};
  scan.of_score = scan.program.instructions.size();
  if (condition) append(scan.program, *condition);
  scan.program.steps = steps_of(scan.program, condition ? Leaves::score_and_truth : Leaves::score, scan.of_score);
  return scan;
}

}  // namespace skyrank::exec
