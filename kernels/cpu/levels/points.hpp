#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/problem.hpp"

namespace skyrank::kernels::levels {

/// Points with d signed codes each, side by side. Codes order as the keys that they stand for.
class Points {
 public:
  Points(std::size_t n, std::size_t d) : n_(n), d_(d), codes_(n * d) {}

  std::size_t size() const { return n_; }
  std::size_t dims() const { return d_; }
  std::int32_t* operator[](std::size_t point) { return codes_.get() + point * d_; }
  const std::int32_t* operator[](std::size_t point) const { return codes_.get() + point * d_; }

  /// Forgets the points from n on.
  void truncate(std::size_t n) { n_ = n; }

 private:
  std::size_t n_;
  std::size_t d_;
  Array<std::int32_t> codes_;
};

}  // namespace skyrank::kernels::levels
