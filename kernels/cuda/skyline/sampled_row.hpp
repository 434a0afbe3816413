#pragma once

#include <cstdint>

#include "kernels/common/hash.hpp"
#include "kernels/common/host_device.hpp"

namespace skyrank::kernels::cuda::skyline {

/// Returns one row of each of `count` equal stretches of [0, n), at a hashed place, so that no order hides rows.
SKYRANK_HD inline std::uint32_t sampled_row(std::uint32_t n, std::uint32_t i, std::uint32_t count) {
  const auto begin = static_cast<std::uint32_t>(std::uint64_t{n} * i / count);
  const auto end = static_cast<std::uint32_t>(std::uint64_t{n} * (i + 1) / count);
  return begin + static_cast<std::uint32_t>(hash_of_place(i)) % (end - begin);
}

}  // namespace skyrank::kernels::cuda::skyline
