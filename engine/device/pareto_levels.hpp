#pragma once

#include <cstdint>
#include <utility>

#include "engine/device/row_set.hpp"
#include "kernels/common/memory.hpp"

namespace skyrank::exec {

using kernels::Vector;

/// The Pareto level, from 1, of each row of a row set: on the host, on the device, or the same for all. They are not
/// found where a query keeps all rows and does not ask for levels.
class ParetoLevels {
 public:
  ParetoLevels() = default;  ///< the first level for all
  explicit ParetoLevels(Vector<std::int32_t> levels) : host_(std::move(levels)), kind_(Kind::host) {}
  /// `levels` are n of type int32.
  ParetoLevels(std::int64_t n, kernels::cuda::DeviceArray levels)
      : device_(std::move(levels)), n_(n), kind_(Kind::device) {}

  static ParetoLevels not_found() {
    ParetoLevels levels;
    levels.kind_ = Kind::none;
    return levels;
  }

  /// Returns true if there are levels; else `at` and `all` may not be called.
  bool are_found() const { return kind_ != Kind::none; }

  /// The levels at some positions.
  Vector<std::int32_t> at(const Vector<std::int64_t>& positions) const;

  /// Returns true if all rows are of the first level.
  bool are_first() const { return kind_ == Kind::first; }

  /// The levels of all rows of a set of n.
  Vector<std::int32_t> all(std::int64_t n) const;

 private:
  enum class Kind : std::uint8_t { none, first, host, device };

  Vector<std::int32_t> host_;
  kernels::cuda::DeviceArray device_;
  std::int64_t n_ = 0;
  Kind kind_ = Kind::first;
};

}  // namespace skyrank::exec
