#include "engine/operators/skyline/level_strategy.hpp"

#include <algorithm>

#include "planner/cost/levels.hpp"

namespace skyrank::exec {

void LevelStrategy::took_level(double rows, double level_rows, double seconds) {
  const double threads = on_device() ? threads_ : planner::level_threads(rows, threads_);
  const planner::LevelsShape shape{.rows = rows, .dims = dims_, .level_rows = level_rows};
  last_seconds_ = std::max(seconds, planner::least_level_seconds(shape, threads));
  last_rows_ = std::max(level_rows, 1.0);
  spent_ += last_seconds_;
}

double LevelStrategy::expected_levels(double rows, double wanted, std::optional<double> wanted_rows) const {
  const double asked = wanted_rows ? std::max(*wanted_rows / last_rows_, 1.0) : wanted;
  return std::min(asked, rows / last_rows_);
}

double LevelStrategy::at_once_seconds(double rows, double wanted, std::optional<double> wanted_rows) const {
  const double levels = expected_levels(rows, wanted, wanted_rows);
  return planner::levels_at_once_seconds(
             {.rows = rows, .dims = dims_, .levels = levels, .level_rows = std::min(last_rows_, rows)}, threads_) +
         rows * transfer_;
}

bool LevelStrategy::prefers_at_once(double rows, double wanted, std::optional<double> wanted_rows) const {
  constexpr double kShareSpent = 0.5;
  if (last_seconds_ == 0) return false;
  const double levels = expected_levels(rows, wanted, wanted_rows);
  const double at_once = at_once_seconds(rows, wanted, wanted_rows);
  const double existing = std::max(rows / last_rows_, 1.0);
  const double average_rows = 1 - levels / existing / 2;  // as a share of those that are left now
  return spent_ >= kShareSpent * at_once && levels * last_seconds_ * average_rows > at_once;
}

}  // namespace skyrank::exec
