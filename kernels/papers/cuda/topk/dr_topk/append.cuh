#pragma once

#include <cstddef>

namespace skyrank::kernels::cuda::topk::delegate {

/// Appends to `vector`, of `*size` values, those of a block's values that are wanted; its order is that of chance. All
/// threads of the block call it. One atomic operation on `*size` for all of them, none where nothing is wanted.
template <int kEach, class Value>
__device__ void append(const Value (&values)[kEach], const bool (&wanted)[kEach], unsigned long long* size,
                       Value* vector) {
  __shared__ unsigned in_block;
  __shared__ unsigned long long place_of_block;
  constexpr unsigned kAll = 0xffffffffu;
  const unsigned lane = threadIdx.x % 32;
  unsigned mine = 0;
  for (int i = 0; i < kEach; ++i) mine += wanted[i] ? 1 : 0;
  if (threadIdx.x == 0) in_block = 0;
  if (__syncthreads_or(mine > 0 ? 1 : 0) == 0) return;

  unsigned up_to_here = mine;
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const unsigned below = __shfl_up_sync(kAll, up_to_here, distance);
    if (lane >= distance) up_to_here += below;
  }
  unsigned place_of_warp = 0;
  if (lane == 31) place_of_warp = atomicAdd(&in_block, up_to_here);
  place_of_warp = __shfl_sync(kAll, place_of_warp, 31);
  __syncthreads();
  if (threadIdx.x == 0) place_of_block = atomicAdd(size, static_cast<unsigned long long>(in_block));
  __syncthreads();
  std::size_t place = place_of_block + place_of_warp + (up_to_here - mine);
  for (int i = 0; i < kEach; ++i) {
    if (wanted[i]) vector[place++] = values[i];
  }
}

}  // namespace skyrank::kernels::cuda::topk::delegate
