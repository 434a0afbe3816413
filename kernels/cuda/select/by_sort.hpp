#pragma once

#include "kernels/common/select/problem.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/select/rows.hpp"
#include "kernels/cuda/select/workspace.hpp"

namespace skyrank::kernels::cuda::select {

/// Selects from rows without gaps between columns by sorting them, for any k. `Stored`: an unsigned integer of the
/// width of the elements. `before`: the columns' own positions in longer rows, or none. Where the workspace counts it
/// launches nothing.
template <class Stored>
void select_by_sort(const SelectProblem& problem, Positions before, Workspace& workspace, const DeviceStream& device);

}  // namespace skyrank::kernels::cuda::select
