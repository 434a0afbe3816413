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
#include "kernels/cuda/topk/tiles.cuh"

// One pass over keys that keeps the elements at or below a threshold. `Rows` are tiles of keys (tiles.cuh).
namespace skyrank::kernels::cuda {

/// One of a few values by a number that is known only at run time: registers have no addresses.
template <class T, unsigned kCount>
__device__ T chosen_of(const T (&values)[kCount], unsigned which) {
  if constexpr (kCount == 1) {
    return values[0];
  } else {
    T halves[kCount / 2];
#pragma unroll
    for (unsigned i = 0; i < kCount / 2; ++i) halves[i] = (which & 1) != 0 ? values[2 * i + 1] : values[2 * i];
    return chosen_of(halves, which / 2);
  }
}

/// Adds every element at or below the threshold to what is found.
template <class Rows, class Ahead, class Found>
__device__ void keep_within(const Rows& rows, typename Rows::Element threshold, const Ahead& ahead, Found& found) {
  using Key = typename Rows::Item;
  unsigned which = 0;
  for (TurnsOfTiles turns(rows.count()); turns.some(); turns.next(), ++which) {
    const std::size_t tile = turns.tile();
    const TileBound<Rows> bound(rows, tile, threshold);
    if (bound.none || !ahead.may_have(which, [&] { return bound.most; })) continue;
    Key keys[Rows::kItems];
    const unsigned present = rows.load(tile, keys);
    if (!__any_sync(kAllLanes, least_of(keys) <= bound.most)) continue;
    const auto element = [&](unsigned i) { return rows.element(keys[i], rows.place(tile, i)); };
    unsigned taken = 0;
#pragma unroll
    for (unsigned i = 0; i < Rows::kItems; ++i) taken |= unsigned{keys[i] <= bound.most} << i;
    if (bound.mixed) {
#pragma unroll
      for (unsigned i = 0; i < Rows::kItems; ++i) taken &= ~(unsigned{element(i) > threshold} << i);
    }
    found.template add<Rows::kItems>(taken & present, element,
                                     [&](unsigned i) { return rows.element(chosen_of(keys, i), rows.place(tile, i)); });
  }
  found.flush();
}

template <class Rows, class Ahead, class Found>
__device__ void keep_all_within(const Rows& rows, typename Rows::Element threshold, const Ahead& ahead, Found& found) {
  if constexpr (sizeof(typename Rows::Item) < 4)
    keep_narrow_within(rows, threshold, ahead, found);
  else
    keep_within(rows, threshold, ahead, found);
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
  keep_all_within(rows, guess->threshold, ahead, found);
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
  keep_all_within(rows, knots.threshold(bins.rule.count), ahead, found);
}

}  // namespace skyrank::kernels::cuda
