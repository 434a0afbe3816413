#pragma once

#include <cstddef>

#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/select.cuh"
#include "kernels/cuda/topk/block/element.cuh"

namespace skyrank::kernels::cuda::topk {

/// Holds for the places of a key.
template <class Key>
struct HasKey {
  const Key* keys;
  Key key;

  SKYRANK_HD bool operator()(std::size_t place) const { return keys[place] == key; }
};

/// The row ids of the k least of n elements, which are given in ascending order, and behind them, in ascending order,
/// those of all other rows with the key of the last of them. Row ids are not complemented. Waits for the device, since
/// it alone knows how many there are.
template <class E>
Buffer<RowId> rows_with_ties(const E& elements, std::size_t n, const typename E::Element* least, std::size_t k,
                             DeviceContext& device);

}  // namespace skyrank::kernels::cuda::topk
