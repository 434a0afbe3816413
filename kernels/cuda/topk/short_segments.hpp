#pragma once

#include <cstddef>

#include "kernels/common/host_device.hpp"
#include "kernels/cuda/topk/batched.hpp"

namespace skyrank::kernels::cuda {

/// The largest k for which a segment may be a warp's: each of its lanes bounds one, but loosely for so many.
inline constexpr std::size_t kMostOfWarp = 32;

/// Whether a segment of so many rows is for a warp rather than for a block.
SKYRANK_HD inline bool for_warps(std::size_t rows, std::size_t k) {
  return rows <= 2048 ? k <= kMostOfWarp : rows <= 8192 && k <= kMostOfWarp / 2;
}

/// `least_of_segments` for those segments that are for warps; leaves the places of the others alone. k <= kMostOfWarp.
template <class E>
void least_of_short_segments(const E& elements, const Segments& segments, std::size_t k, RowId* rows,
                             DeviceContext& device);

}  // namespace skyrank::kernels::cuda
