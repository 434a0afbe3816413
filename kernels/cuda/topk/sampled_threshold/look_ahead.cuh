#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/cuda/device/block.cuh"
#include "kernels/cuda/topk/sampled_threshold/narrow_scan.cuh"
#include "kernels/cuda/topk/tiles.cuh"

// What the blocks of a scan do before its threshold is known, when memory would be idle.
namespace skyrank::kernels::cuda {

/// The least of a thread's keys.
template <class Key, unsigned kItems>
__device__ Key least_of(const Key (&keys)[kItems]) {
  Key least = keys[0];
#pragma unroll
  for (unsigned i = 1; i < kItems; ++i) least = keys[i] < least ? keys[i] : least;
  return least;
}

/// The least of a thread's keys in a tile, or 0, which any threshold lets through.
template <class Rows>
__device__ typename Rows::Item least_of_tile(const Rows& rows, std::size_t tile) {
  using Key = typename Rows::Item;
  if constexpr (sizeof(Key) < 4) {
    typename NarrowReader<Rows>::Words loaded;
    NarrowReader<Rows>(rows).load(static_cast<unsigned>(tile), loaded);
    return loaded.template least<Key>();
  } else {
    Key keys[Rows::kItems];
    rows.load(tile, keys);  // what is not there is 0
    return least_of(keys);
  }
}

/// Each block's first tile is brought to the L2 cache.
template <class Rows>
struct PrefetchFirst {
  __device__ explicit PrefetchFirst(const Rows& rows) { rows.prefetch(blockIdx.x); }

  template <class Most>
  __device__ static bool may_have(unsigned /*which*/, const Most& /*most*/) {
    return true;
  }
};

/// Each warp finds the least key of its part of each of the block's first tiles. Parts without a wanted one are not
/// read again, the others most likely from the L2 cache.
template <class Rows>
class LookAhead {
 public:
  using Key = typename Rows::Item;

  /// Tiles of a block. Of 16 KiB each those of all blocks of an H200 are 52 MB, about what its L2 cache holds, and
  /// reading them takes about as long as finding the threshold.
  static constexpr unsigned kTiles = 6;
  /// With so many tiles that have a key of zero, most have one, and the threshold may be zero: then few are to be read.
  static constexpr unsigned kMostZeros = 2;

  /// All lanes call.
  __device__ explicit LookAhead(const Rows& rows) {
    unsigned which = 0;
    unsigned zeros = 0;
    for (TurnsOfTiles turns(rows.count()); which < kTiles && turns.some(); turns.next(), ++which) {
      const Key least = least_of_warp(least_of_tile(rows, turns.tile()));
      zeros += least == 0 ? 1 : 0;
      if (zeros == kMostZeros) break;
      if (threadIdx.x % kLanes == which) least_ = least;
    }
  }

  /// Whether the warp may have a key of at most `most()`, a key or -1, in the block's tile number `which`. All lanes
  /// call.
  template <class Most>
  __device__ bool may_have(unsigned which, const Most& most) const {
    return which >= kTiles || __shfl_sync(kAllLanes, least_, static_cast<int>(which)) <= most();
  }

 private:
  Key least_ = 0;  ///< of the tile with this lane's number
};

}  // namespace skyrank::kernels::cuda
