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

}  // namespace skyrank::kernels::cuda::topk
