#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "kernels/cuda/device/block.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/guess.cuh"
#include "kernels/cuda/topk/sampled_threshold/bins.cuh"
#include "kernels/cuda/topk/sampled_threshold/collector.cuh"
#include "kernels/cuda/topk/sampled_threshold/look_ahead.cuh"
#include "kernels/cuda/topk/sampled_threshold/narrow_bin_rule.cuh"
#include "kernels/cuda/topk/sampled_threshold/narrow_scan.cuh"
#include "kernels/cuda/topk/sampled_threshold/tile_reader.cuh"
#include "kernels/cuda/topk/sampled_threshold/wide_scan.cuh"
#include "kernels/cuda/topk/tiles.cuh"

// One pass over keys that keeps the elements at or below a threshold. `Rows` are tiles of keys (tiles.cuh).
namespace skyrank::kernels::cuda {

/// Adds every element at or below the threshold to what is found.
template <class Rows, class Ahead, class Found>
__device__ void keep_within(const Rows& rows, typename Rows::Element threshold, const Ahead& ahead, Found& found) {
  using Key = typename Rows::Item;
  const StretchBound<Rows> bound(rows, threshold);
  const TileReader<Rows> reader(rows);
  for (TurnsOfTiles turns(rows.count()); turns.some(); turns.next()) {
    const unsigned tile = turns.tile();
    if (!bound.may_be_in(tile)) continue;
    if (!ahead.may_have(turns.which(), [&](Key least) { return bound.admits(least, rows.stretches(tile)); })) continue;
    typename TileReader<Rows>::Words loaded;
    const typename Rows::OfTile stretches = reader.load(tile, loaded);
    if (!__any_sync(kAllLanes, bound.admits(loaded.template least<Key>(), stretches))) continue;
    if constexpr (sizeof(Key) < 4)
      keep_of_narrow_tile(rows, loaded, stretches, bound, threshold, found);
    else
      keep_of_wide_tile(rows, loaded, stretches, bound, threshold, found);
  }
  found.flush();
}

/// Keeps every element at or below the threshold, in any order. `Ahead`: what its blocks do before the threshold is
/// known, PrefetchFirst or LookAhead; the keys were there before.
template <class Rows, class Ahead>
__global__ void __launch_bounds__(kScanThreads, kScanBlocks)
    keep_candidates(Rows rows, Guess<typename Rows::Element>* guess, typename Rows::Element* candidates,
                    std::size_t capacity) {
  using Element = typename Rows::Element;
  // A block's are 32 KiB. Many candidates are as many as all blocks' requests for room, at one place, let through.
  using Found = Collector<Element, 4096 / sizeof(Element)>;
  __shared__ Element buffers[kScanThreads / kLanes][Found::kHeld];
  const Ahead ahead(rows);
  wait_for_previous();
  let_next_start();
  Found found(buffers[threadIdx.x / kLanes], candidates, capacity, &guess->candidates);
  keep_within(rows, guess->threshold, ahead, found);
}

/// Keeps them in bins.
template <class Rows, class Ahead>
__global__ void __launch_bounds__(kScanThreads, kScanBlocks)
    keep_in_bins(Rows rows, Bins<typename Rows::Element> bins) {
  using Element = typename Rows::Element;
  using Knots = std::conditional_t<sizeof(typename Rows::Item) < 4, NarrowKnotsOfBlock<Element>, KnotsOfBlock<Element>>;
  using Found = CollectorTo<Element, BinSink<Element, Knots>>;
  __shared__ Element buffers[kScanThreads / kLanes][Found::kHeld];
  __shared__ Knots knots;
  const Ahead ahead(rows);
  wait_for_previous();
  let_next_start();
  knots.load(bins.rule);
  Found found(buffers[threadIdx.x / kLanes], {bins, knots});
  keep_within(rows, knots.threshold(bins.rule.count), ahead, found);
}

}  // namespace skyrank::kernels::cuda
