#pragma once

#include "kernels/cuda/topk/solve.cuh"

namespace skyrank::kernels::cuda::topk {

/// Writes the k least of n elements to `chosen`, in no order, by digits of `digit_bits` bits.
template <class E>
void select_by_digits(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen,
                      int digit_bits);

/// Radix select. It never fails, so algorithms that guess can fall back on it.
struct RadixSelect {
  static constexpr int kDigitBits = 11;

  template <class E>
  static bool select(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
    select_by_digits(run, elements, n, k, chosen, kDigitBits);
    return false;
  }
};

}  // namespace skyrank::kernels::cuda::topk
