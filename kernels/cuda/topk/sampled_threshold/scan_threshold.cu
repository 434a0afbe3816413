#include "kernels/cuda/topk/sampled_threshold/scan_threshold.hpp"

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/registers.cuh"
#include "kernels/cuda/expression/scan_rows.cuh"
#include "kernels/cuda/topk/sampled_threshold/scan_selection.cuh"

// cuda-sampled-threshold over a filter and a score instead of keys: the columns are read once, each row's score is
// compared with the threshold where it was computed, and only candidates get keys.
namespace skyrank::kernels::cuda::topk {
namespace {

using namespace expression;  // this file joins a selection with what reads the columns

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
  /// Sets `passes` if the row passes the filter. The element of a row that does not has the greatest key.
  __device__ Element at(std::size_t row, bool& passes) const {
    const ScannedGroup<Key, 1> read = look_at_row<Key>(scan, row);
    passes = read.passes(0);
    return kind.of(read.passes(0) ? key_of_score(scan, read.scores.bits[0], read.is_null(0)) : kNullKey<Key>, row);
  }
  __device__ Element at(std::size_t row) const {
    bool passes = false;
    return at(row, passes);
  }
};

template <unsigned kTerms, ScanForm kForm>
using PolicyOf = ColumnScanPolicy<kTerms, kForm == ScanForm::general>;
template <unsigned kTerms, ScanForm kForm>
inline constexpr unsigned kGroups = PolicyOf<kTerms, kForm>::kGroups;

/// Most columns of a score for which a kernel of its own is compiled. A kernel for more reads a column only if the
/// score has it.
inline constexpr unsigned kMaxExactTerms = 4;

/// The values that a thread has read of the columns of a score.
template <unsigned kTerms, unsigned kAtATime, ScanForm kForm>
struct ReadTerms {
  ReadValues<kAtATime, kForm> columns[kTerms];

  /// Calls `f(column)` for each column of the score.
  template <class F>
  __device__ static void each([[maybe_unused]] const ReadScan& scan, F f) {
#pragma unroll
    for (unsigned c = 0; c < kTerms; ++c) {
      if (kTerms > kMaxExactTerms && c >= static_cast<unsigned>(scan.terms)) break;
      f(c);
    }
  }
};

/// The result of a first look at a thread's rows: scores, for rows with and without one, and bits of those that pass
/// the ranges of the score's own columns.
template <class Key, unsigned kRows>
struct FirstLook {
  Scores<Key, kRows> scores;
  unsigned passing = ~0u;
};

/// Reads a thread's rows. `kOwnRanges` says that columns of the score have ranges.
template <class Key, unsigned kTerms, unsigned kAtATime, ScanForm kForm, bool kOwnRanges>
__device__ FirstLook<Key, kAtATime * kRowsOfGroup> look_first(const ReadScan& scan, std::size_t first) {
  using Terms = ReadTerms<kTerms, kAtATime, kForm>;
  Terms read{};
  Terms::each(scan, [&](unsigned c) { read.columns[c].template load_words<(kTerms > 1)>(scan.columns[c], first); });
  constexpr unsigned kRows = kAtATime * kRowsOfGroup;
  FirstLook<Key, kRows> look;
  Terms::each(scan, [&](unsigned c) {
    with_values<kRows>(scan.columns[c], read.columns[c], [&](const auto& values) {
      if constexpr (kOwnRanges) look.passing &= passing_range(scan.columns[c], values);
      look.scores.template add<(kTerms > 1)>(scan, c, values);
    });
  });
  return look;
}

/// Returns those of a thread's wanted rows that pass a column which is no part of the score and is read for them alone.
template <unsigned kAtATime, ScanForm kForm>
__device__ unsigned passing_elsewhere(const ReadColumn& column, std::size_t first, unsigned wanted) {
  ReadValues<kAtATime, kForm> read{};
  read.load(column, first, wanted);
  unsigned passing = wanted & passing_nulls(column, read.valid(column, first));
  with_values<kAtATime * kRowsOfGroup>(column, read,
                                       [&](const auto& values) { passing &= passing_range(column, values); });
  return passing;
}

template <unsigned kAtATime>
__device__ unsigned passing_elsewhere(const ReadColumn& column, std::size_t first, unsigned wanted) {
  if (column.stored == Stored::float32 || column.stored == Stored::int32) {
    return passing_elsewhere<kAtATime, ScanForm::words>(column, first, wanted);
  }
  // More groups at a time would spill registers.
  constexpr unsigned kOfLong = kAtATime < 2 ? kAtATime : 2;
  unsigned passing = 0;
#pragma unroll 1
  for (unsigned g = 0; g < kAtATime; g += kOfLong) {
    const unsigned bit = bit_of_row(g * kRowsOfGroup);
    const unsigned some = wanted >> bit & bits_of_groups(kOfLong);
    passing |= passing_elsewhere<kOfLong, ScanForm::general>(column, first + g * kGroupStride, some) << bit;
  }
  return passing;
}

/// The effect of NULLs in the columns of the score on a thread's wanted rows: a bit for each that passes, and for each
/// that has no score, which passes only if `nulls_too`. The bits of other rows mean nothing.
struct LookAtNulls {
  unsigned passing;
  unsigned null = 0;
};

template <unsigned kTerms, unsigned kAtATime, ScanForm kForm>
__device__ LookAtNulls look_at_nulls(const ReadScan& scan, std::size_t first, unsigned wanted, bool nulls_too) {
  using Terms = ReadTerms<kTerms, kAtATime, kForm>;
  Terms read{};
  Terms::each(scan, [&](unsigned c) { read.columns[c].load_validity(scan.columns[c], first, wanted); });
  LookAtNulls look{};
  look.passing = wanted;
  Terms::each(scan, [&](unsigned c) {
    const unsigned valid = read.columns[c].valid(scan.columns[c], first);
    look.passing &= passing_nulls(scan.columns[c], valid);
    look.null |= ~valid;
  });
  if (!nulls_too) look.passing &= ~look.null;
  return look;
}

/// The score of one row.
template <class Key, unsigned kTerms, ScanForm kForm>
__device__ Key score_of(const ReadScan& scan, std::size_t row) {
  using Terms = ReadTerms<kTerms, 1, kForm>;
  Terms read{};
  Terms::each(scan, [&](unsigned c) { read.columns[c].load_value(scan.columns[c], row); });
  Scores<Key, 1> score;
  Terms::each(scan, [&](unsigned c) {
    with_values<1>(scan.columns[c], read.columns[c],
                   [&](const auto& values) { score.template add<(kTerms > 1)>(scan, c, values); });
  });
  return score.bits[0];
}

/// Keeps those of a thread's rows that pass, of those in `passing`, whose scores may be wanted and are in the ranges of
/// their own columns. All lanes of a warp call. In the end a lane mostly has one row or none: each makes the elements
/// of its own rows one after another, from values that have been read before.
template <unsigned kTerms, unsigned kAtATime, ScanForm kForm, class Rows, class Found>
__device__ void keep_passing(const Rows& rows, const Wanted<typename Rows::Kind>& wanted, std::size_t first,
                             unsigned passing, Found& found) {
  using Key = typename Rows::Key;
  const ReadScan& scan = rows.scan;
  if (!__any_sync(kAllLanes, passing != 0)) return;
  const LookAtNulls nulls = look_at_nulls<kTerms, kAtATime, kForm>(scan, first, passing, wanted.holds_all());
  passing = nulls.passing & bits_of_groups(kAtATime);
  for (int c = scan.terms; c < scan.count; ++c) {
    if (!__any_sync(kAllLanes, passing != 0)) return;
    passing = passing_elsewhere<kAtATime>(scan.columns[c], first, passing);
  }
  while (__any_sync(kAllLanes, passing != 0)) {
    const bool mine = passing != 0;
    typename Rows::Element element{};
    if (mine) {
      const auto bit = static_cast<unsigned>(__ffs(static_cast<int>(passing)) - 1);
      const std::size_t row = (first + bit / 8 * kGroupStride) * kRowsOfGroup + bit % 8;
      const auto score = score_of<Key, kTerms, kForm>(scan, row);
      element = rows.kind.of(key_of_score(scan, score, (nulls.null >> bit & 1) != 0), row);
    }
    found.add_in_rounds(mine && wanted.holds(element) ? 1 : 0, [&](unsigned) { return element; });
    passing &= passing - 1;
  }
}

/// Keeps the compiler from holding for later what it has read at a place: that can be read again, and there are too few
/// registers.
__device__ inline void read_anew([[maybe_unused]] unsigned& place) {
#if defined(__CUDACC__)
  asm volatile("" : "+r"(place));
#endif
}

/// How far the last row of a thread lies behind its first one.
template <unsigned kAtATime>
inline constexpr unsigned kSpanOfThread = ((kAtATime - 1) * kGroupStride + 1) * kRowsOfGroup - 1;

/// Keeps those of the rows after the last whole tile.
template <class Rows, class Found>
__device__ void keep_last(const Rows& rows, const Wanted<typename Rows::Kind>& wanted, std::size_t begin,
                          Found& found) {
  const std::size_t warp = std::size_t{blockIdx.x} * kScanThreads + threadIdx.x / kLanes * kLanes;
  for (std::size_t first = begin + warp; first < rows.n; first += std::size_t{gridDim.x} * kScanThreads) {
    const std::size_t row = first + threadIdx.x % kLanes;
    bool passes = false;
    typename Rows::Element element{};
    if (row < rows.n) element = rows.at(row, passes);
    found.template add<1>(passes && wanted.holds(element) ? 1 : 0, [&](unsigned) { return element; });
  }
}

/// Keeps the rows that pass and whose elements are at or below the threshold, in any order. Few scores are, so these
/// come first, with the ranges of their own columns, which cost no more reads: NULLs and other filters are looked at,
/// and what only they need is read, where one of a warp's scores is.
template <class Key, unsigned kTerms, ScanForm kForm, bool kOwnRanges>
__global__ void __launch_bounds__(kScanThreads, (PolicyOf<kTerms, kForm>::kBlocks))
    keep_scanned(const __grid_constant__ ScannedRows<Key> rows, unsigned tiles,
                 const __grid_constant__ ScanTarget<typename ScannedRows<Key>::Element> target) {
  using Element = typename ScannedRows<Key>::Element;
  constexpr unsigned kAtATime = kGroups<kTerms, kForm>;
  static_assert(kScanThreads == kGroupStride);
  __shared__ Element buffers[kScanThreads / kLanes][ScanCollector<Element>::kHeld];
  __shared__ KnotsOfBlock<Element> knots;
  const ReadScan& scan = rows.scan;
  wait_for_previous();
  let_next_start();
  const Wanted<typename ScannedRows<Key>::Kind> wanted{target.guess->threshold};
  const TieLimit ties = tie_limit(rows.kind, wanted);
  using Range = ScoreRange<Key>;
  const Key below = Range::key_below(scan.integer, scan.high, wanted.most());
  const Range with_ties(scan.integer, scan.high, wanted.most());
  const Range without_ties(scan.integer, scan.high, below);
  ScanCollector<Element> found{buffers[threadIdx.x / kLanes], sink_of(target, wanted.holds_all(), knots)};

  constexpr unsigned kGroupsOfTile = kScanThreads * kAtATime;
  for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    unsigned first = tile * kGroupsOfTile + threadIdx.x;
    const auto look = look_first<Key, kTerms, kAtATime, kForm, kOwnRanges>(scan, first);
    const unsigned row = first * kRowsOfGroup;
    const Range range = ties.leaves_all(row, row + kSpanOfThread<kAtATime>) ? without_ties : with_ties;
    const bool any =
        kOwnRanges ? (range.rows_within(look.scores.bits) & look.passing) != 0 : range.may_hold_any(look.scores.bits);
    if (!__any_sync(kAllLanes, any)) continue;
    const unsigned passing = range.rows_within(look.scores.bits) & look.passing & bits_of_groups(kAtATime);
    read_anew(first);
    keep_passing<kTerms, kAtATime, kForm>(rows, wanted, first, passing, found);
  }
  keep_last(rows, wanted, std::size_t{tiles} * kGroupsOfTile * kRowsOfGroup, found);
  found.flush();
}

/// A kernel, and the rows of its tiles.
template <class Key>
struct Keeper {
  void (*keep)(ScannedRows<Key>, unsigned, ScanTarget<typename ScannedRows<Key>::Element>);
  unsigned tile;
};

template <class Key, unsigned kTerms, ScanForm kForm, bool kOwnRanges>
constexpr Keeper<Key> kKeeper = {keep_scanned<Key, kTerms, kForm, kOwnRanges>,
                                 kScanThreads* kRowsOfGroup*(kGroups<kTerms, kForm>)};

/// The kernel for scores of so many columns.
template <class Key, ScanForm kForm, bool kOwnRanges>
Keeper<Key> keeper_of([[maybe_unused]] int terms) {
  // Short keys are those of one column without NULLs.
  if constexpr (sizeof(Key) == 4) {
    return kKeeper<Key, 1, kForm, kOwnRanges>;
  } else {
    switch (terms) {
      case 1: return kKeeper<Key, 1, kForm, kOwnRanges>;
      case 2: return kKeeper<Key, 2, kForm, kOwnRanges>;
      case 3: return kKeeper<Key, 3, kForm, kOwnRanges>;
      case 4: return kKeeper<Key, 4, kForm, kOwnRanges>;
      default: return kKeeper<Key, 8, kForm, kOwnRanges>;
    }
  }
}

template <class Key, bool kOwnRanges>
Keeper<Key> keeper_of(const ColumnScan& scan) {
  if constexpr (sizeof(Key) == 8) {
    if (form_of_score(scan) == ScanForm::general) return keeper_of<Key, ScanForm::general, kOwnRanges>(scan.terms);
  }
  return keeper_of<Key, ScanForm::words, kOwnRanges>(scan.terms);  // columns of short keys are words
}

template <class Key>
Keeper<Key> keeper_of(const ColumnScan& scan) {
  const bool own_ranges =
      std::any_of(scan.columns, scan.columns + scan.terms, [](const ScannedColumn& column) { return column.filtered; });
  return own_ranges ? keeper_of<Key, true>(scan) : keeper_of<Key, false>(scan);
}

/// Returns the bytes of a row that are always read.
std::size_t bytes_of_row(const ColumnScan& scan) {
  std::size_t bytes = 0;
  for (int c = 0; c < scan.terms; ++c) bytes += bytes_of(scan.columns[c].stored);
  return bytes;
}

template <class Key>
std::optional<TopKSolution> select_from(const ScanProblem& problem, const ThresholdPlan& plan, const Context& context) {
  using Rows = ScannedRows<Key>;
  DeviceContext& device = device_of(context);
  const Lease lease(device);
  const ColumnScan& scan = *problem.scan;
  const Rows rows{read_form(scan), problem.n, ScanSelection<Rows>::kind_of(problem.ties)};
  const Keeper<Key> keeper = keeper_of<Key>(scan);
  const std::size_t resident =
      resident_blocks(keeper.keep, kScanThreads) * static_cast<std::size_t>(device.properties().multiprocessors);
  const Grid grid{.blocks = std::min(blocks_for(problem.n, std::size_t{kScanThreads} * kRowsOfGroup), resident),
                  .threads = kScanThreads};
  const auto tiles = static_cast<unsigned>(problem.n / keeper.tile);
  return select_from_scan<Rows>(problem, plan, bytes_of_row(scan), context, device,
                                [&](auto& selection) { selection.start(rows, keeper.keep, grid, rows, tiles); });
}

}  // namespace

std::optional<TopKSolution> best_of_scan(const ScanProblem& problem, const ParameterValues& /*parameters*/,
                                         const Context& context) {
  context.check();
  const auto plan = plan_scan(problem);
  if (!plan) return std::nullopt;
  if (problem.computed != nullptr) return best_of_computed(problem, *plan, context);
  return problem.scan->has_short_keys() ? select_from<std::uint32_t>(problem, *plan, context)
                                        : select_from<std::uint64_t>(problem, *plan, context);
}

}  // namespace skyrank::kernels::cuda::topk
