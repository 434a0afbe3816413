#pragma once

#include <vector>

#include "tests/differential/oracle/expression.hpp"

namespace skyrank::differential {

/// Boxes between points, of which smaller coordinates are better, and a reference point. Their volumes are exact: all
/// coordinates are multiples of one unit, of which less than 2^53 fit any sum of volumes, so that no order of
/// operations rounds. Throws Undefined for other points.
class Boxes {
 public:
  Boxes(const std::vector<std::vector<double>>& points, const std::vector<double>& reference);

  /// Returns the volume that box i covers and none of some others does.
  double exclusive_volume(std::size_t i, const std::vector<std::size_t>& others) const;

 private:
  using Edges = std::vector<Integer>;

  static Integer covered(std::vector<Edges> boxes, std::size_t dims);

  std::size_t dims_;
  double unit_ = 1;
  std::vector<Edges> edges_;  ///< 0 where a point is not better than the reference
};

}  // namespace skyrank::differential
