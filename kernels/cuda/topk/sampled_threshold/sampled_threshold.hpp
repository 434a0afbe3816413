#pragma once

#include <cstddef>

#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/topk/element.cuh"

// cuda-sampled-threshold without the way there and back: launches over keys in device memory, for a graph to capture.
namespace skyrank::kernels::cuda::topk {

/// Returns true if the k best of n rows are found by a threshold: up to 8,192 rows, and k <= n / 4 up to some 18
/// million.
bool can_queue_least(std::size_t n, std::size_t k);

/// Puts on the device's stream, and waits for nothing: the row ids of the k least of n elements, by key, then ascending
/// row id (`complement` 0), into `rows`, device memory. 0 < k < n, can_queue_least(n, k). E is ShortElements or
/// LongElements.
///
/// Returns the state of the guess, to be kept until all that is done. Its first word, an unsigned in device memory, is
/// then 1 if the threshold let too few or too many rows through, at most once in 10^5 runs, and `rows` holds nothing of
/// use: another algorithm has to answer. Empty where nothing is guessed.
///
/// A graph may capture it on a context with HeldMemory, and replay it on other keys in the same place for as long as
/// that, the state and `rows` are there.
template <class E>
Buffer<std::byte> queue_least(const E& elements, std::size_t n, std::size_t k, RowId* rows, DeviceContext& device);

}  // namespace skyrank::kernels::cuda::topk
