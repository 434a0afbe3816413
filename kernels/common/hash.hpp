#pragma once

#include <cstdint>

#include "kernels/common/host_device.hpp"

// Hashes of numbers. Answers never depend on them, only which rows a sample has and how evenly values spread.
namespace skyrank::kernels {

/// 2^64 divided by the golden ratio: the increment of SplitMix64.
inline constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;

/// Returns the permutation of 64-bit numbers with which SplitMix64 ends (Steele, Lea, Flood, "Fast Splittable
/// Pseudorandom Number Generators", OOPSLA 2014): each bit of `x` changes about half of the bits of the result.
SKYRANK_HD constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

/// Returns 32 hashed bits of `i`, for the places of sampled rows: cheaper than `mix`, and good enough.
SKYRANK_HD constexpr std::uint64_t hash_of_place(std::uint64_t i) {
  const std::uint64_t hash = (i + 1) * kGoldenRatio;
  return ((hash ^ (hash >> 32)) * 0xD6E8FEB86659FD93) >> 32;
}

}  // namespace skyrank::kernels
