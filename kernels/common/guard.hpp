#pragma once

#include <cstdint>

namespace skyrank::kernels {

/// Bounds the steps of a run whose worst case is a power above that of another path. An algorithm books its steps block
/// by block of rows, and ends once they are more than the bound: its solution then has the rows that may still be in
/// the answer, for the other path. One thread books; threads that run side by side get equal shares of what is left, so
/// that the point at which a guard strikes does not depend on their timing.
class Guard {
 public:
  explicit Guard(std::uint64_t bound) : bound_(bound) {}

  void spend(std::uint64_t steps) { spent_ += steps; }
  std::uint64_t spent() const { return spent_; }
  std::uint64_t left() const { return spent_ < bound_ ? bound_ - spent_ : 0; }
  bool struck() const { return spent_ > bound_; }

 private:
  std::uint64_t bound_;
  std::uint64_t spent_ = 0;
};

}  // namespace skyrank::kernels
