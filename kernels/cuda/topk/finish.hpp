#pragma once

#include <cstddef>

#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/topk/block/element.cuh"

// From the k least elements to the answer.
namespace skyrank::kernels::cuda::topk {

/// Puts `count` elements in ascending order, in place.
template <class Element>
void sort_elements(Element* elements, std::size_t count, DeviceContext& device);

/// The elements of all n rows, in the order of the rows.
template <class E>
void take_all(const E& elements, std::size_t n, typename E::Element* taken, DeviceContext& device);

/// The row ids of `count` elements in ascending order: by key, then ascending row id. Or of none where `*failed`, in
/// device memory, says that the guess that put them in order was wrong; null: it cannot have been.
template <class E>
Buffer<RowId> rows_of(const E& elements, const typename E::Element* sorted, std::size_t count, DeviceContext& device,
                      const unsigned* failed = nullptr);

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
