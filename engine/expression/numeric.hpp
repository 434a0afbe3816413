#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <optional>
#include <utility>

#include <skyrank/types.hpp>

#include "engine/time.hpp"

// Exact arithmetic across number types and time units: nothing here rounds.
namespace skyrank::exec {

__extension__ using int128 = __int128;

inline constexpr double kTwoTo63 = 9223372036854775808.0;
inline constexpr double kTwoTo64 = 18446744073709551616.0;

/// The order of two numbers by value, whatever their types; unordered only with NaN.
inline std::partial_ordering order(std::int64_t a, std::int64_t b) { return a <=> b; }
inline std::partial_ordering order(std::uint64_t a, std::uint64_t b) { return a <=> b; }
inline std::partial_ordering order(double a, double b) { return a <=> b; }

inline std::partial_ordering order(std::int64_t a, std::uint64_t b) {
  return a < 0 ? std::partial_ordering::less : static_cast<std::uint64_t>(a) <=> b;
}

template <class Integer>
std::partial_ordering order(Integer a, double b) {
  constexpr bool is_signed = std::is_signed_v<Integer>;
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (b >= (is_signed ? kTwoTo63 : kTwoTo64)) return std::partial_ordering::less;
  if (b < (is_signed ? -kTwoTo63 : 0.0)) return std::partial_ordering::greater;
  const auto whole = static_cast<Integer>(b);
  if (a != whole) return a <=> whole;
  return 0.0 <=> b - static_cast<double>(whole);
}

inline std::partial_ordering order(std::uint64_t a, std::int64_t b) { return 0 <=> order(b, a); }

template <class Integer>
std::partial_ordering order(double a, Integer b) {
  return 0 <=> order(b, a);
}

/// `value` in `type` (an evaluation type; decimals take its scale) when it holds exactly this value; nothing otherwise,
/// and nothing for kinds that do not compare. NULL stays NULL.
std::optional<Value> convert_exactly(const Value& value, DataType type);

}  // namespace skyrank::exec
