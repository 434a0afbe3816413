#include <algorithm>
#include <cstdint>

#include "kernels/common/select/problem.hpp"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/select/select.hpp"
#include "kernels/cuda/topk/block/tiles.cuh"
#include "kernels/cuda/topk/in_order/least_in_order.hpp"
#include "kernels/cuda/topk/sampled_threshold/bins.cuh"
#include "kernels/cuda/topk/sampled_threshold/keep.cuh"
#include "kernels/cuda/topk/sampled_threshold/sampled_bins.cuh"
#include "kernels/cuda/topk/sampled_threshold/scan_threshold.hpp"
#include "kernels/cuda/topk/sampled_threshold/threshold.cuh"
#include "kernels/cuda/topk/solve.cuh"

// The best path: the keys are read once. A sample gives a threshold that a little more than k elements lie at or below;
// one pass compares every key with it and keeps those elements; the k least of them are the answer (the idea of Monroe
// et al., HPG 2011, section 5, with one pivot). Elements are distinct, so ties need no care: of equal keys, the
// threshold's row id keeps as many as are wanted. A threshold that kept too few or too many is found out on the device,
// and another algorithm answers.
//
// Floor: n keys read. Besides: 32 bytes for each sampled row, and some multiple of k elements that are sorted. Nothing
// waits for the device in between.
namespace skyrank::kernels::cuda::topk {
namespace {

/// The tiles that a scan reads.
template <class E>
using ScannedKeys = ApartTiles<E, kScanThreads, ScanPolicy<sizeof(typename E::Key)>::kLoads>;

/// Row accessor of the sampling kernel.
template <class E>
using SampledKeys = KeyTiles<E, kScanThreads>;

struct SampledThreshold {
  static bool can_guess(std::size_t n, std::size_t k) {
    return n <= kMaxCounted || (k <= n / 4 && plan_threshold(n, k).expected <= kMaxOrdered);
  }

  template <class E>
  static void select_in_order(Run& run, const E& elements, std::size_t n, const InOrder<typename E::Element>& answer) {
    if (n <= kMaxCounted) return order_all(run, elements, n, answer);
    using Element = typename E::Element;
    const ThresholdPlan plan = plan_threshold(n, answer.k);
    select(run, elements, n, plan, answer);
    if (run.context.count_work) {
      constexpr std::size_t kSector = 32;
      run.count(n * sizeof(typename E::Key) + plan.sample() * kSector, plan.expected * sizeof(Element), plan.expected);
    }
  }

  static constexpr std::size_t kMaxOfLongColumn = std::size_t{10} << 20;

  /// Selects as from a matrix of one row, which is read as it is: elements of so many rows have 128 bits.
  static Buffer<RowId> select_from_long_column(Run& run, const TopKProblem& problem, const KeyColumn& column) {
    const auto width = static_cast<std::int64_t>(column.width);
    const auto values = run.allocate<std::byte>(problem.k * static_cast<std::size_t>(width));
    auto rows = run.allocate<RowId>(problem.k);
    const SelectProblem selection{.values = column.data,
                                  .element = element_of(column.width),
                                  .rows = 1,
                                  .columns = static_cast<std::int64_t>(problem.n),
                                  .row_stride = static_cast<std::int64_t>(problem.n) * width,
                                  .column_stride = width,
                                  .k = static_cast<std::int64_t>(problem.k),
                                  .selected_values = values.data(),
                                  .selected_positions = rows.data()};
    const std::size_t bytes = select_workspace_bytes(selection);
    const auto workspace = run.allocate<std::byte>(bytes);
    select_rows(selection, workspace.data(), bytes, run.stream());
    if (run.context.count_work) run.count(problem.n * static_cast<std::size_t>(width), bytes, problem.k);
    return rows;
  }

 private:
  static Element element_of(KeyWidth width) {
    switch (width) {
      case KeyWidth::bytes1: return Element::uint8;
      case KeyWidth::bytes2: return Element::uint16;
      case KeyWidth::bytes4: return Element::uint32;
      case KeyWidth::bytes8: break;
    }
    return Element::uint64;
  }

  template <class E>
  static void select(Run& run, const E& elements, std::size_t n, const ThresholdPlan& plan,
                     const InOrder<typename E::Element>& answer) {
    using Element = typename E::Element;
    SampledBins<Element> sampled(plan, plan_kept(plan), run.device);
    if (sampled.some())
      select_in_bins(run, elements, n, sampled, answer);
    else
      select_in_list(run, elements, n, plan, sampled, answer);
  }

  /// Candidates in a list, which is then put in order.
  template <class E>
  static void select_in_list(Run& run, const E& elements, std::size_t n, const ThresholdPlan& plan,
                             SampledBins<typename E::Element>& sampled, const InOrder<typename E::Element>& answer) {
    using Element = typename E::Element;
    auto* const guess = run.guess_with<Guess<Element>>();
    Element* const candidates = sampled.list();
    const bool ahead = looks_ahead<E>(run);
    sampled.sample(SampledKeys<E>(elements, n), guess, {}, ahead);
    const auto scan = [&]<class Ahead, class Rows>(const Rows& rows) {
      launch("keep_candidates", keep_candidates<Rows, Ahead>, scan_grid(run, rows), run.stream(), rows, guess,
             candidates, plan.capacity);
    };
    with_tiles(elements, n, ahead, scan);
    least_in_order<Element>({.elements = candidates, .size = plan.expected, .guess = guess, .capacity = plan.capacity},
                            answer, run.device);
  }

  /// Candidates in bins, which the scan puts nearly in order.
  template <class E>
  static void select_in_bins(Run& run, const E& elements, std::size_t n, SampledBins<typename E::Element>& sampled,
                             const InOrder<typename E::Element>& answer) {
    using Element = typename E::Element;
    auto* const guess = run.guess_with<Guess<Element>>();
    const SampledKeys<E> keys(elements, n);
    const Bins<Element> bins = sampled.bins(keys.first_row_bits(), n);
    const bool ahead = looks_ahead<E>(run);
    sampled.sample(keys, guess, bins, ahead);
    const auto scan = [&]<class Ahead, class Rows>(const Rows& rows) {
      launch("keep_in_bins", keep_in_bins<Rows, Ahead>, scan_grid(run, rows), run.stream(), rows, bins);
    };
    with_tiles(elements, n, ahead, scan);
    sampled.rank(bins, guess, answer);
  }

  /// Returns true if the scan's blocks should look at their first tiles before the threshold is known. Many of a
  /// thread's loads of narrow keys may have a wanted one, and be read again.
  template <class E>
  static bool looks_ahead(const Run& run) {
    return run.device.properties().overlaps_launches && sizeof(typename E::Key) >= 4;
  }

  /// Calls `scan` with the keys in tiles. `ahead`: whether blocks look ahead.
  template <class E, class Scan>
  static void with_tiles(const E& elements, std::size_t n, bool ahead, const Scan& scan) {
    const ScannedKeys<E> rows(elements, n);
    if (ahead)
      scan.template operator()<LookAhead<ScannedKeys<E>>>(rows);
    else
      scan.template operator()<NoLookAhead<ScannedKeys<E>>>(rows);
  }

  /// Blocks of a scan that the device holds at a time.
  static std::size_t resident_scan(const Run& run) { return kScanBlocks * run.device.properties().multiprocessors; }

  template <class Rows>
  static Grid scan_grid(const Run& run, const Rows& rows) {
    return {.blocks = std::min(rows.count(), resident_scan(run)),
            .threads = kScanThreads,
            .overlaps = run.device.properties().overlaps_launches};
  }

  /// Few rows are sorted as they are.
  template <class E>
  static void order_all(Run& run, const E& elements, std::size_t n, const InOrder<typename E::Element>& answer) {
    using Element = typename E::Element;
    const auto all = run.allocate<Element>(n);
    take_all(elements, n, all.data(), run.device);
    least_in_order<Element>({.elements = all.data(), .size = n, .guess = nullptr, .capacity = n}, answer, run.device);
    if (run.context.count_work) run.count(n * sizeof(typename E::Key), n * sizeof(Element), n);
  }
};

}  // namespace

extern const TopKAlgorithm sampled_threshold;
const TopKAlgorithm sampled_threshold{
    .name = "cuda-sampled-threshold",
    .summary = "keeps what a threshold from a sample lets through in one pass over the keys, then selects exactly",
    .source = "own design, after Monroe, Wendelberger, Michalak: Randomized Selection on the GPU, HPG 2011, section 5",
    .device = Device::cuda,
    .parameters = {},
    .supports = needs_key_columns,
    .run = solve<SampledThreshold>,
    .variants = {.scan = best_of_scan},
};

}  // namespace skyrank::kernels::cuda::topk
