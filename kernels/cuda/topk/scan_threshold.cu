#include "kernels/cuda/topk/scan_threshold.hpp"

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/eval/scan_rows.cuh"
#include "kernels/cuda/topk/scan_selection.cuh"

// cuda-sampled-threshold over a filter and a score instead of keys: the columns are read once, each row's score is
// compared with the threshold where it was computed, and only candidates get keys.
namespace skyrank::kernels::cuda {
namespace {

/// The rows of a scan as what find_threshold samples.
template <class KeyT>
struct ScannedRows {
  using Key = KeyT;
  using Kind = std::conditional_t<sizeof(Key) == 4, ShortElements, LongElements>;
  using Element = typename Kind::Element;

  ReadScan scan;
  std::size_t n;
  Kind kind;

  __device__ std::size_t size() const { return n; }
  /// `passes` where the row does; the element of one that does not has the greatest key.
  __device__ Element at(std::size_t row, bool& passes) const {
    ReadGroup<ColumnScan::kMostColumns, ScanForm::general> group;
    group.load_row(scan, row);
    ScoredRows<Key, 1> rows;
    rows.look_at(scan, group);
    passes = rows.passes[0];
    return kind.of(passes ? key_of_score(scan, rows.scores[0], rows.is_null(0)) : kNullKey<Key>, row);
  }
  __device__ Element at(std::size_t row) const {
    bool passes = false;
    return at(row, passes);
  }
};

/// Groups of rows whose loads a thread has under way together: 64 bytes or more of them.
template <unsigned kColumns, ScanForm kForm>
inline constexpr unsigned kGroups = std::max(1u, 4 / (kColumns * (kForm == ScanForm::general ? 2 : 1)));
/// Blocks of a multiprocessor: as many as the registers for those leave.
template <unsigned kColumns, ScanForm kForm>
inline constexpr unsigned kBlocks = kForm == ScanForm::general ? (kColumns > 4 ? 2 : 3)
                                                               : (kColumns > 4 ? 3 : kScanBlocks);

/// Keeps the rows that pass and whose elements are at or below the threshold, in any order.
template <class Key, unsigned kColumns, ScanForm kForm>
__global__ void __launch_bounds__(kScanThreads, kBlocks<kColumns, kForm>)
    keep_scanned(const __grid_constant__ ScannedRows<Key> rows, Guess<typename ScannedRows<Key>::Element>* guess,
                 typename ScannedRows<Key>::Element* candidates, std::size_t capacity) {
  using Element = typename ScannedRows<Key>::Element;
  constexpr unsigned kAtATime = kGroups<kColumns, kForm>;
  __shared__ Element buffers[kScanThreads / kLanes][Collector<Element>::kHeld];
  wait_for_previous();
  let_next_start();
  const ReadScan& scan = rows.scan;
  const Wanted<typename ScannedRows<Key>::Kind> wanted{guess->threshold};
  const ScoreRange<Key> range(scan.integer, scan.high, wanted.most());
  Collector<Element> found{buffers[threadIdx.x / kLanes], candidates, capacity, &guess->candidates};

  const std::size_t groups = rows.n / kRowsOfGroup;
  const std::size_t tile = std::size_t{kScanThreads} * kAtATime;
  for (std::size_t first = blockIdx.x * tile; first < groups; first += gridDim.x * tile) {
    ReadGroup<kColumns, kForm> read[kAtATime];
#pragma unroll
    for (unsigned g = 0; g < kAtATime; ++g) {
      read[g].load(scan, min(first + g * kScanThreads + threadIdx.x, groups - 1));
    }
#pragma unroll
    for (unsigned g = 0; g < kAtATime; ++g) {
      const std::size_t group = first + g * kScanThreads + threadIdx.x;
      ScoredRows<Key, kRowsOfGroup> scored;
      scored.look_at(scan, read[g]);
      if (!__any_sync(kAllLanes, range.may_hold_any(scored.passes, scored.scores))) continue;
      Element elements[kRowsOfGroup];
      unsigned taken = 0;
#pragma unroll
      for (unsigned i = 0; i < kRowsOfGroup; ++i) {
        elements[i] = rows.kind.of(key_of_score(scan, scored.scores[i], scored.is_null(i)), group * kRowsOfGroup + i);
        const bool keep = group < groups && scored.passes[i] && wanted.holds(elements[i]);
        taken |= unsigned{keep} << i;
      }
      found.template add<kRowsOfGroup>(taken, [&](unsigned i) { return elements[i]; });
    }
  }
  // The rows after the last whole group.
  if (blockIdx.x == 0 && threadIdx.x < kLanes) {
    const std::size_t row = groups * kRowsOfGroup + threadIdx.x;
    bool passes = false;
    Element element{};
    if (row < rows.n) element = rows.at(row, passes);
    found.template add<1>(passes && wanted.holds(element) ? 1 : 0, [&](unsigned) { return element; });
  }
  found.flush();
}

/// The kernel that reads `columns` columns.
template <class Key, ScanForm kForm>
auto keeper_of(int columns) {
  if constexpr (kForm == ScanForm::plain) {
    switch (columns) {
      case 1: return keep_scanned<Key, 1, kForm>;
      case 2: return keep_scanned<Key, 2, kForm>;
      case 3: return keep_scanned<Key, 3, kForm>;
      case 4: return keep_scanned<Key, 4, kForm>;
      default: break;
    }
    return columns <= 6 ? keep_scanned<Key, 6, kForm> : keep_scanned<Key, 8, kForm>;
  }
  if (columns <= 2) return keep_scanned<Key, 2, kForm>;
  return columns <= 4 ? keep_scanned<Key, 4, kForm> : keep_scanned<Key, 8, kForm>;
}

template <class Key>
auto keeper_of(const ColumnScan& scan) {
  switch (form_of(scan)) {
    case ScanForm::plain: return keeper_of<Key, ScanForm::plain>(scan.count);
    case ScanForm::nulls: return keeper_of<Key, ScanForm::nulls>(scan.count);
    default: return keeper_of<Key, ScanForm::general>(scan.count);
  }
}

std::size_t bytes_of_row(const ColumnScan& scan) {
  std::size_t bytes = 0;
  for (int c = 0; c < scan.count; ++c) bytes += bytes_of(scan.columns[c].stored);
  return bytes;
}

template <class Key>
std::optional<TopKSolution> select_from(const ScanProblem& problem, const ThresholdPlan& plan, const Context& context) {
  using Rows = ScannedRows<Key>;
  DeviceContext& device = device_of(context);
  const Lease lease(device);
  const ColumnScan& scan = *problem.scan;
  const Rows rows{read_form(scan), problem.n, ScanSelection<Rows>::kind_of(problem.ties)};
  const auto keep = keeper_of<Key>(scan);
  const std::size_t resident =
      resident_blocks(keep, kScanThreads) * static_cast<std::size_t>(device.properties().multiprocessors);
  const Grid grid{.blocks = std::min(blocks_for(problem.n, std::size_t{kScanThreads} * kRowsOfGroup), resident),
                  .threads = kScanThreads};
  return select_from_scan<Rows>(problem, plan, bytes_of_row(scan), context, device,
                                [&](auto& selection) { selection.start(rows, 0, keep, grid, rows); });
}

}  // namespace

std::optional<TopKSolution> best_of_scan(const ScanProblem& problem, const Context& context) {
  context.check();
  const auto plan = plan_scan(problem);
  if (!plan) return std::nullopt;
  if (problem.computed != nullptr) return best_of_computed(problem, *plan, context);
  return problem.scan->has_short_keys() ? select_from<std::uint32_t>(problem, *plan, context)
                                        : select_from<std::uint64_t>(problem, *plan, context);
}

}  // namespace skyrank::kernels::cuda
