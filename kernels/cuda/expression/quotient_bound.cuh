#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/common/expression.hpp"

// Decides which quotients are at or beyond a bound without dividing.
namespace skyrank::kernels::cuda::expression {

/// The next number to one that is neither zero nor infinite.
__device__ inline double next_number(double number, bool up) {
  const auto bits = with_bits_of<std::uint64_t>(number);
  return with_bits_of<double>((number > 0) == up ? bits + 1 : bits - 1);
}

/// A bound on rounded quotients: the difference of a dividend from the bound's multiple that is allowed. a / b is below
/// the bound B if a - B * b is below zero for a positive b, and rounds to B if that is away from zero by at most half
/// of a unit in the last place of B, times b. The difference has the right sign, and is rounded once.
class QuotientBound {
 public:
  /// Admits quotients at or above the bound if `high`, else those at or below it.
  __device__ QuotientBound(double bound, bool high) : bound_(fabs(bound) < kMin ? 0 : bound), high_(high) {}

  /// Returns true if the bound decides nothing: multiples may overflow.
  __device__ bool holds_all() const { return !(fabs(bound_) < 1 / kMin); }

  /// Returns the allowed difference of a dividend, for a divisor of one, whose quotient is on the side of `bound` or
  /// may equal it.
  __device__ double limit(double bound, bool ties) const {
    constexpr double kSlack = 0x1p-20;
    const double beyond = high_ ? -1 : 1;
    if (bound_ == 0) return bound == 0 && !ties ? 0 : beyond * kMin;
    return (next_number(bound, ties != high_) - bound) / 2 * (ties ? 1 + kSlack : 1 - kSlack);
  }

  /// A bit for each row whose dividend does not differ by more.
  template <unsigned kRows>
  __device__ unsigned bits_within(const std::uint64_t (&dividends)[kRows], const float (&divisors)[kRows],
                                  double limit) const {
    unsigned rows = 0;
#pragma unroll
    for (unsigned i = 0; i < kRows; ++i) {
      const std::uint64_t sign = static_cast<std::uint64_t>(with_bits_of<unsigned>(divisors[i]) & 0x80000000u) << 32;
      const double divisor = fabs(static_cast<double>(divisors[i]));
      const double apart = fma(-bound_, divisor, with_bits_of<double>(dividends[i] ^ sign));
      const bool within = high_ ? apart > limit * divisor : apart < limit * divisor;
      rows |= (within || fabsf(divisors[i]) == kInfinity ? 1u : 0u) << i;
    }
    return rows;
  }

 private:
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();
  static constexpr double kMin = 1e-200;  // times any float no product is too small to be exact to a bit

  double bound_;
  bool high_;
};

}  // namespace skyrank::kernels::cuda::expression
