#pragma once

#include <cstddef>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/select/numbers.cuh"
#include "kernels/cuda/select/rows.hpp"
#include "kernels/cuda/select/workspace.hpp"

namespace skyrank::kernels::cuda::select {

/// Selects the k best numbers of each part of rows, in order; of equal ones the first. Each part has k numbers or more
/// and fewer than 2^31; 0 < k <= RowPolicy::kMaxWanted. `N`: Numbers. Reads the numbers once and a few of them again.
/// In the order of the stream.
template <class N>
void least_of_rows(const RowParts<typename N::Stored>& rows, const KeyOrder<typename N::Key>& order, std::size_t k,
                   const RowAnswer<typename N::Stored>& answer, const DeviceStream& device);

/// Writes the best number of each row, whose parts a block reads each. `N`: Numbers; `rows` have more than one part.
template <class N>
void least_one(const RowParts<typename N::Stored>& rows, const KeyOrder<typename N::Key>& order,
               const RowAnswer<typename N::Stored>& answer, Workspace& workspace, const DeviceStream& device);

}  // namespace skyrank::kernels::cuda::select
