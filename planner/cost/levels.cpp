#include "planner/cost/levels.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace skyrank::planner {
namespace {

// Seconds on one thread of an AMD EPYC, from 10^4 to 10^6 uniform, correlated and anticorrelated rows and chains.
constexpr double kStart = 5e-6;
constexpr double kSortRow = 30e-9;         // into the order of one key
constexpr double kStepRow = 5e-9;          // one step of the binary search of the sweep, on one thread
constexpr double kStepStaircase = 0.1e-6;  // one step of the binary search over staircases, on one thread
constexpr double kInsertRow = 0.3e-6;      // sorted, compared with its block and inserted
constexpr double kLookLevel = 0.1e-6;      // one step of the binary search over levels
constexpr double kLookRowKey = 8e-12;      // in it, for each row of the level and each key
constexpr double kPeelStart = 20e-6;
constexpr double kPeelThreadRows = 16384;  // with fewer rows, another thread does not help
constexpr double kPeelRowKey = 15e-9;
constexpr double kPeelPair =
    18e-12;  // a row and one of the level, by three keys: blocks of bits tell few of them apart

double steps(double levels) { return std::log2(std::max(levels, 1.0) + 1); }

}  // namespace

double levels_at_once_seconds(const LevelsShape& shape, int threads) {
  if (shape.dims <= 2) {
    const double search = shape.dims == 1 ? kStepRow : steps(shape.levels) * kStepRow;
    return kStart + shape.rows * (shape.dims * kSortRow / threads + search);
  }
  if (shape.dims == 3) {
    return kStart + shape.rows * (shape.dims * kSortRow / threads + (1 + steps(shape.levels)) * kStepStaircase);
  }
  const double look = kLookLevel + kLookRowKey * shape.dims * shape.level_rows;
  return kStart + shape.rows * (kInsertRow + steps(shape.levels) * look) / threads;
}

double level_threads(double rows, int threads) {
  return std::clamp(rows / kPeelThreadRows, 1.0, std::max(1.0, static_cast<double>(threads)));
}

double least_level_seconds(const LevelsShape& shape, double threads) {
  const double pairs = shape.dims == 3 ? shape.level_rows * kPeelPair : 0;
  return kPeelStart + shape.rows * std::max(shape.dims * kPeelRowKey, pairs) / threads;
}

// There are as many levels as rows in the longest chain. Of n random points it has c n^(1/d), where c is 1 for d = 1, 2
// for d = 2 and tends to e (Bollobas and Winkler, "The longest chain among random points in Euclidean space", 1988).
double mean_level_rows(double rows, double dims) {
  const double chain = std::min(dims, std::numbers::e) * std::pow(rows, 1 / std::max(dims, 1.0));
  return std::clamp(rows / chain, 1.0, std::max(rows, 1.0));
}

}  // namespace skyrank::planner
