#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/common/keys.hpp"
#include "kernels/cuda/expression/quotient_bound.cuh"

namespace skyrank::kernels::cuda::expression {

/// The scores whose keys are at most some key, by their bound, so that keys need not be made to know.
class ScoreRange {
 public:
  using Key = std::uint64_t;

  __device__ ScoreRange(bool integer, bool high, Key most) : integer_(integer), high_(high) {
    constexpr Key kSign = Key{1} << 63;
    const Key directed = high ? ~most : most;
    bound_ = integer || (directed & kSign) != 0 ? directed ^ kSign : ~directed;
    all_ = most == kNullKey<Key> || (!integer && most == kNanKey<Key>);
  }

  /// The greatest key of a score that is less than another's, or that one where there is none, or it is NULL's.
  __device__ static Key key_below(bool integer, bool high, Key most) {
    if (most == kNullKey<Key>) return most;
    if (integer) return most - (most != 0 ? 1 : 0);
    if (most == kNanKey<Key>) return float_key(with_bits_of<Key>(high ? -kInfinity : kInfinity), high);
    const bool zero = !high && most == float_key(Key{0}, false);  // there is no key of the zero below it
    return most - (zero ? 2 : 1);
  }

  /// From square roots, rounded, to what they are roots of. Of negative numbers, and where bounds are very small or
  /// large, more may be among those.
  __device__ void square() { bound_ = with_bits_of<Key>(square_of_bound(with_bits_of<double>(bound_))); }

  /// From quotients to what their dividends differ by from multiples of a bound, or may where they tie with it.
  __device__ void divide(const QuotientBound& quotients, double bound, bool ties) {
    all_ |= quotients.holds_all();
    bound_ = with_bits_of<Key>(quotients.limit(bound, ties));
  }
  /// A bit for each row whose quotient may be such a score, once this is `divide`d.
  template <unsigned kRows>
  __device__ unsigned quotients_within(const QuotientBound& quotients, const Key (&dividends)[kRows],
                                       const float (&divisors)[kRows]) const {
    return all_ ? ~0u : quotients.bits_within(dividends, divisors, with_bits_of<double>(bound_));
  }

  /// Takes the bound of another range of such scores, which is otherwise the same: then the compiler keeps no registers
  /// for the rest.
  __device__ void set_bound(const ScoreRange& other) {
    bound_ = other.bound_;
    all_ = other.all_;
  }
  /// Bits of the last score among them.
  __device__ Key bound() const { return bound_; }

  /// The scores come with these bits the other way round, where they are integers.
  __device__ void flip(Key bits) { flipped_ = bits; }

  /// Returns true if there may be such a score. It has no branch for each row, which would make the threads of a warp
  /// diverge. NaN is on neither side of a bound.
  template <unsigned kRows>
  __device__ bool may_hold_any(const Key (&scores)[kRows]) const {
    if (all_) return true;
    bool any = false;
    each_within(scores, [&](unsigned, bool within) { any = any | within; });
    return any;
  }

  /// A bit for each row that may have one.
  template <unsigned kRows>
  __device__ unsigned bits_within(const Key (&scores)[kRows]) const {
    if (all_) return ~0u;
    unsigned rows = 0;
    each_within(scores, [&](unsigned i, bool within) { rows |= unsigned{within} << i; });
    return rows;
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  /// The farthest number on the bound's side whose root, rounded, still is. That is the last one before the square of
  /// what lies halfway to the next number, which is found to a unit in the last place.
  __device__ double square_of_bound(double bound) const {
    constexpr double kMin = 1e-150;  // squares and what they are rounded by are ordinary numbers
    constexpr double kMax = 1e150;
    if (!(bound > 0)) return high_ && bound < 0 ? 0 : bound;
    if (bound < kMin) return high_ ? 0x1p-1074 : kMin * kMin;
    if (bound > kMax) return high_ ? kMax * kMax : kInfinity;
    const double halfway = (next_number(bound, !high_) - bound) / 2;
    const double square = bound * bound;
    const double near = square + fma(2 * halfway, bound, fma(bound, bound, -square));
    const double farther = next_number(near, !high_);
    const auto within = [&](double number) { return high_ ? sqrt(number) >= bound : sqrt(number) <= bound; };
    const double last = within(near) ? near : next_number(near, high_);
    return within(farther) ? farther : last;
  }

  /// `f(row, whether its score is on the bound's side)`
  template <unsigned kRows, class F>
  __device__ void each_within(const Key (&scores)[kRows], F f) const {
    if (integer_) {
      each_beyond<std::int64_t>(scores, f);
    } else {
      each_beyond<double>(scores, f);
    }
  }
  template <class T, unsigned kRows, class F>
  __device__ void each_beyond(const Key (&scores)[kRows], F f) const {
    const auto bound = with_bits_of<T>(bound_);
    const auto score = [&](unsigned i) {
      return with_bits_of<T>(std::is_integral_v<T> ? scores[i] ^ flipped_ : scores[i]);
    };
    if (high_) {
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) f(i, score(i) >= bound);
    } else {
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) f(i, score(i) <= bound);
    }
  }

  bool integer_;
  bool high_;
  bool all_;   ///< NULL and NaN are among them
  Key bound_;  ///< bits of a score
  Key flipped_ = 0;
};

}  // namespace skyrank::kernels::cuda::expression
