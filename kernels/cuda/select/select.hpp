#pragma once

#include <cstddef>

#include "kernels/common/select/problem.hpp"

// Selection of the best elements of each row of a matrix in device memory. Plain C++.
namespace skyrank::kernels::cuda {

/// Returns the bytes of temporary memory that `select_rows` needs on the current device for a problem, of which the
/// addresses do not matter. Throws Failure.
std::size_t select_workspace_bytes(const SelectProblem& problem);

/// Selects on the current device, in the order of `stream`, a cudaStream_t; never waits for it. Returns the bytes that
/// `select_workspace_bytes` does; if they are more than `workspace_bytes`, does nothing else. Throws Failure.
std::size_t select_rows(const SelectProblem& problem, void* workspace, std::size_t workspace_bytes, void* stream);

}  // namespace skyrank::kernels::cuda
