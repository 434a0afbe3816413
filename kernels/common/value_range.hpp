#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace skyrank::kernels {

/// The values between two bounds, both inclusive; none where the lower bound is above the upper one.
template <class T>
struct ValueRange {
  T lowest;
  T highest;
};

/// Returns the values of type T that lie in a range of a wider type.
template <class T, class Wide>
ValueRange<T> narrowed(const ValueRange<Wide>& wide) {
  using Limits = std::numeric_limits<T>;
  constexpr ValueRange<T> kEmpty = {Limits::is_iec559 ? T(1) : Limits::max(),
                                    Limits::is_iec559 ? T(0) : Limits::lowest()};
  if (!(wide.lowest <= wide.highest)) return kEmpty;
  if constexpr (Limits::is_iec559) {
    ValueRange<T> range = {static_cast<T>(wide.lowest), static_cast<T>(wide.highest)};
    if (static_cast<Wide>(range.lowest) < wide.lowest) range.lowest = std::nextafter(range.lowest, Limits::infinity());
    if (static_cast<Wide>(range.highest) > wide.highest) {
      range.highest = std::nextafter(range.highest, -Limits::infinity());
    }
    return range;
  } else {
    if (wide.lowest > Wide{Limits::max()} || wide.highest < Wide{Limits::lowest()}) return kEmpty;
    return {static_cast<T>(std::max(wide.lowest, Wide{Limits::lowest()})),
            static_cast<T>(std::min(wide.highest, Wide{Limits::max()}))};
  }
}

}  // namespace skyrank::kernels
