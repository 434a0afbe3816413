#pragma once

#include <cstdint>
#include <utility>

#include "engine/device/row_set.hpp"
#include "kernels/common/memory.hpp"

namespace skyrank::exec {

using kernels::Vector;

/// The Pareto level, from 1, of each row of a row set: on the host, on the device, or the same for all.
class ParetoLevels {
 public:
  ParetoLevels() = default;  ///< the first level for all
  explicit ParetoLevels(Vector<std::int32_t> levels) : host_(std::move(levels)), kind_(Kind::host) {}
  /// `levels` are n of type int32.
  ParetoLevels(std::int64_t n, kernels::cuda::DeviceArray levels)
      : device_(std::move(levels)), n_(n), kind_(Kind::device) {}

  /// The levels at some positions.
  Vector<std::int32_t> at(const Vector<std::int64_t>& positions) const;

  /// Returns true if all rows are of the first level.
  bool are_first() const { return kind_ == Kind::first; }

  /// The levels of all rows of a set of n.
  Vector<std::int32_t> all(std::int64_t n) const;

 private:
  enum class Kind : std::uint8_t { first, host, device };

  Vector<std::int32_t> host_;
  kernels::cuda::DeviceArray device_;
  std::int64_t n_ = 0;
  Kind kind_ = Kind::first;
};

}  // namespace skyrank::exec
