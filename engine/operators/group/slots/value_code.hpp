#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <skyrank/types.hpp>

namespace skyrank::exec {

/// Returns equal codes for equal values of a type; NaNs are equal, and so are the zeros.
template <class T>
std::uint64_t code_of(T value) {
  if constexpr (std::is_same_v<T, Float16>) {
    return code_of(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    if (std::isnan(value)) return std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN());
    return std::bit_cast<Bits>(value == 0 ? T{0} : value);
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

}  // namespace skyrank::exec
