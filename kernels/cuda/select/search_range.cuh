#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/device/kernel/quotient.cuh"

namespace skyrank::kernels::cuda::select {

/// Values among which a bound is searched: fewer than k, `below`, are below `low`, and `within` >= k at or below
/// `high`.
template <class T>
struct SearchRange {
  T low;
  T high;
  unsigned within;
  unsigned below = 0;

  /// Narrows the range until at most `most` are within it, or all that are have one value. `count` returns how many are
  /// at or below a guess. Guesses are interpolated and halved by turns, so that even data take few and no data more
  /// than twice as many as a value has bits.
  template <class Count>
  __device__ void search(unsigned k, unsigned most, Count count) {
    const unsigned aim = k + (most - k) / 2;
    for (bool even = true; within > most && low < high; even = !even) {
      const T length = high - low;
      T step = length / 2;
      if (even) {
        const float share = quotient(static_cast<float>(aim - below), static_cast<float>(within - below));
        step = static_cast<T>(static_cast<float>(length) * share);
        if (step >= length) step = length - 1;
      }
      const T guess = low + step;
      const unsigned found = count(guess);
      if (found >= k) {
        high = guess;
        within = found;
      } else {
        low = guess + 1;
        below = found;
      }
    }
  }
};

}  // namespace skyrank::kernels::cuda::select
