#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/bins.cuh"
#include "kernels/cuda/topk/guess.cuh"
#include "kernels/cuda/topk/least_in_order.hpp"
#include "kernels/cuda/topk/threshold.cuh"
#include "kernels/cuda/topk/threshold_plan.hpp"

// What all selections that guess a threshold share on the host: the first kernel and the last one, and the memory of
// what a scan between them keeps.
namespace skyrank::kernels::cuda {

/// Memory of a sample, of bins, and of a list.
template <class Element>
class SampledBins {
 public:
  /// There are no bins where `bins` has no knots. The list has room for `listed` elements.
  SampledBins(const ThresholdPlan& plan, const BinPlan& bins, std::size_t listed, DeviceContext& device)
      : plan_(plan),
        size_(bins),
        device_(device),
        listed_((listed + kAligned - 1) / kAligned * kAligned),
        memory_(device.allocate<Element>(listed_ + groups() + (some() ? kRoomForKnots + in_bins() + bins.beyond : 0))),
        sizes_(device.allocate<unsigned>(some() ? kBins + 1 : 0)),
        places_(device.allocate<uint2>(bins.beyond)) {}

  bool some() const { return size_.knots > 0; }
  Element* list() { return memory_.data(); }

  /// What kernels know of the bins, of elements with row ids from `first` on, `rows` of them.
  Bins<Element> bins(std::uint64_t first, std::uint64_t rows) {
    if (!some()) return {};
    Element* const knots = minima() + groups();
    Element* const elements = knots + kRoomForKnots;
    return {.rule = {.knots = knots,
                     .count = size_.knots,
                     .width = size_.width,
                     .low_bins = size_.low_bins,
                     .first = first,
                     .rows = rows},
            .sizes = sizes_.data(),
            .elements = elements,
            .count = size_.count,
            .room = size_.room,
            .beyond = elements + in_bins(),
            .places = places_.data(),
            .beyond_room = size_.beyond};
  }

  /// Finds the threshold and, where there are bins, their knots. `rows` is what find_threshold samples. `looks_ahead`:
  /// the scan's blocks read rows before they wait for that. `counters`: what these count in.
  template <class Rows>
  void sample(const Rows& rows, Guess<Element>* guess, const Bins<Element>& bins, bool looks_ahead = false,
              const Zeros& counters = {}) {
    launch("find_threshold", find_threshold<Rows>, {.blocks = plan_.blocks, .threads = kSampleThreads},
           device_.stream(), rows, static_cast<unsigned>(plan_.rows), static_cast<unsigned>(plan_.group),
           static_cast<unsigned>(plan_.rank), guess, minima(), device_.arrivals(), bins, looks_ahead, counters);
  }

  /// Puts the k least of what bins hold in order. The guess has failed where they hold fewer.
  void rank(const Bins<Element>& bins, Guess<Element>* guess, const InOrder<Element>& answer) {
    const std::size_t shares =
        std::max(static_cast<std::size_t>(device_.properties().multiprocessors), blocks_for(answer.k, kMostOfShare));
    launch("rank_bins", rank_bins<Element>,
           {.blocks = shares,
            .threads = kRankThreads,
            .shared_bytes = BinShare<Element>::shared_bytes(),
            .overlaps = device_.properties().capability >= 90},
           device_.stream(), bins, guess, Ranked<Element>{.answer = answer});
  }

 private:
  static constexpr std::size_t kAligned = 32;  ///< elements: bins begin where sectors of memory do

  std::size_t groups() const { return plan_.sample() / plan_.group; }
  std::size_t in_bins() const { return std::size_t{size_.count} * size_.room; }
  Element* minima() { return memory_.data() + listed_; }

  ThresholdPlan plan_;
  BinPlan size_;
  DeviceContext& device_;
  std::size_t listed_;
  Buffer<Element> memory_;  ///< the list, the minima of the sample's groups, knots, what bins hold, what is beyond
  Buffer<unsigned> sizes_;  ///< of bins
  Buffer<uint2> places_;
};

}  // namespace skyrank::kernels::cuda
