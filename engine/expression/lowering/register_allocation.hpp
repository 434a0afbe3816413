#pragma once

#include "engine/expression/lowering/step_operation.hpp"

// Assigns places to intermediate values: the last value of each kind (number, truth) stays in a register, older ones
// are spilled to numbered slots. One pass over the operations, which come in postfix order.
namespace skyrank::exec::lowering {

/// Register allocation: writes operations as the steps of a program, with those that move values between registers and
/// slots. Returns false where there are too many steps or slots.
bool allocate_registers(const SelectedOperations& selected, StepProgram& program);

}  // namespace skyrank::exec::lowering
