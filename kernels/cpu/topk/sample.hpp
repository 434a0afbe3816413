#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/common/hash.hpp"

// Chooses rows to sample, and estimates the k-th best of all rows from a sample.
namespace skyrank::kernels::topk {

/// The i-th of `count` sampled positions in [0, n), count <= n <= 2^32 * count: one in each of equal stretches, at a
/// hashed place, so that no order of the rows hides any from the sample.
inline std::size_t sampled_position(std::size_t i, std::size_t count, std::size_t n) {
  const std::size_t stretch = n / count;
  return stretch * i + (hash_of_place(i) * stretch >> 32);
}

/// Rows to sample so that looking at them and at superfluous candidates costs least: these are about n / s for every
/// place that the bound is set too high, and as many as the k-th place is uncertain by, k / sqrt(k s / n).
inline std::size_t sample_size(std::size_t n, std::size_t k) {
  const double rows = static_cast<double>(n);
  return static_cast<std::size_t>(std::sqrt(3 * rows) + std::cbrt(4 * rows * static_cast<double>(k)));
}

/// The place, from 1, in a sample of a bound with k rows up to it, but for a chance of about one in a thousand. Of the
/// k best rows the sample has `expected` on average, in a Poisson distribution.
inline std::size_t bound_place(double expected) {
  return static_cast<std::size_t>(std::ceil(expected + 3.2 * std::sqrt(expected) + 1));
}

}  // namespace skyrank::kernels::topk
