#pragma once

#include <cstddef>

#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/topk/element.cuh"

namespace skyrank::kernels::cuda::topk {

/// The row ids of the k least of n elements, which are given in ascending order, and behind them, in ascending order,
/// those of all other rows with the key of the last of them. Row ids are not complemented. Waits for the device, since
/// it alone knows how many there are.
template <class E>
Buffer<RowId> rows_with_ties(const E& elements, std::size_t n, const typename E::Element* least, std::size_t k,
                             DeviceContext& device);

}  // namespace skyrank::kernels::cuda::topk
