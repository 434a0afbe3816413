#pragma once

#include <optional>
#include <vector>

#include "planner/cost/terms.hpp"
#include "planner/profile.hpp"

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

/// A run, and how long its model says that it takes.
struct CorrectedRun {
  std::vector<double> features;  ///< cost::Features of the problem
  double predicted = 0;          ///< seconds, by fitted terms
  double seconds = 0;
  double best = 0;  ///< seconds of the best run of the same query
};

/// Regression of the logarithm of measured over predicted time by a Gaussian process: linear in the features, and
/// beside that alike where these are near (Rasmussen, Williams: Gaussian Processes for Machine Learning, 2006,
/// sections 2.7 and 8.3.1, on a subset of the runs, chosen so that every run is near one of them). Runs that are slower
/// than the best of their query count less, and so do those that are far off, whose times are often some other work's.
/// Where fewer than 40 runs are near the best of their query, a path that is seldom any good is made as dear as the
/// runs that were predicted worst, lest it be chosen by mistake. Nothing where there are fewer than 40 runs.
std::optional<Correction> fit_correction(const std::vector<CorrectedRun>& runs);

}  // namespace skyrank::planner
