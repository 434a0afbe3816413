#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/topk/block/tiles.cuh"
#include "kernels/cuda/topk/sampled_threshold/policy.hpp"
#include "kernels/cuda/topk/sampled_threshold/tile_reader.cuh"
#include "kernels/cuda/topk/sampled_threshold/wanted_keys.cuh"

// Reads tiles before the threshold of a scan is known, while memory would be idle.
namespace skyrank::kernels::cuda::topk {

/// Reads no tile before the threshold is known.
template <class Rows>
struct NoLookAhead {
  struct Memory {};
  struct Again {};

  __device__ NoLookAhead(const Rows& /*rows*/, Memory& /*memory*/, Again& /*again*/) {}

  template <class Found>
  __device__ unsigned keep(const Rows& /*rows*/, const StretchBound<Rows>& /*bound*/,
                           typename Rows::Element /*threshold*/, Found& /*found*/) const {
    return 0;
  }
};

/// Reads the first tiles of a block; each thread keeps the least of its keys in each of them. Once the threshold is
/// known, only the threads' parts of tiles whose least key is wanted are read again, a warp of them at a time.
template <class Rows>
class LookAhead {
 public:
  using Key = typename Rows::Item;

  static constexpr unsigned kTiles = LookAheadPolicy::kTiles;  ///< maximum number of tiles of a block

  /// Shared memory of a warp: the least key of each lane's part of each tile.
  struct Memory {
    Key least[kTiles][kLanes];
  };
  /// Parts of tiles to read again, numbered tile * kLanes + lane.
  struct Again {
    unsigned char parts[kTiles * kLanes];
  };
  static_assert(kTiles * kLanes <= 256);

  /// Reads the tiles. All lanes of a warp must call it.
  __device__ LookAhead(const Rows& rows, Memory& memory, Again& again) : memory_(memory), again_(again) {
    const TileReader<Rows> reader(rows);
    // The L1 cache still has much of these tiles when they are read again, but only if there are no others.
    const bool all = rows.count() <= std::size_t{kTiles} * gridDim.x;
    unsigned zeros = 0;
    for (TileWaves waves(rows.count()); waves.which() < kTiles && waves.some(); waves.next()) {
      typename TileReader<Rows>::Words loaded;
      reader.load(waves.tile(), loaded, !all);
      const Key least = loaded.template least<Key>();
      zeros += __any_sync(kAllLanes, least == 0) ? 1 : 0;
      if (zeros == LookAheadPolicy::kMaxZeros) break;
      memory_.least[waves.which()][lane()] = least;
      looked_ = waves.which() + 1;
    }
  }

  /// Adds the wanted elements of the tiles that were read to `found`, and returns the number of these tiles, the first
  /// waves of the block. `found` may use the same shared memory. All lanes of a warp must call it.
  template <class Found>
  __device__ unsigned keep(const Rows& rows, const StretchBound<Rows>& bound, typename Rows::Element threshold,
                           Found& found) const {
    const unsigned count = list_wanted(rows, bound);
    for (unsigned first = 0; first < count; first += kLanes) {
      const bool some = first + lane() < count;
      const unsigned part = again_.parts[some ? first + lane() : first];
      const unsigned thread = threadIdx.x / kLanes * kLanes + part % kLanes;
      typename TileReader<Rows>::Words loaded;
      const auto stretches =
          TileReader<Rows>(rows, thread).load(TileWaves(rows.count(), part / kLanes).tile(), loaded, false);
      const auto add = [&](unsigned taken, auto, auto element_at) {
        found.add_in_rounds(some ? taken : 0, element_at);
      };
      use_wanted(rows, loaded, stretches, bound, threshold, add, thread);
    }
    return __reduce_max_sync(kAllLanes, looked_);  // tells the compiler that all lanes have the same number
  }

 private:
  __device__ static unsigned lane() { return threadIdx.x % kLanes; }

  /// Lists the lanes' parts of tiles that have a wanted key, and returns their number. All lanes of a warp must call
  /// it.
  __device__ unsigned list_wanted(const Rows& rows, const StretchBound<Rows>& bound) const {
    unsigned count = 0;
    for (TileWaves waves(rows.count()); waves.which() < looked_; waves.next()) {
      const Key least = memory_.least[waves.which()][lane()];
      bool wanted = bound.admits_some(least);
      if (__any_sync(kAllLanes, bound.ties_with(least))) wanted = bound.admits(least, rows.stretches(waves.tile()));
      const unsigned lanes = __ballot_sync(kAllLanes, wanted);
      const auto before = static_cast<unsigned>(__popc(lanes & ((1u << lane()) - 1)));
      if (wanted) again_.parts[count + before] = static_cast<unsigned char>(waves.which() * kLanes + lane());
      count += static_cast<unsigned>(__popc(lanes));
    }
    __syncwarp();
    return count;
  }

  Memory& memory_;
  Again& again_;
  unsigned looked_ = 0;
};

}  // namespace skyrank::kernels::cuda::topk
