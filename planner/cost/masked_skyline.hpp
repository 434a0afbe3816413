#pragma once

#include "planner/cost/terms.hpp"
#include "planner/facts/machine.hpp"
#include "planner/facts/statistics.hpp"

namespace skyrank::planner::cost {

/// The differences between two algorithms that divide rows by masks of medians and quartiles, after the same paper.
struct MaskedSkyline {
  double key = 0;               ///< seconds for ranks, prefilter, levels and copy of one key
  double dominance_tested = 0;  ///< share of pairs of rows that stay which masks leave open, for each dimension
};

Cost masked_skyline(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
                    const MaskedSkyline& algorithm);

}  // namespace skyrank::planner::cost
