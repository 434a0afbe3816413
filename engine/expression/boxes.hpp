#pragma once

#include <skyrank/types.hpp>

// Boxes of values: those of epsilon-dominance (Laumanns, Thiele, Deb and Zitzler, "Combining Convergence and Diversity
// in Evolutionary Multiobjective Optimization", Evolutionary Computation 10(3), 2002). Nothing here depends on the
// rounding of a mathematical library, so that all machines agree.
namespace skyrank::exec {

/// Returns floor(value * 10^digits / size), for size >= 10^digits.
Int128 box_of(Int128 value, Int128 size, int digits);

/// Boxes of equal ratio: box k holds the numbers from (1 + ratio)^k on, below (1 + ratio)^(k + 1). The boundaries are
/// the float64 nearest to these powers.
class RatioBoxes {
 public:
  /// The ratio is from 10^-6 to 10^6.
  explicit RatioBoxes(Decimal ratio);

  /// Returns the box of a number: minus infinity for 0, infinity for infinity, NaN for negative numbers and NaN.
  double box_of(double value) const;

 private:
  /// (high + low) * 2^exponent, with 1 <= high < 2.
  struct Power {
    double high = 1;
    double low = 0;
    int exponent = 0;
  };

  static Power normalized(double high, double low, int exponent);
  static Power product(const Power& a, const Power& b);
  static Power inverse(const Power& a);
  double boundary(double box) const;

  Power base_;
  double log_base_;
};

}  // namespace skyrank::exec
