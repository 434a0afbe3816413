#pragma once

#include <cstddef>
#include <optional>

#include "engine/expression/lowering/step_operation.hpp"
#include "kernels/cuda/expression/columns.hpp"

namespace skyrank::exec::lowering {

/// Instruction selection: turns the instructions of an expression into operations. Constants and columns become
/// operands of the steps that follow them; the columns are those of `program`. Nothing where there are too many
/// operations, or their stack is too deep. Of an expression that leaves a score and a truth the first `of_score`
/// instructions leave the score.
std::optional<SelectedOperations> select_instructions(const kernels::cuda::expression::DeviceExpression& expression,
                                                      Leaves leaves, std::size_t of_score, StepProgram& program);

}  // namespace skyrank::exec::lowering
