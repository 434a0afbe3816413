#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/problem.hpp"

namespace skyrank::planner {

/// How the rows of a sample dominate each other, and where they stand in each dimension.
struct Dominators {
  std::vector<std::uint32_t> counts;  ///< of each row: rows that dominate it; some number from 256 on if more
  std::vector<std::uint32_t> order;   ///< rows by ascending sum of their places
  std::vector<std::vector<std::uint32_t>> places;  ///< per dimension, of each row: rows with lesser keys
  std::size_t spared = 0;                          ///< rows that none of the first `strong` of `order` dominates

  /// Expected rows in the skyline of a random s of the rows, 1 <= s <= all of them. As all such subsets count, this
  /// varies less from sample to sample than the skyline of any.
  double skyline_of(double s) const;
};

/// Of 1 to 65,536 rows. Sets of rows as bits, each row's the intersection over the dimensions of the rows up to its
/// own place: m^2 d / 64 words for m rows, besides sorting d times. Takes m^2 / 8 bytes.
Dominators find_dominators(const kernels::SkylineProblem& sample, std::size_t strong);

}  // namespace skyrank::planner
