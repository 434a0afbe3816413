#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/problem.hpp"

namespace skyrank::planner {

/// How the rows of a sample dominate each other, and where they stand in each dimension.
struct DominanceCounts {
  std::size_t dims = 0;
  std::vector<std::uint32_t> counts = {};     ///< of each row: rows that dominate it; some number from 256 on if more
  std::vector<std::uint32_t> places = {};     ///< a dimension after the other, of each row: rows with lesser keys
  std::vector<std::uint32_t> strongest = {};  ///< the rows of least sums of places
  std::size_t spared = 0;                     ///< rows that none of these dominates

  /// Expected rows in the skyline of a random s of the rows, 1 <= s <= all of them. As all such subsets count, this
  /// varies less from sample to sample than the skyline of any.
  double skyline_of(double s) const;
};

/// Of 1 to 65,536 rows, with so many of the strongest. Up to kMaxPaired are compared with each other. Of more, sets of
/// rows as bits, each row's the intersection over the dimensions of the rows up to its own place: m^2 d / 64 words for
/// m rows, besides sorting d times. That takes m^2 / 8 bytes.
DominanceCounts count_dominance(const kernels::SkylineProblem& sample, std::size_t strong);

}  // namespace skyrank::planner
