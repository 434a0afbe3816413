#pragma once

#include <cstdint>
#include <optional>

namespace skyrank::exec {

/// Decides when to stop taking levels off as one skyline after the other, and to find all that are left at once.
///
/// Skylines are the fastest way to few levels, and quadratic where every level has few rows. How many levels there are
/// is not known before, so skylines come first until they have cost half of what all levels at once would; then the
/// size of the last level tells whether the rest would cost more. So a query costs at most a constant factor of the
/// better way. Both costs are predictions: the decision is the same in every run.
class LevelStrategy {
 public:
  /// Rows of `dims` keys on `threads` threads. `transfer_seconds_per_row`: to bring a row's keys to the host.
  LevelStrategy(double dims, int threads, double transfer_seconds_per_row)
      : dims_(dims), threads_(threads), transfer_(transfer_seconds_per_row) {}

  /// Books a skyline of `level_rows` among `rows`. `seconds` are predicted for the path that finds the next one.
  void took_level(double rows, double level_rows, double seconds);

  /// Returns true if all levels of `rows` left are better found at once, of which `wanted` levels are asked for, and
  /// `wanted_rows` where whole levels up to a number of rows are.
  bool prefers_at_once(double rows, double wanted, std::optional<double> wanted_rows) const;

  /// Predicted seconds for these levels at once.
  double at_once_seconds(double rows, double wanted, std::optional<double> wanted_rows) const;

 private:
  bool on_device() const { return transfer_ > 0; }

  /// Levels that are asked for and, by the size of the last one, exist.
  double expected_levels(double rows, double wanted, std::optional<double> wanted_rows) const;

  double dims_;
  int threads_;
  double transfer_;
  double spent_ = 0;
  double last_seconds_ = 0;
  double last_rows_ = 1;
};

}  // namespace skyrank::exec
