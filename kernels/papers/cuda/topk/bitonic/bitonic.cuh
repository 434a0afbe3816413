#pragma once

#include <cstddef>
#include <optional>

#include "kernels/cuda/topk/solve.cuh"

namespace skyrank::kernels::cuda::topk {

/// Most rows that bitonic top-k finds in shared memory.
inline constexpr std::size_t kLargestBitonicK = 2048;

/// The k least of `size` elements by bitonic top-k with all its optimisations, in ascending order, for other
/// algorithms. 0 < k < size, k <= kLargestBitonicK. Counts no work.
template <class Element>
void bitonic_least(Run& run, const Element* elements, std::size_t size, std::size_t k, Element* chosen);

/// Returns nothing where parameters switch it off, more than 2048 rows are asked for, ties are all to be kept, row ids
/// need more bits than short elements have, or a row fails.
std::optional<TopKSolution> best_of_bitonic_scan(const ScanProblem& problem, const ParameterValues& parameters,
                                                 const Context& context);

}  // namespace skyrank::kernels::cuda::topk
