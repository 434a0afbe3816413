#pragma once

#include <vector>

#include "planner/cost/terms.hpp"
#include "planner/profile.hpp"

namespace skyrank::planner {

/// What a model says of a run, and how long the run took.
struct TimedRun {
  cost::Cost cost;
  double seconds = 0;
  bool stopped = false;               ///< after so many seconds: it would have taken longer
  double best = 0;                    ///< of the same query, in seconds; 0: this run's own
  std::vector<double> features = {};  ///< cost::correction_values of the problem; none: nothing to correct by
};

/// Seconds of the terms of one algorithm's model, the same names in every run, none below a tenth of the model's own:
/// those with the least sum of squared errors relative to the geometric mean of measured and predicted time, so that
/// half and twice the time are equally wrong. A weak pull to the model's own seconds settles terms that the runs cannot
/// tell apart, or do not contain. Runs that are slower than the best of
/// their query count the less, as long as they are predicted to take twice as long as that: what is not going to be
/// chosen need not be known well. A stopped run counts as long as it is predicted to take less than it did.
Profile::Seconds fit(const std::vector<TimedRun>& runs);

/// Coefficients of the runs' features that correct the logarithm of what `seconds` predict; empty where not twice
/// as many runs as there are features are near the best of their query. Ridge regression: of some strengths that at
/// which each run is best predicted by all others.
std::vector<double> fit_correction(const std::vector<TimedRun>& runs, const Profile::Seconds& seconds);

}  // namespace skyrank::planner
