#pragma once

#include <cstddef>
#include <vector>

#include "kernels/cuda/expression/steps.hpp"

// The form between the first two passes of the lowering (compile_steps.hpp).
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

}  // namespace skyrank::exec::lowering
