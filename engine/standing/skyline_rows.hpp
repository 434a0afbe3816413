#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <skyrank/engine.hpp>
#include <skyrank/types.hpp>

#include "engine/standing/tree.hpp"

namespace skyrank::exec {

/// The rows of a skyline after a step, and the answer from them, which are made when they are first asked for: from the
/// rows before the step and what the step changes. Several threads may ask at once.
class SkylineRows {
 public:
  using Ptr = std::shared_ptr<const SkylineRows>;

  /// Rows that are there.
  explicit SkylineRows(StatePtr rows) : rows_(std::move(rows)) {}

  /// The rows of `before` without those of the ids `left`, and with those that enter, all ascending.
  static Ptr after(const Ptr& before, std::vector<RowId> left, StateRows entered);

  /// Returns the rows, ascending. Throws kernels::OverLimit.
  StatePtr rows() const;

  /// Returns the answer, which `make` makes if it has not been made.
  std::shared_ptr<const Result> answer(const std::function<std::shared_ptr<const Result>()>& make) const;

 private:
  SkylineRows(Ptr before, std::vector<RowId> left, StatePtr entered, std::size_t steps, std::size_t changed_rows);
  StatePtr known(Ptr& before) const;
  std::shared_ptr<const Result> known_answer() const;
  static StatePtr changed(const StatePtr& base, const std::vector<const SkylineRows*>& steps);

  std::vector<RowId> left_;
  StatePtr entered_;
  std::size_t steps_ = 0;         // since the last rows that were there
  std::size_t changed_rows_ = 0;  // by these steps
  mutable std::mutex answering_;  // held while the answer is made
  mutable std::mutex making_;     // held while rows are made
  mutable std::mutex mutex_;      // of the three below
  mutable Ptr before_;            // null once rows are there
  mutable StatePtr rows_;
  mutable std::shared_ptr<const Result> answer_;
};

}  // namespace skyrank::exec
