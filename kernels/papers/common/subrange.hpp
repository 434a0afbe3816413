#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

// How long the subranges of Dr. Top-k are: the cost of a run, and the length at which it is least (Gaihre et al., SC
// 2021, section 5.2). Costs are in units of one access to device memory by one thread.
namespace skyrank::kernels::cuda::topk::delegate {

/// The constant of Rule 4. It stands for the cost of a shuffle beside that of an access. The paper tuned it to 3 on a
/// V100; on an H200, where delegates are beta delegates and only what is within the bound is concatenated, 5 is best.
inline constexpr double kPaperConstant = 3;
inline constexpr double kSubrangeConstant = 5;

/// Cost of one shuffle, such that Rule 4 has that constant: log2(6 + 31 * shuffle) - log2(6).
inline double shuffle_cost(double constant = kSubrangeConstant) { return 6 * (std::exp2(constant) - 1) / 31; }

/// Equation 6: cost of the k best of n elements with subranges of 2^exponent, when every one of the k subranges that
/// qualify is concatenated whole. Delegates are maximum delegates; the assisting selection is radix.
inline double delegate_cost(double n, double k, double exponent, double shuffle = shuffle_cost()) {
  const double length = std::exp2(exponent);
  return 31 * n / length * shuffle + 6 * n / length + 6 * k * length + 2 * k + n;
}

/// Equation 3 with the elements themselves in place of delegates: cost of the selection that assists.
inline double radix_cost(double n, double k) { return 5 * n + 2 * k; }

/// Rule 4 (equation 11): the exponent of the length at which equation 6 is least. 0 < k <= n.
inline double best_exponent(double n, double k, double constant = kSubrangeConstant) {
  return (std::log2(n) - std::log2(k) + constant) / 2;
}

/// Lengths are 2^2 at least, so that the keys of one 16-byte load are of one subrange, and have room for one more
/// element than delegates. The rule ends at 2^12: longer ones would leave some of the device's warps without.
inline constexpr int kMinExponent = 2;
inline constexpr int kGreatestExponent = 12;

/// Subranges of n elements; the last may be shorter.
struct Subranges {
  int exponent = kMinExponent;  ///< log2 of the length
  std::size_t count = 0;
  /// True if there are more delegates than k. Then they pay, as measured for k up to a sixteenth of n.
  bool useful = false;
};

/// For the k best of n, with `beta` delegates a subrange. `exponent` 0: by Rule 4 with that constant; otherwise the one
/// wanted.
inline Subranges subranges_for(std::size_t n, std::size_t k, int beta, int exponent = 0,
                               double constant = kSubrangeConstant) {
  const int least = std::max(kMinExponent, static_cast<int>(std::bit_width(static_cast<unsigned>(beta))));
  if (exponent == 0) {
    const double best = best_exponent(static_cast<double>(n), static_cast<double>(k), constant);
    exponent = std::min(static_cast<int>(best), kGreatestExponent);
  }
  exponent = std::max(exponent, least);
  const std::size_t whole = n >> exponent;
  return {.exponent = exponent,
          .count = whole + ((whole << exponent) < n ? 1 : 0),
          .useful = whole * static_cast<std::size_t>(beta) > k};
}

}  // namespace skyrank::kernels::cuda::topk::delegate
