#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/operators/skyline/levels.hpp"
#include "kernels/cpu/dominance_counts/dominance_counts.hpp"

namespace skyrank::exec {

/// Rows that fewer than `rows` rows dominate.
struct SkybandRule {
  std::int64_t rows = 1;  ///< kAllRows keeps every row
  bool distinct = false;  ///< rows that equal one before them are dropped before the others are counted
};

/// Returns the skyband of each segment [bounds[s], bounds[s + 1]) of keys of one flat Pareto order, with the levels of
/// its rows. All dominators of a row of a skyband are in it, so that levels among its rows are those among all.
Kept keep_skyband(const SkylineKeys& keys, const Vector<std::int64_t>& bounds, const SkybandRule& rule,
                  const ExecutionContext& context, Report& report);

/// Counts, for each row, rows of its segment that dominate it or that it dominates, by a kernel: at most `rule.rows`.
/// Numbers of rows that are not `wanted` mean nothing; empty: all are.
using CountRows = kernels::DominanceCounts (*)(const kernels::DominanceCountsProblem& problem,
                                               const kernels::Context& context);
Vector<std::int64_t> count_in_segments(const SkylineKeys& keys, const Vector<std::int64_t>& bounds, CountRows count,
                                       const SkybandRule& rule, const ExecutionContext& context, kernels::Work& work,
                                       const Vector<std::uint8_t>& wanted = {});

/// Describes how rows of these keys are counted.
std::string describe_counting(const SkylineKeys& keys);

}  // namespace skyrank::exec
