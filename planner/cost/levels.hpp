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

/// Threads, of all there are, that help with one skyline of `rows` as a part of many.
double level_threads(double rows, int threads);

/// Least seconds for one skyline of `level_rows` as a part of many, by whatever path: planned skylines are of rows of
/// which more is known.
double least_level_seconds(const LevelsShape& shape, double threads);

/// Expected mean size of the Pareto levels of `rows` rows of `dims` independent keys, which may be a fraction.
double mean_level_rows(double rows, double dims);

}  // namespace skyrank::planner
