#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "planner/cost/cuda_common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

// Section 6.2.3 of the paper: without removing rows between the levels, or with masks of medians alone, launches and
// passes over the keys are saved and many more pairs met. Padding is worth nothing on an H200. With as many slices as
// keep the device busy, or without marks of rows that are found dominated, which limit them by default, no warp walks
// through a level alone.
std::span<const Values> cuda_skyalign_candidates(const kernels::SkylineShape& /*shape*/) {
  static const std::vector<Values> kValues = {{},
                                              {{"sync", 0}},
                                              {{"quartiles", 0}},
                                              {{"sync", 0}, {"quartiles", 0}},
                                              {{"live", 0}},
                                              {{"slices", 4096}},
                                              {{"slices", 4096}, {"sync", 0}}};
  return kValues;
}

namespace {

/// Rows that one warp walks through, one after another, where marks limit the slices: those of level 0, which are
/// dominated for the most part, where few rows are left, and half of a level of the others up to 6 dimensions.
double walked_rows(double d, double left, double kept, bool marks, double slices) {
  constexpr double kFewRows = 1 << 18;
  constexpr double kFewDims = 6;
  if (!marks || slices > 1) return 0;
  const double first_level = std::max(0.0, std::min(left, kFewRows) - kept);
  const double of_level = d <= kFewDims ? kept / (d + 1) / 2 : 0;
  return first_level + of_level;
}

}  // namespace

Cost cuda_skyalign(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& /*machine*/,
                   const Values& values) {
  // Tests of pairs of a skyline row and one that the prefilter leaves, by d: of three distributions of 10^6 rows.
  constexpr double kMaskTested = 0.735;
  constexpr double kMaskTestedByDim = 0.712;
  constexpr double kDominanceTested = 0.126;
  constexpr double kDominanceTestedByDim = 0.623;
  constexpr double kCellTested = 0.11;
  // Seconds on one H200, with what rows wait for others of their warp.
  constexpr double kMaskTest = 0.42e-12;
  constexpr double kDominanceTest = 4.1e-12;
  constexpr double kCellTest = 1.8e-12;
  constexpr double kWalkedRow = 25e-9;
  constexpr double kUnmarked = 1.2;  // dominance tests without marks beside those with them
  constexpr double kPasses = 20;     // over the keys, or as much moved, before the first phase
  constexpr double kQuartilePasses = 1;
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double row_bytes = d * static_cast<double>(shape.width);
  const double kept = skyline_rows(shape, statistics);
  const double cells = std::min(std::exp2(d), kept);  // each row's mask meets those of all cells
  const bool sync = value_or(values, "sync", 1) != 0;
  const bool quartiles = value_or(values, "quartiles", 1) != 0;
  // By measurement at 8 dimensions. Rows that are not removed go on meeting others, until these see that they are
  // dominated.
  const double more = (sync || n == 0 ? 1 : 1 + 1.8 * (1 - kept / n)) * (quartiles ? 1 : 2);
  const bool marks = quartiles && value_or(values, "live", 1) != 0;
  const double left = std::max(kept, n * surviving_share(shape, statistics));
  const double pairs = more * kept * left;
  const double walked = walked_rows(d, left, kept, marks, value_or(values, "slices", 0));
  const double dominance_tests =
      (marks ? 1 : kUnmarked) * pairs * kDominanceTested * std::pow(kDominanceTestedByDim, d);
  return cuda_cost(shape, statistics,
                   {.launches = 20 + 3 * (sync ? d + 1 : 1),
                    .bytes = (quartiles ? kPasses : kPasses - kQuartilePasses) * n * row_bytes,
                    .elements = 3 * n,
                    .other = {{"cell-tests", more * kCellTested * left * cells, kCellTest},
                              {"mask-tests", pairs * kMaskTested * std::pow(kMaskTestedByDim, d), kMaskTest},
                              {"dominance-tests", dominance_tests, kDominanceTest},
                              {"walked-rows", walked, kWalkedRow}}});
}

}  // namespace skyrank::planner::cost
