#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/cuda/expression/columns.hpp"
#include "kernels/cuda/expression/steps.hpp"

// The passes of the lowering (compile_steps.hpp), in their order, and the form between the first two.
namespace skyrank::exec::lowering {

using kernels::cuda::expression::Act;
using kernels::cuda::expression::From;
using kernels::cuda::expression::Leaves;
using kernels::cuda::expression::Step;
using kernels::cuda::expression::StepProgram;

/// Returns true if a step leaves a truth, not a number.
inline bool leaves_truth(Act act) { return act >= Act::equal && act <= Act::to_truth; }

/// Returns true if the operands of a step are truths.
inline bool takes_truths(Act act) { return act >= Act::and_test && act <= Act::logical_not; }

/// A step with its operands: it takes values off the stack and leaves one there.
struct StepOperation {
  Step step;
  int operands = 0;        ///< values that it takes
  bool truth = false;      ///< true if it leaves a truth, false for a number
  bool converted = false;  ///< true if the step that takes the value needs the other kind
};

/// The operations of a program, in order. Those of its first part, of which there are `first`, suffice for the score,
/// or for the operand of its root or quotient.
struct SelectedOperations {
  std::vector<StepOperation> operations;
  std::size_t first = 0;
};

/// Instruction selection: turns the instructions of an expression into operations. Constants and columns become
/// operands of the steps that follow them; the columns are those of `program`. Nothing where there are too many
/// operations, or their stack is too deep. Of an expression that leaves a score and a truth the first `of_score`
/// instructions leave the score.
std::optional<SelectedOperations> select_instructions(const kernels::cuda::expression::DeviceExpression& expression,
                                                      Leaves leaves, std::size_t of_score, StepProgram& program);

/// Returns the step that tests a column, loaded by `load`, as `comparison` compares it with constants: by bounds of the
/// column's own type, so that a kernel compares stored values without converting them. Nothing where the two have no
/// such step.
std::optional<Step> make_column_test(const Step& load, const Step& comparison);

/// Register allocation: writes operations as the steps of a program, with those that move values between registers and
/// slots. The last value of each kind (number, truth) stays in a register, older ones are spilled to numbered slots.
/// Returns false where there are too many steps or slots.
bool allocate_registers(const SelectedOperations& selected, StepProgram& program);

/// Peephole optimisation: replaces several steps in a row by one that does the same.
void join_steps(StepProgram& program);

}  // namespace skyrank::exec::lowering
