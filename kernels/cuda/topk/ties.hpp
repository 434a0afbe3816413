#pragma once

#include <cstddef>

#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/topk/element.cuh"

namespace skyrank::kernels::cuda::topk {

/// Counts the rows in [begin, n) that have a key. Waits for the device.
template <class Key>
std::size_t count_ties(const Key* keys, std::size_t begin, std::size_t n, Key key, DeviceContext& device);

/// Lists these rows in ascending order, or, unless `ids` is null, the ids of rows at their places.
template <class Key>
void list_ties(const Key* keys, std::size_t begin, std::size_t n, Key key, const RowId* ids, RowId* rows,
               DeviceContext& device);

/// The row ids of the k least of n elements, which are given in ascending order, and behind them, in ascending order,
/// those of all other rows with the key of the last of them. Row ids are not complemented. Waits for the device, since
/// it alone knows how many there are.
template <class E>
Buffer<RowId> rows_with_ties(const E& elements, std::size_t n, const typename E::Element* least, std::size_t k,
                             DeviceContext& device);

}  // namespace skyrank::kernels::cuda::topk
