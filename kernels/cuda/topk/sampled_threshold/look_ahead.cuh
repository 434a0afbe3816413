#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/topk/block/tiles.cuh"
#include "kernels/cuda/topk/sampled_threshold/policy.hpp"
#include "kernels/cuda/topk/sampled_threshold/tile_reader.cuh"
#include "kernels/cuda/topk/sampled_threshold/wanted_keys.cuh"

// Looks at tiles before the scan's threshold is known, while memory would be idle.
namespace skyrank::kernels::cuda::topk {

/// Does not look at any.
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

/// Each thread finds the least of its keys in each of the block's first tiles. Only what threads have loaded that have
/// a wanted one is read again, by as few loads of a warp as it takes.
template <class Rows>
class LookAhead {
 public:
  using Key = typename Rows::Item;

  static constexpr unsigned kTiles = LookAheadPolicy::kTiles;  ///< tiles of a block, at most

  /// A warp's, in shared memory.
  struct Memory {
    Key least[kTiles][kLanes];
  };
  /// The loads to read again: lanes' parts of tiles, by number of both.
  struct Again {
    unsigned char parts[kTiles * kLanes];
  };
  static_assert(kTiles * kLanes <= 256);

  /// All lanes call.
  __device__ LookAhead(const Rows& rows, Memory& memory, Again& again) : memory_(memory), again_(again) {
    const TileReader<Rows> reader(rows);
    // Only where these are all tiles the L1 cache still has much of them when they are read again.
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

  /// Adds to what is found the wanted elements of the tiles that it has looked at, the block's first waves. How many
  /// there are. The memory may be used by what is found. All lanes call.
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
    return __reduce_max_sync(kAllLanes, looked_);  // the same for all lanes, which the compiler does not know
  }

 private:
  __device__ static unsigned lane() { return threadIdx.x % kLanes; }

  /// Lists the lanes' parts of the tiles that have a key which is wanted. How many there are. All lanes call.
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
