#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/cuda/device/block.cuh"
#include "kernels/cuda/topk/sampled_threshold/tile_reader.cuh"
#include "kernels/cuda/topk/tiles.cuh"

// What the blocks of a scan do before its threshold is known, when memory would be idle.
namespace skyrank::kernels::cuda {

/// Each block's first tile is brought to the L2 cache.
template <class Rows>
struct PrefetchFirst {
  __device__ explicit PrefetchFirst(const Rows& rows) { rows.prefetch(blockIdx.x); }

  template <class Admits>
  __device__ static bool may_have(unsigned /*which*/, const Admits& /*admits*/) {
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
    const TileReader<Rows> reader(rows);
    unsigned zeros = 0;
    for (TurnsOfTiles turns(rows.count()); turns.which() < kTiles && turns.some(); turns.next()) {
      typename TileReader<Rows>::Words loaded;
      reader.load(turns.tile(), loaded);
      const Key least = least_of_warp(loaded.template least<Key>());
      zeros += least == 0 ? 1 : 0;
      if (zeros == kMostZeros) break;
      if (threadIdx.x % kLanes == turns.which()) least_ = least;
    }
  }

  /// Whether the warp may have a key that is wanted in the block's tile number `which`, where `admits` says whether a
  /// key is. All lanes call.
  template <class Admits>
  __device__ bool may_have(unsigned which, const Admits& admits) const {
    return which >= kTiles || admits(static_cast<Key>(__shfl_sync(kAllLanes, least_, static_cast<int>(which))));
  }

 private:
  Key least_ = 0;  ///< of the tile with this lane's number
};

}  // namespace skyrank::kernels::cuda
