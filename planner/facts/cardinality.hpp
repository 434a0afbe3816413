#pragma once

#include <algorithm>
#include <cmath>

// Numbers of rows as plans know them before a run.
namespace skyrank::planner {

/// An estimated number of rows. The bounds hold in about 95 of 100 cases where a sample tells them; without one, they
/// are what must be and what may be.
struct Cardinality {
  double low = 0;
  double expected = 0;
  double high = 0;

  /// Returns the estimate of a number that is known.
  static constexpr Cardinality exactly(double rows) { return {rows, rows, rows}; }

  /// Returns an estimate whose bounds enclose the expectation, whatever is given.
  static constexpr Cardinality around(double low, double expected, double high) {
    return {std::min(low, expected), expected, std::max(high, expected)};
  }

  bool operator==(const Cardinality&) const = default;
};

/// Returns the estimate of the lesser of two numbers.
constexpr Cardinality min(const Cardinality& a, const Cardinality& b) {
  return {std::min(a.low, b.low), std::min(a.expected, b.expected), std::min(a.high, b.high)};
}

/// Returns the estimate of the lesser of two numbers, of which one is known.
constexpr Cardinality min(const Cardinality& a, double b) { return min(a, Cardinality::exactly(b)); }

/// Returns the estimate of the greater of two numbers.
constexpr Cardinality max(const Cardinality& a, const Cardinality& b) {
  return {std::max(a.low, b.low), std::max(a.expected, b.expected), std::max(a.high, b.high)};
}

/// Bounds of a share, in [0, 1].
struct ShareBounds {
  double low = 0;
  double high = 1;
};

/// Returns the bounds, at 95 %, of the share that a random sample of `size` independent rows estimates: the score
/// interval of Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 1927.
inline ShareBounds bounds_of_share(double share, double size) {
  constexpr double kDeviations = 1.96;
  if (size <= 0) return {};
  const double doubt = kDeviations * kDeviations / size;
  const double middle = (share + doubt / 2) / (1 + doubt);
  const double half = std::sqrt(doubt * (share * (1 - share) + doubt / 4)) / (1 + doubt);
  return {std::max(middle - half, 0.0), std::min(middle + half, 1.0)};
}

}  // namespace skyrank::planner
