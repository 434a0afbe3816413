#pragma once

#include <cstdint>

#include "kernels/common/problem.hpp"

namespace skyrank::kernels {

/// Calls `f(Key{})` with the key type of a width.
template <class F>
void with_key(KeyWidth width, const F& f) {
  switch (width) {
    case KeyWidth::bytes1: return f(std::uint8_t{});
    case KeyWidth::bytes2: return f(std::uint16_t{});
    case KeyWidth::bytes4: return f(std::uint32_t{});
    case KeyWidth::bytes8: break;
  }
  f(std::uint64_t{});
}

}  // namespace skyrank::kernels
