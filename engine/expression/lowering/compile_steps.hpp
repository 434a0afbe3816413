#pragma once

#include <optional>

#include "kernels/cuda/expression/columns.hpp"

// Lowers expressions to the form in which GPU kernels run them for several rows at a time, in three passes: instruction
// selection, register allocation, and a peephole optimisation.
namespace skyrank::exec {

/// Gives a program that leaves a number or a truth its steps. It has none where it is too long, or its stack too deep.
void compile_steps(kernels::cuda::expression::DeviceExpression& expression, kernels::cuda::expression::Leaves leaves);

/// Joins a score and a condition, if there is one, to one program with steps.
kernels::cuda::expression::ComputedScan compile_scan(
    kernels::cuda::expression::DeviceExpression score,
    const std::optional<kernels::cuda::expression::DeviceExpression>& condition, bool high);

}  // namespace skyrank::exec
