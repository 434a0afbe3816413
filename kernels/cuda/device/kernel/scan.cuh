#pragma once

#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_scan.cuh>

#include <cstddef>

#include "kernels/cuda/device/kernel/block.cuh"

// Sums over the threads before one. All threads of a warp, or of a block, call these.
namespace skyrank::kernels::cuda {

/// The sum of `value` over the lanes of the warp before this one, and over all in `total`.
template <class T>
__device__ T sum_before_lane(T value, T& total) {
  using Scan = cub::WarpScan<T>;
  typename Scan::TempStorage none;  // a whole warp passes values on by shuffles
  T before = 0;
  Scan(none).ExclusiveSum(value, before, total);
  return before;
}

namespace detail {

template <unsigned kThreads, class T>
using BlockScan = cub::BlockScan<T, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;

}  // namespace detail

/// Bytes of shared memory that sums over a block take.
template <unsigned kThreads, class T>
inline constexpr std::size_t kScanBytes = sizeof(typename detail::BlockScan<kThreads, T>::TempStorage);

/// The sum of `value` over the threads of a block of kThreads before this one, and over all in `total`.
template <unsigned kThreads, class T>
__device__ T sum_before(T value, T& total) {
  using Scan = detail::BlockScan<kThreads, T>;
  __shared__ typename Scan::TempStorage shared;
  T before = 0;
  __syncthreads();  // the last call's sums have been read
  Scan(shared).ExclusiveSum(value, before, total);
  return before;
}

}  // namespace skyrank::kernels::cuda
