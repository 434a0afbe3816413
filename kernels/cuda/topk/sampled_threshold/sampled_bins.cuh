#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/block/guess.cuh"
#include "kernels/cuda/topk/in_order/least_in_order.hpp"
#include "kernels/cuda/topk/sampled_threshold/bins.cuh"
#include "kernels/cuda/topk/sampled_threshold/rank_bins.cuh"
#include "kernels/cuda/topk/sampled_threshold/threshold.cuh"
#include "kernels/cuda/topk/sampled_threshold/threshold_plan.hpp"

// Host code that all selections share that guess a threshold: the first kernel and the last one, and the memory of the
// elements that a scan between them keeps.
namespace skyrank::kernels::cuda::topk {

/// Memory of a sample, of bins, and of a list.
template <class Element>
class SampledBins {
 public:
  SampledBins(const ThresholdPlan& plan, const KeptPlan& kept, DeviceContext& device)
      : plan_(plan),
        kept_(kept),
        device_(device),
        memory_(device.allocate<Element>(elements_kept(plan, kept))),
        sizes_(device.allocate<unsigned>(some() ? kSizesOfBins : 0)),
        places_(device.allocate<uint2>(kept.bins.beyond)) {
    static_assert(sizeof(uint2) == kPlaceBytes);
  }

  bool some() const { return kept_.bins.some(); }
  Element* list() { return memory_.data(); }

  /// Returns the bins as kernels see them, for elements with row ids from `first` on, `rows` of them.
  Bins<Element> bins(std::uint64_t first, std::uint64_t rows) {
    if (!some()) return {};
    const BinPlan& size = kept_.bins;
    Element* const knots = minima() + plan_.groups();
    Element* const elements = knots + kRoomForKnots;
    return {.rule = {.knots = knots,
                     .count = size.knots,
                     .width = size.width,
                     .low_bins = size.low_bins,
                     .first = first,
                     .rows = rows},
            .sizes = sizes_.data(),
            .elements = elements,
            .count = size.count,
            .room = size.room,
            .beyond = elements + size.in_bins(),
            .places = places_.data(),
            .beyond_room = size.beyond};
  }

  /// Finds the threshold and, where there are bins, their knots. `rows` is what find_threshold samples. `looks_ahead`:
  /// the scan's blocks read rows before they wait for that.
  template <class Rows>
  void sample(const Rows& rows, Guess<Element>* guess, const Bins<Element>& bins, bool looks_ahead = false) {
    launch("find_threshold", find_threshold<Rows>, {.blocks = plan_.blocks, .threads = kSampleThreads},
           device_.stream(), rows, static_cast<unsigned>(plan_.rows), static_cast<unsigned>(plan_.group),
           static_cast<unsigned>(plan_.rank), guess, minima(), device_.arrivals(), bins, looks_ahead);
  }

  /// Puts the k least of what bins hold in order. The guess has failed where they hold fewer.
  void rank(const Bins<Element>& bins, Guess<Element>* guess, const InOrder<Element>& answer) {
    using Share = BinShare<Element>;
    if (Share::shared_bytes() + sizeof(typename Share::Shared) <= device_.properties().shared_bytes_per_block)
      rank_with<false>(bins, guess, answer);
    else
      rank_with<true>(bins, guess, answer);
  }

 private:
  template <bool kLittle>
  void rank_with(const Bins<Element>& bins, Guess<Element>* guess, const InOrder<Element>& answer) {
    const std::size_t shares = std::max(static_cast<std::size_t>(device_.properties().multiprocessors),
                                        blocks_for(answer.k, AnyRankPolicy::kMaxOfShare));
    launch("rank_bins", rank_bins<Element, kLittle>,
           {.blocks = shares,
            .threads = kRankThreads,
            .shared_bytes = BinShare<Element, kLittle>::shared_bytes(),
            .overlaps = device_.properties().overlaps_launches},
           device_.stream(), bins, guess, Ranked<Element>{.answer = answer});
  }

  Element* minima() { return memory_.data() + kept_.listed; }

  ThresholdPlan plan_;
  KeptPlan kept_;
  DeviceContext& device_;
  Buffer<Element> memory_;  ///< the list, the minima of the sample's groups, knots, what bins hold, what is beyond
  Buffer<unsigned> sizes_;  ///< counters of the bins
  Buffer<uint2> places_;
};

}  // namespace skyrank::kernels::cuda::topk
