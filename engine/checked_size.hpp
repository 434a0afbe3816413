#pragma once

#include <concepts>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <skyrank/error.hpp>

namespace skyrank {

/// Checks sizes and counts that a file or a peer states. Whatever comes from outside passes one of these functions
/// before it is multiplied, converted or allocated. `what` names the quantity in the message of the DataError, such as
/// "the number of rows of row group 3"; whoever knows the file puts its name before the message.

/// Returns `value` as a size. DataError where it is negative or greater than `could_hold`, which is what the input
/// could hold at most, such as the bytes of a file.
template <std::integral T, std::integral Limit>
std::size_t checked_count(T value, Limit could_hold, std::string_view what) {
  if (!std::in_range<std::size_t>(value) || std::cmp_greater(value, could_hold)) {
    throw DataError(std::string(what) + " is " + std::to_string(value) + ", but at most " + std::to_string(could_hold) +
                    " is possible: the data are damaged");
  }
  return static_cast<std::size_t>(value);
}

namespace detail {

/// Sizes up to which sums and products stay; they fit the signed 64 bits of offsets and of Arrow's lengths as well.
inline constexpr std::size_t kMaxSize = std::numeric_limits<std::ptrdiff_t>::max();

[[noreturn]] inline void throw_too_large(std::string_view what) {
  throw DataError(std::string(what) + " is beyond what memory can address: the data are damaged");
}

}  // namespace detail

/// Returns a * b. DataError where a factor is negative or the product is greater than 2^63 - 1.
template <std::integral A, std::integral B>
std::size_t checked_multiply(A a, B b, std::string_view what) {
  std::size_t product = 0;
  if (!std::in_range<std::size_t>(a) || !std::in_range<std::size_t>(b) ||
      __builtin_mul_overflow(static_cast<std::size_t>(a), static_cast<std::size_t>(b), &product) ||
      product > detail::kMaxSize) {
    detail::throw_too_large(what);
  }
  return product;
}

/// Returns a + b. DataError where a summand is negative or the sum is greater than 2^63 - 1.
template <std::integral A, std::integral B>
std::size_t checked_add(A a, B b, std::string_view what) {
  std::size_t sum = 0;
  if (!std::in_range<std::size_t>(a) || !std::in_range<std::size_t>(b) ||
      __builtin_add_overflow(static_cast<std::size_t>(a), static_cast<std::size_t>(b), &sum) ||
      sum > detail::kMaxSize) {
    detail::throw_too_large(what);
  }
  return sum;
}

}  // namespace skyrank
