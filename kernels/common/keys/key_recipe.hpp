#pragma once

#include <cstdint>

#include "kernels/common/keys.hpp"
#include "kernels/common/stored.hpp"

// Recipes, as data, by which stored values become keys: the host and GPU kernels make the same keys, bit for bit, from
// one recipe.
namespace skyrank::kernels {

/// The range of integers, on which their keys depend. Values are in the order of `ordered`.
struct IntegerRange {
  std::uint64_t lowest = ~std::uint64_t{0};
  std::uint64_t highest = 0;
  bool any_value = false;
  bool any_null = false;
};

/// Integers, by their bits, as unsigned ones of the same order; its own inverse.
SKYRANK_HD constexpr std::uint64_t ordered(std::uint64_t bits, bool with_sign) {
  return with_sign ? bits ^ (std::uint64_t{1} << 63) : bits;
}

/// A listed value (its bits, or for floats the float_key of its bits) and its level.
struct Level {
  std::uint64_t value = 0;
  std::uint64_t level = 0;
};

/// How the keys of one term are made from stored values: data, so that one kernel serves all types and terms.
struct KeyRecipe {
  enum class Kind : std::uint8_t {
    integer,         ///< `IntegerKey`, given by `flip` and `base`
    distance,        ///< `DistanceKey` of offsets from `base`
    number,          ///< `float_key` in the width of the values; `inverted` for high
    float_distance,  ///< `float_key` of the distance to [from, to], as binary64
    level,           ///< place among `levels`, or `last`
    entry,           ///< `entries[value]`: codes of a dictionary
    truth,           ///< 0 for true, 1 for false
  };
  Kind kind = Kind::integer;
  bool inverted = false;
  std::uint64_t null_key = 0;
  std::uint64_t first = 0;  ///< added to the keys of values: 1 where NULL, which takes 0, is the best
  std::uint64_t flip = 0;
  std::uint64_t base = 0;
  DistanceKey distance;
  std::uint64_t last = 0;  ///< distance: the greatest code; level: that of all other values
  double from = 0;
  double to = 0;
  const Level* levels = nullptr;  ///< by ascending value
  std::uint64_t level_count = 0;
  const std::uint64_t* entries = nullptr;

  SKYRANK_HD std::uint64_t operator()(const StoredColumn& column, std::int64_t row) const {
    return is_valid(column, row) ? first + of_value(column.stored, stored_bits(column, row)) : null_key;
  }

  SKYRANK_HD std::uint64_t of_value(Stored stored, std::uint64_t bits) const {
    switch (kind) {
      case Kind::integer: return (bits ^ flip) - base;
      case Kind::distance: return directed(distance(bits - base));
      case Kind::number: return of_number(stored, bits);
      case Kind::float_distance: return of_distance(to_double(stored, bits));
      case Kind::level: return of_level(stored, bits);
      case Kind::entry: return entries[bits];
      case Kind::truth: break;
    }
    return bits ^ (inverted ? 0 : 1);
  }

 private:
  SKYRANK_HD std::uint64_t directed(std::uint64_t code) const { return inverted ? last - code : code; }

  SKYRANK_HD std::uint64_t of_number(Stored stored, std::uint64_t bits) const {
    if (stored == Stored::float16) return float_key(static_cast<std::uint16_t>(bits), inverted);
    if (stored == Stored::float32) return float_key(static_cast<std::uint32_t>(bits), inverted);
    return float_key(bits, inverted);
  }

  SKYRANK_HD std::uint64_t of_distance(double x) const {
    const double outside = x < from ? from - x : x - to;
    const double away = x >= from && x <= to ? 0.0 : outside;  // NaN stays NaN
    return float_key(with_bits_of<std::uint64_t>(away), inverted);
  }

  SKYRANK_HD std::uint64_t of_level(Stored stored, std::uint64_t bits) const {
    std::uint64_t value = bits;
    if (is_float(stored)) {
      value = float_key(with_bits_of<std::uint64_t>(to_double(stored, bits)), false);
      if (value == kNanKey<std::uint64_t>) return last + 1;
    }
    std::uint64_t begin = 0;
    std::uint64_t end = level_count;
    while (begin < end) {
      const std::uint64_t middle = (begin + end) / 2;
      if (levels[middle].value < value) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    const bool listed = begin < level_count && levels[begin].value == value;
    return directed(listed ? levels[begin].level : last);
  }
};

}  // namespace skyrank::kernels
