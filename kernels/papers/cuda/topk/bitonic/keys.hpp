#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/papers/cuda/topk/bitonic/sources.cuh"

namespace skyrank::kernels::cuda::topk::network {

inline constexpr int kMaxRunBits = 11;  ///< for tiles of bare keys

/// Writes the k least elements of each of `tiles` tiles, in no order, k <= 2^run_bits, whose sizes are
/// sizes_of_keys(k). Defined for the rows of bitonic_keys_*.cu, whose kernels take long to compile.
template <class E>
void least_of_tiles(cudaStream_t stream, int run_bits, const Unsorted<E>& rows, std::size_t tiles, std::size_t k,
                    typename E::Element* out);

}  // namespace skyrank::kernels::cuda::topk::network
