#pragma once

#include <vector>

#include "planner/cost/terms.hpp"
#include "planner/profile.hpp"

namespace skyrank::planner {

/// What a model says of a run, and how long the run took.
struct TimedRun {
  cost::Cost cost;
  double seconds = 0;
};

/// Seconds of the terms of one algorithm's model, the same names in every run, none below 0: those with the least sum
/// of squared errors relative to the geometric mean of measured and predicted time, so that half and twice the time are
/// equally wrong. A weak pull to the model's own seconds settles terms that the runs cannot tell apart, or do not
/// contain.
Profile::Seconds fit(const std::vector<TimedRun>& runs);

}  // namespace skyrank::planner
