#pragma once

#include "kernels/cuda/topk/solve.cuh"

namespace skyrank::kernels::cuda::topk {

/// Radix select with digits of its entry's default width. Never fails, so that what guesses can fall back on it.
struct RadixSelect {
  template <class E>
  static bool select(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen);
};

}  // namespace skyrank::kernels::cuda::topk
