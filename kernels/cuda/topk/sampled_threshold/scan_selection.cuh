#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/common/column_scan.hpp"
#include "kernels/common/keys.hpp"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/range.hpp"
#include "kernels/cuda/device/run.hpp"
#include "kernels/cuda/topk/block/element.cuh"
#include "kernels/cuda/topk/finish.hpp"
#include "kernels/cuda/topk/in_order/least_in_order.hpp"
#include "kernels/cuda/topk/sampled_threshold/bins.cuh"
#include "kernels/cuda/topk/sampled_threshold/collector.cuh"
#include "kernels/cuda/topk/sampled_threshold/sampled_bins.cuh"
#include "kernels/cuda/topk/sampled_threshold/threshold.cuh"

// The parts that selections from rows without keys in memory share: a threshold from a sample, the candidates that one
// pass keeps, their order. In the sample, rows that do not pass the filter have the greatest key. If one of those is
// the threshold, few rows pass: all of these are candidates then.
namespace skyrank::kernels::cuda::topk {

/// Elements that are to be kept: those at or below the threshold.
template <class Kind>
struct Wanted {
  using Element = typename Kind::Element;
  using Key = typename Kind::Key;

  Element threshold;

  /// Returns true if all rows that pass are candidates.
  __device__ bool holds_all() const { return most() == kNullKey<Key>; }
  __device__ bool holds(Element element) const { return element <= threshold || holds_all(); }
  /// The greatest key of an element that is.
  __device__ Key most() const { return Kind::key(threshold); }
};

/// Rows of the threshold's key that are wanted: those up to a row, or from one on where ties go to the last.
struct TieLimit {
  unsigned row;
  bool from_row;

  /// Returns true if none of some neighbouring rows is wanted.
  __device__ bool leaves_all(unsigned first, unsigned last) const { return from_row ? last < row : first > row; }
};

template <class Kind>
__device__ TieLimit tie_limit(const Kind& kind, const Wanted<Kind>& wanted) {
  const bool from_row = kind.complement != 0;
  const unsigned none_left = from_row ? 0 : ~0u;
  return {wanted.holds_all() ? none_left : static_cast<unsigned>(kind.row(wanted.threshold)), from_row};
}

/// The destination of a scan's candidates: bins if there are some, otherwise a list. A list too if all rows that pass
/// are candidates, because a sample says nothing of those.
template <class Element>
struct ScanTarget {
  Guess<Element>* guess;
  Element* candidates;
  std::size_t capacity;
  Bins<Element> bins;
};

/// A warp's way there.
template <class Element>
struct ScanSink {
  const ScanTarget<Element>& target;
  const KnotsOfBlock<Element>* knots;  ///< null: to the list

  __device__ void put(const Element* held, unsigned size) const {
    if (knots != nullptr) {
      BinSink<Element>{target.bins, *knots}.put(held, size);
    } else {
      ListSink<Element>{target.candidates, target.capacity, &target.guess->candidates}.put(held, size);
    }
  }
};

template <class Element>
using ScanCollector = CollectorTo<Element, ScanSink<Element>>;

/// The sink of a block's warps, once the threshold is known: then its knots are. All threads of the block call it.
template <class Element>
__device__ ScanSink<Element> sink_of(const ScanTarget<Element>& target, bool holds_all, KnotsOfBlock<Element>& knots) {
  if (!target.bins.some()) return {target, nullptr};
  knots.load(target.bins.rule);
  return {target, holds_all ? nullptr : &knots};
}

/// A selection under way. `Rows` is what find_threshold samples; it has a `Kind` of elements.
template <class Rows>
class ScanSelection {
 public:
  using Kind = typename Rows::Kind;
  using Element = typename Kind::Element;

  ScanSelection(const ScanProblem& problem, const ThresholdPlan& plan, DeviceContext& device)
      : problem_(problem),
        plan_(plan),
        device_(device),
        guess_(device.allocate<Guess<Element>>(1)),
        bins_(plan, plan_kept_of_scan(plan), device),
        rows_(device.allocate<RowId>(problem.ties == TieRule::last ? 0 : problem.k)),
        elements_(device.allocate<Element>(problem.ties == TieRule::last ? problem.k : 0)) {}

  static Kind kind_of(TieRule ties) {
    return {.keys = nullptr, .complement = ties == TieRule::last ? Kind::kRowMask : Element{0}};
  }

  /// In the order of the device's stream. `keep` is a kernel that adds candidates to a target.
  template <class... Parameters, class... Arguments>
  void start(const Rows& rows, void (*keep)(Parameters...), const Grid& grid, const Arguments&... arguments) {
    const ScanTarget<Element> target = this->target();
    bins_.sample(rows, guess_.data(), target.bins, false);
    Grid overlapping = grid;
    overlapping.overlaps = device_.properties().overlaps_launches;
    launch("keep_scanned", keep, overlapping, device_.stream(), arguments..., target);
    if (bins_.some()) {
      // Bins hold none where all rows that pass are candidates, and the guess fails.
      bins_.rank(target.bins, guess_.data(), answer(problem_.k));
    } else {
      put_in_order(plan_.expected, problem_.k);
    }
  }

  /// The answer, once that is done; nothing where the guess was wrong.
  bool finish(TopKSolution& solution) {
    const Guess<Element> guess = fetched();
    const bool all = Kind::key(guess.threshold) == kNullKey<typename Kind::Key>;
    if (bins_.some() && !all) {
      if (guess.failed != 0) return false;
      solution.rows.resize(problem_.k);
    } else {
      if (guess.candidates > plan_.capacity || (!all && guess.candidates < problem_.k)) return false;
      solution.rows.resize(std::min<std::size_t>(problem_.k, guess.candidates));
    }
    if (solution.rows.empty()) return true;
    if (guess.failed != 0) {
      // Fewer rows pass than were expected to be put in order.
      SKYRANK_CUDA_CALL(cudaMemsetAsync(guess_.data(), 0, sizeof(guess.failed), device_.stream()));
      put_in_order(guess.candidates, solution.rows.size());
      if (fetched().failed != 0) return false;
    }
    const std::size_t size = solution.rows.size();
    if (problem_.ties == TieRule::last) {
      rows_ = rows_of(kind_of(problem_.ties), elements_.data(), size, device_);
      device_.synchronize();
    }
    device_.transfer().download(solution.rows.data(), rows_.data(), size * sizeof(RowId));
    return true;
  }

 private:
  ScanTarget<Element> target() {
    const bool complemented = kind_of(problem_.ties).complement != 0;
    const std::uint64_t first = complemented ? static_cast<std::uint64_t>(Kind::kRowMask) - (problem_.n - 1) : 0;
    return {.guess = guess_.data(),
            .candidates = bins_.list(),
            .capacity = plan_.capacity,
            .bins = bins_.bins(first, problem_.n)};
  }

  InOrder<Element> answer(std::size_t k) { return {.elements = elements_.data(), .rows = rows_.data(), .k = k}; }

  /// The k least of the candidates; the guess has failed where these are fewer.
  void put_in_order(std::size_t expected, std::size_t k) {
    least_in_order<Element>(
        {.elements = bins_.list(), .size = expected, .guess = guess_.data(), .capacity = plan_.capacity}, answer(k),
        device_);
  }

  Guess<Element> fetched() {
    Guess<Element> guess{};
    SKYRANK_CUDA_CALL(cudaMemcpyAsync(&guess, guess_.data(), sizeof(guess), cudaMemcpyDeviceToHost, device_.stream()));
    device_.synchronize();
    return guess;
  }

  ScanProblem problem_;
  ThresholdPlan plan_;
  DeviceContext& device_;
  Buffer<Guess<Element>> guess_;
  SampledBins<Element> bins_;
  Buffer<RowId> rows_;
  Buffer<Element> elements_;  ///< instead of the rows where ties go to the last
};

/// How a problem is to be guessed; nothing where that would not pay, or ties are all to be kept.
inline std::optional<ThresholdPlan> plan_scan(const ScanProblem& problem) {
  const bool few = problem.n < std::max(2 * kMaxOfBlock, kMaxCounted) || problem.k > problem.n / 4;
  const bool many = problem.n > std::numeric_limits<std::uint32_t>::max();
  if (few || many || problem.k == 0 || problem.ties == TieRule::all) return std::nullopt;
  const ThresholdPlan plan = plan_threshold(problem.n, problem.k);
  return plan.expected <= kMaxOrdered ? std::optional(plan) : std::nullopt;
}

/// Times a selection that `start(selection)` starts.
template <class Rows, class Start>
std::optional<TopKSolution> select_from_scan(const ScanProblem& problem, const ThresholdPlan& plan,
                                             std::size_t bytes_of_row, const Context& context, DeviceContext& device,
                                             const Start& start) {
  const Range range("top-k of a scan");
  TopKSolution solution;
  ScanSelection<Rows> selection(problem, plan, device);
  Stages stages(device);
  stages.loaded();
  start(selection);
  stages.solved();
  if (!selection.finish(solution)) return std::nullopt;
  solution.times = stages.finished();
  if (context.count_work) {
    solution.work.bytes_read = problem.n * bytes_of_row;
    solution.work.bytes_written = plan.expected * sizeof(typename Rows::Element);
    solution.work.candidates = plan.expected;
  }
  return solution;
}

}  // namespace skyrank::kernels::cuda::topk
