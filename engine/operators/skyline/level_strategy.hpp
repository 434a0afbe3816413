#pragma once

#include <cstdint>
#include <optional>

namespace skyrank::exec {

/// Decides when to stop finding levels one by one, each as a skyline, and to find all remaining levels together.
///
/// Skylines are fastest for few levels, and quadratic if every level has few rows. The number of levels is not known
/// before. So skylines come first until they have cost half of what all levels together would; from then on the size of
/// the last level predicts whether the rest would cost more. A query therefore costs at most a constant factor of the
/// better strategy. Both costs are predictions, so that the decision is the same in every run.
class LevelStrategy {
 public:
  /// Rows have `dims` keys, and run on `threads` threads. `transfer_seconds_per_row` copies a row's keys to the host.
  LevelStrategy(double dims, int threads, double transfer_seconds_per_row)
      : dims_(dims), threads_(threads), transfer_(transfer_seconds_per_row) {}

  /// Books a skyline of `level_rows` among `rows`. `seconds` are predicted for the path that finds the next one.
  void took_level(double rows, double level_rows, double seconds);

  /// Returns true if finding all levels of the `rows` that are left together is cheaper. The query asks for `wanted`
  /// more levels, or for whole levels until they have `wanted_rows` rows.
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
