#pragma once

#include <cstddef>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/select/numbers.cuh"
#include "kernels/cuda/select/rows.hpp"
#include "kernels/cuda/select/workspace.hpp"

namespace skyrank::kernels::cuda::select {

/// Selects the k best numbers of each row, in order, by all threads of the device together. `blocks` read each
/// row: what LongPolicy says. `rows` have one part. `N`: Numbers.
template <class N>
void least_of_long_rows(const RowParts<typename N::Stored>& rows, std::size_t blocks,
                        const KeyOrder<typename N::Key>& order, std::size_t k,
                        const RowAnswer<typename N::Stored>& answer, Workspace& workspace, const DeviceStream& device);

}  // namespace skyrank::kernels::cuda::select
