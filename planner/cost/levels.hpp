#pragma once

// Costs of Pareto levels: all at once (kernels/cpu/levels), or one skyline after the other.
namespace skyrank::planner {

/// Rows of which levels are wanted.
struct LevelsShape {
  double rows = 0;
  double dims = 0;
  double levels = 1;  ///< expected or wanted
  double level_rows = 1;
};

/// Seconds for all levels at once on `threads` threads of a CPU.
double levels_at_once_seconds(const LevelsShape& shape, int threads);

/// Least seconds for one skyline of `level_rows` as a part of many: planned skylines are of rows of which more is
/// known.
double least_level_seconds(const LevelsShape& shape, int threads);

}  // namespace skyrank::planner
