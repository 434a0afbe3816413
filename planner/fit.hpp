#pragma once

#include <vector>

#include "planner/cost/terms.hpp"
#include "planner/profile.hpp"

// Calibration: seconds of a cost model's terms by weighted least squares over timed runs, with lower bounds.
namespace skyrank::planner {

/// A run: the cost that its model gives, and the time that it took.
struct TimedRun {
  cost::Cost cost;
  double seconds = 0;
  bool stopped = false;  ///< after so many seconds: it would have taken longer
  double best = 0;       ///< seconds of the best run of the same query; 0: this run's own
};

/// Seconds of the terms of one algorithm's model, the same names in every run, none below a tenth of the model's own:
/// those with the least sum of squared errors relative to the geometric mean of measured and predicted time, so that
/// half and twice the time are equally wrong. A weak pull to the model's own seconds settles terms that the runs cannot
/// tell apart, or do not contain. Runs that are slower than the best of
/// their query count the less, as long as they are predicted to take twice as long as that: what is not going to be
/// chosen need not be known well. A stopped run counts as long as it is predicted to take less than it did.
Profile::Seconds fit(const std::vector<TimedRun>& runs);

}  // namespace skyrank::planner
