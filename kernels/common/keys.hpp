#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/host_device.hpp"

// From values to keys: unsigned integers that order as the values do, smaller being better.
namespace skyrank::kernels {

/// Keys of floats: NULL is the worst, then NaN (whatever its payload), then the numbers. Two bit patterns of NaN make
/// room for the first two.
template <class Bits>
inline constexpr Bits kNullKey = static_cast<Bits>(~Bits{0});
template <class Bits>
inline constexpr Bits kNanKey = static_cast<Bits>(kNullKey<Bits> - 1);

/// Key of NULL among those of floats where it is the best instead. Numbers leave the least keys to NaN as well.
template <class Bits>
inline constexpr Bits kNullFirstKey = Bits{0};

/// Infinity of the IEEE 754 format whose values have as many bits as `Bits`.
template <class Bits>
inline constexpr Bits kInfinityBits = static_cast<Bits>(sizeof(Bits) == 2   ? 0x7c00u
                                                        : sizeof(Bits) == 4 ? 0x7f800000u
                                                                            : 0x7ff0000000000000ull);

/// Key of a float (binary16, 32 or 64) given by its bits. Zeros of both signs are equal; infinities are ordinary
/// values. A positive float orders as its bits do, a negative one against them, so flipping the sign bit, or all bits,
/// of a value gives its key; flipping all bits of that again reverses the order.
template <class Bits>
SKYRANK_HD constexpr Bits float_key(Bits bits, bool high) {
  static_assert(std::is_unsigned_v<Bits> && sizeof(Bits) >= 2);
  constexpr auto kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const auto magnitude = static_cast<Bits>(bits & static_cast<Bits>(~kSign));
  const auto canonical = magnitude == 0 ? Bits{0} : bits;
  const auto ordered = static_cast<Bits>((canonical & kSign) != 0 ? ~canonical : canonical | kSign);
  const auto directed = static_cast<Bits>(high ? ~ordered : ordered);
  return magnitude > kInfinityBits<Bits> ? kNanKey<Bits> : directed;
}

/// Keys of integers relative to the best value: `value - best` for low, `best - value` for high, as unsigned integers
/// of the values' width. `low` wants the lowest value as `best`, `high` the highest.
template <class Integer>
struct IntegerKey {
  using Bits = std::make_unsigned_t<Integer>;
  Bits flip = 0;  // all ones for high: ~value - ~best == best - value
  Bits base = 0;

  SKYRANK_HD constexpr IntegerKey(Integer best, bool high)
      : flip(static_cast<Bits>(high ? ~Bits{0} : Bits{0})), base(static_cast<Bits>(static_cast<Bits>(best) ^ flip)) {}

  SKYRANK_HD constexpr Bits operator()(Integer value) const {
    return static_cast<Bits>(static_cast<Bits>(static_cast<Bits>(value) ^ flip) - base);
  }
};

/// Keys of distances to a range, of values given as offsets from the lowest value (so exact for any integer column,
/// with ends of the range anywhere between integers). Values inside the range have key 0. On either side the keys count
/// whole steps away from it. The nearest values of the two sides lie less than a step away, by gaps that need not be
/// equal: if they are, equal numbers of steps are equal distances; if not, the keys of the two sides alternate, the
/// smaller gap first, until one side has no more values. So n different distances have keys below n + 1.
struct DistanceKey {
  std::uint64_t below = 0;  ///< highest offset under the range
  std::uint64_t above = 0;  ///< lowest offset over it
  bool any_below = false;   ///< true if there are values under the range,
  bool any_above = false;   ///< and over it
  bool equal_gaps = false;
  bool below_first = false;  ///< the gap of the values below is the smaller one
  std::uint64_t inside = 0;  ///< 1 when values lie inside, which take key 0
  std::uint64_t shared = 0;  ///< steps that both sides have

  SKYRANK_HD constexpr std::uint64_t operator()(std::uint64_t offset) const {
    if (any_below && offset <= below) return inside + side(below - offset, below_first);
    if (any_above && offset >= above) return inside + side(offset - above, !below_first);
    return 0;
  }

 private:
  SKYRANK_HD constexpr std::uint64_t side(std::uint64_t steps, bool first) const {
    if (equal_gaps) return steps;
    if (steps >= shared) return shared + steps;
    return 2 * steps + (first ? 0 : 1);
  }
};

}  // namespace skyrank::kernels
