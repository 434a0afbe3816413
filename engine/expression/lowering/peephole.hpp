#pragma once

#include "engine/expression/lowering/step_operation.hpp"

namespace skyrank::exec::lowering {

/// Peephole optimisation: replaces several steps in a row by one that does the same.
void join_steps(StepProgram& program);

}  // namespace skyrank::exec::lowering
