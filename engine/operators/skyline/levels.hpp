#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/operators/skyline/level_strategy.hpp"
#include "engine/operators/skyline/skyline.hpp"

namespace skyrank::exec {

/// How far to go beyond the skyline.
struct LevelRule {
  std::int64_t levels = 1;               ///< at most so many levels
  std::optional<std::int64_t> at_least;  ///< instead: whole levels until so many rows
  bool distinct = false;
};

LevelRule level_rule(const query::BoundQuery& query);

/// The path of the skylines below the first level, where it is another than that of the first.
struct LowerLevels {
  const kernels::SkylineAlgorithm* algorithm = nullptr;  ///< null: there is none
  std::int32_t from = 0;                                 ///< the first level that it found in any segment

  /// Adds what `path` found from `level` on; the path of the highest level stays, of several the first by name.
  void note(const kernels::SkylineAlgorithm* path, std::int32_t level) {
    const auto rank = [](const LowerLevels& it) { return std::pair(it.from, it.algorithm->name); };
    if (path == nullptr || (algorithm != nullptr && rank(*this) <= rank({path, level}))) return;
    *this = {path, level};
  }
};

/// Segments whose levels were, from some level on, all found at once.
struct AtOnce {
  std::int64_t segments = 0;
  std::int32_t from = 0;  ///< the first such level of any of them

  /// Adds a segment, or none where `level` is 0.
  void note(std::int32_t level) {
    if (level != 0) note(AtOnce{1, level});
  }
  void note(const AtOnce& other) {
    if (other.segments == 0) return;
    from = segments == 0 ? other.from : std::min(from, other.from);
    segments += other.segments;
  }
};

/// The rows that a preference keeps, segment by segment and ascending within each.
struct Kept {
  Vector<std::int64_t> rows;    ///< indices into the keys
  Vector<std::int32_t> levels;  ///< level of each row, from 1; empty: the first for all
  Vector<std::int64_t> bounds;  ///< bounds of the segments among the kept rows
  LowerLevels lower = {};
  AtOnce at_once = {};
};

/// For the levels of these keys, or of some of them.
LevelStrategy level_strategy(const SkylineKeys& keys, const SkylineSolver& solver);

/// Keeps the first of the rows that are equal in every step; `rows` ascending before and after.
Vector<std::int64_t> drop_equal(const SkylineKeys& keys, const Vector<std::int64_t>& rows);

/// Joins what tasks kept, each without the bound 0, in their order.
Kept join(Vector<Kept> parts);

/// Levels of each segment [bounds[s], bounds[s + 1]) of `keys`. With `distinct`, rows equal in all terms to one before
/// them in their segment are dropped before the levels are formed, so they do not count for `at_least` either. (Equal
/// rows are always on one level: it comes to the same to drop them from each level, which is what happens.)
Kept keep_best(const SkylineKeys& keys, const Vector<std::int64_t>& bounds, const LevelRule& rule,
               SkylineSolver& solver, StepReports& reports);

}  // namespace skyrank::exec
