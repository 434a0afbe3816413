#pragma once

#include <cstddef>

#include "kernels/cuda/topk/solve.cuh"

namespace skyrank::kernels::cuda::topk {

/// Most rows that bitonic top-k finds in shared memory.
inline constexpr std::size_t kLargestBitonicK = 2048;

/// The k least of `size` elements by bitonic top-k with all its optimisations, in ascending order, for other
/// algorithms. 0 < k < size, k <= kLargestBitonicK. Counts no work.
template <class Element>
void bitonic_least(Run& run, const Element* elements, std::size_t size, std::size_t k, Element* chosen);

}  // namespace skyrank::kernels::cuda::topk
