#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/context.hpp"

// Compaction by bits: one for each position says whether it stays; its new position is the number of ones before it.
namespace skyrank::kernels::cuda::skyline {

/// Words for `bits` bits, and one more, so that the rank of the end can be asked for.
constexpr std::size_t words_for_ranks(std::size_t bits) { return bits / 32 + 2; }

/// Selects the bits of an array that count as ones.
struct BitSelection {
  const std::uint32_t* words;
  bool zeros;                  ///< the zeros, not the ones
  const std::uint32_t* first;  ///< only those from here on; in device memory; null: from 0 on
  const std::uint32_t* size;   ///< only those before here; in device memory
};

/// Writes what is selected to `kept`, the number of ones in the words before each to `before`, and that of all of them
/// to `total`, in device memory: words_for_ranks(size) words of each.
void rank_bits(const BitSelection& selection, std::uint32_t* kept, std::uint32_t* before, std::uint32_t* total,
               DeviceContext& device);

/// The output of rank_bits.
struct Ranks {
  const std::uint32_t* kept;
  const std::uint32_t* before;

  __device__ bool keeps(std::uint32_t i) const { return (kept[i / 32] >> (i % 32) & 1u) != 0; }
  __device__ std::uint32_t of(std::uint32_t i) const {
    const std::uint32_t earlier = kept[i / 32] & ((1u << (i % 32)) - 1);
    return before[i / 32] + static_cast<std::uint32_t>(__popc(earlier));
  }
};

}  // namespace skyrank::kernels::cuda::skyline
