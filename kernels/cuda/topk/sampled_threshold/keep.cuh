#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/block/guess.cuh"
#include "kernels/cuda/topk/block/tiles.cuh"
#include "kernels/cuda/topk/sampled_threshold/bins.cuh"
#include "kernels/cuda/topk/sampled_threshold/collector.cuh"
#include "kernels/cuda/topk/sampled_threshold/look_ahead.cuh"
#include "kernels/cuda/topk/sampled_threshold/tile_reader.cuh"
#include "kernels/cuda/topk/sampled_threshold/wanted_keys.cuh"

// Keeps the elements at or below a threshold, in one pass over keys. `Rows` are tiles of keys (tiles.cuh).
namespace skyrank::kernels::cuda::topk {

/// Adds every element at or below the threshold to `found`.
template <class Rows, class Ahead, class Found>
__device__ void keep_within(const Rows& rows, typename Rows::Element threshold, const Ahead& ahead, Found& found) {
  using Key = typename Rows::Item;
  const StretchBound<Rows> bound(rows, threshold);
  const unsigned done = ahead.keep(rows, bound, threshold, found);
  const TileReader<Rows> reader(rows);
  for (TileWaves waves(rows.count(), done); waves.some(); waves.next()) {
    const unsigned tile = waves.tile();
    if (!bound.may_be_in(tile)) continue;
    typename TileReader<Rows>::Words loaded;
    const typename Rows::OfTile stretches = reader.load(tile, loaded, true);
    if (!__any_sync(kAllLanes, bound.admits(loaded.template least<Key>(), stretches))) continue;
    constexpr unsigned kItems = Rows::kLoadsOfTile * Rows::kWidth;
    use_wanted(rows, loaded, stretches, bound, threshold,
               [&](unsigned taken, auto element, auto) { found.template add<kItems>(taken, element); });
  }
  found.flush();
}

/// Shared memory of a warp: the least keys of the first tiles, and later the elements found.
template <class Ahead, class Found, class Element>
struct WarpMemory {
  union {
    typename Ahead::Memory ahead;
    Element held[Found::kHeld];
  };
  typename Ahead::Again again;
};

/// Keeps every element at or below the threshold, in any order. `Ahead` is the work of a block before the threshold is
/// known: NoLookAhead, or LookAhead where the previous kernel does not write the keys.
template <class Rows, class Ahead>
__global__ void __launch_bounds__(kScanThreads, kScanBlocks)
    keep_candidates(Rows rows, Guess<typename Rows::Element>* guess, typename Rows::Element* candidates,
                    std::size_t capacity) {
  using Element = typename Rows::Element;
  // A block holds 32 KiB of elements. Blocks reserve room for them by atomics on one counter, whose rate limits a scan
  // that keeps many candidates.
  using Found = Collector<Element, AnyScanPolicy::kHeldBytesOfList / sizeof(Element)>;
  __shared__ WarpMemory<Ahead, Found, Element> of_warps[kScanThreads / kLanes];
  auto& memory = of_warps[threadIdx.x / kLanes];
  const Ahead ahead(rows, memory.ahead, memory.again);
  wait_for_previous();
  let_next_start();
  Found found(memory.held, {candidates, capacity, &guess->candidates});
  keep_within(rows, guess->threshold, ahead, found);
}

/// Keeps the same elements in bins.
template <class Rows, class Ahead>
__global__ void __launch_bounds__(kScanThreads, kScanBlocks)
    keep_in_bins(const __grid_constant__ Rows rows, const __grid_constant__ Bins<typename Rows::Element> bins) {
  using Element = typename Rows::Element;
  using Found = CollectorTo<Element, BinSink<Element>>;
  __shared__ WarpMemory<Ahead, Found, Element> of_warps[kScanThreads / kLanes];
  __shared__ KnotsOfBlock<Element> knots;
  auto& memory = of_warps[threadIdx.x / kLanes];
  const Ahead ahead(rows, memory.ahead, memory.again);
  wait_for_previous();
  let_next_start();
  knots.load(bins.rule);
  Found found(memory.held, {bins, knots});
  keep_within(rows, knots.threshold(bins.rule.count), ahead, found);
}

}  // namespace skyrank::kernels::cuda::topk
