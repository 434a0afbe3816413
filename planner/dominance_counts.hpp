#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/problem.hpp"

// Statistics of a sample that predict the size of a skyline and the work of finding it: how many rows dominate each
// row. A row is in the skyline of a smaller sample if none of these is drawn, which gives its expected size.
namespace skyrank::planner {

/// How the rows of a sample dominate each other, and where they stand in each dimension.
struct DominanceCounts {
  std::size_t dims = 0;
  std::vector<std::uint32_t> counts = {};     ///< per row: rows that dominate it; some number from 256 on if more
  std::vector<std::uint32_t> places = {};     ///< a dimension after the other, of each row: rows with lesser keys
  std::vector<std::uint32_t> strongest = {};  ///< the rows of least sums of places
  std::size_t spared = 0;                     ///< rows that none of these dominates

  /// Expected rows in the skyline of a random s of the rows, 1 <= s <= all of them. As all such subsets count, this
  /// varies less from sample to sample than the skyline of any.
  double skyline_of(double s) const;
};

/// Finds the dominators of 1 to 65,536 rows, and the `strong` strongest rows. Up to kMaxPaired rows are compared in
/// pairs. For more rows, sets of rows are bits: a row's set is the intersection, over the dimensions, of the rows up to
/// its own place. That takes m^2 d / 64 words of work for m rows, and d sorts; rows come in blocks whose sets stay in a
/// cache.
DominanceCounts count_dominance(const kernels::SkylineProblem& sample, std::size_t strong);

}  // namespace skyrank::planner
