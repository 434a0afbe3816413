#pragma once

#include <cstdint>
#include <string>

#include "engine/operators/skyline/levels.hpp"

namespace skyrank::exec {

/// Rows that fewer than `rows` rows dominate.
struct SkybandRule {
  std::int64_t rows = 1;    ///< kAllRows keeps every row
  bool distinct = false;    ///< rows that equal one before them are dropped before the others are counted
  bool with_levels = true;  ///< the levels of the rows are asked for
  bool on_device = false;   ///< the GPU counts; one segment, not `distinct`
};

/// Returns the skyband of each segment [bounds[s], bounds[s + 1]) of keys of one flat Pareto order. All dominators of a
/// row of a skyband are in it, so that levels among its rows are those among all.
Kept keep_skyband(const SkylineKeys& keys, const Vector<std::int64_t>& bounds, const SkybandRule& rule,
                  const ExecutionContext& context, Report& report);

/// How rows count.
struct CountRule {
  bool distinct = false;   ///< equal rows count as one
  bool on_device = false;  ///< the GPU counts; one segment, not `distinct`
};

/// Counts, for each row, the rows of its segment that dominate it.
Vector<std::int64_t> count_dominators(const SkylineKeys& keys, const Vector<std::int64_t>& bounds,
                                      const CountRule& rule, const ExecutionContext& context, kernels::Work& work);

/// Rows of each segment whose numbers are asked for.
struct AskingRows {
  Vector<std::int64_t> rows;    ///< indices into the keys, segment by segment
  Vector<std::int64_t> bounds;  ///< bounds of the segments among them
};

/// Counts, for each of some rows, the rows of its segment that it dominates.
Vector<std::int64_t> count_dominated(const SkylineKeys& keys, const Vector<std::int64_t>& bounds,
                                     const AskingRows& asking, const CountRule& rule, const ExecutionContext& context,
                                     kernels::Work& work);

/// Describes how rows of these keys are counted.
std::string describe_counting(const SkylineKeys& keys, bool on_device);

}  // namespace skyrank::exec
