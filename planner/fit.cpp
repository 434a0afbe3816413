#include "planner/fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace skyrank::planner {
namespace {

constexpr double kPull = 0.03;  ///< pull towards the author's estimate, as a share of a run's weight

constexpr double kFarOff = 0.2;  ///< logarithm of a predicted time over the measured one

constexpr double kMin = 0.1;  ///< least share of the author's estimate, because no step takes no time

/// The x >= kMin at which |A x - b|^2 is least, from A'A and A'b, by coordinate descent: each step is exact in its
/// coordinate, and the problem is convex, so no step is wrong and the limit is the minimum.
Eigen::VectorXd bounded_least_squares(const Eigen::MatrixXd& gram, const Eigen::VectorXd& right) {
  constexpr int kRounds = 20000;
  constexpr double kStill = 1e-10;
  Eigen::VectorXd x = Eigen::VectorXd::Ones(right.size());
  for (int round = 0; round < kRounds; ++round) {
    double moved = 0;
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      if (gram(i, i) <= 0) continue;
      const double next = std::max(kMin, x[i] + (right[i] - gram.row(i).dot(x)) / gram(i, i));
      moved = std::max(moved, std::abs(next - x[i]));
      x[i] = next;
    }
    if (moved < kStill) break;
  }
  return x;
}

}  // namespace

// In multiples of the model's own seconds, so that all unknowns are about 1. The weights depend on the predictions:
// they settle in a few rounds.
Profile::Seconds fit(const std::vector<TimedRun>& runs) {
  constexpr int kRounds = 12;
  constexpr double kOutOfTheRunning = 2;
  constexpr double kMinWeight = 0.1;
  Profile::Seconds seconds;
  if (runs.empty()) return seconds;
  const cost::Terms& terms = runs.front().cost.terms;
  const auto columns = static_cast<Eigen::Index>(terms.size());
  const auto rows = static_cast<Eigen::Index>(runs.size());
  Eigen::MatrixXd predicted(rows, columns);  // by each term
  Eigen::VectorXd measured(rows);
  Eigen::VectorXd best(rows);
  for (Eigen::Index r = 0; r < rows; ++r) {
    const TimedRun& run = runs[static_cast<std::size_t>(r)];
    measured[r] = run.seconds;
    best[r] = run.best > 0 ? run.best : run.seconds;
    for (Eigen::Index c = 0; c < columns; ++c) {
      const cost::Term& term = run.cost.terms[static_cast<std::size_t>(c)];
      predicted(r, c) = term.count * term.seconds;
    }
  }
  const Eigen::VectorXd pull = Eigen::VectorXd::Constant(columns, kPull);
  Eigen::VectorXd factors = Eigen::VectorXd::Ones(columns);
  Eigen::VectorXd weights = measured.cwiseInverse();
  for (int round = 0; round < kRounds; ++round) {
    const Eigen::MatrixXd weighted = weights.asDiagonal() * predicted;
    const Eigen::MatrixXd gram = weighted.transpose() * weighted + Eigen::MatrixXd(pull.asDiagonal());
    factors = bounded_least_squares(gram, weighted.transpose() * weights.cwiseProduct(measured) + pull);
    const Eigen::VectorXd seconds_now = (predicted * factors).cwiseMax(1e-12);
    weights = seconds_now.cwiseProduct(measured).cwiseSqrt().cwiseInverse();
    // Runs that took far less than predicted count less, not those that took more: these would be chosen.
    const Eigen::VectorXd off = (seconds_now.cwiseQuotient(measured)).array().log();
    weights = weights.cwiseQuotient((off / kFarOff).cwiseMax(1).cwiseSqrt());
    for (Eigen::Index r = 0; r < rows; ++r) {
      if (runs[static_cast<std::size_t>(r)].stopped && seconds_now[r] >= measured[r]) weights[r] = 0;
      if (seconds_now[r] >= kOutOfTheRunning * best[r]) weights[r] *= std::max(kMinWeight, best[r] / measured[r]);
    }
  }
  for (Eigen::Index c = 0; c < columns; ++c) {
    const cost::Term& term = terms[static_cast<std::size_t>(c)];
    seconds.emplace(term.name, term.seconds * factors[c]);
  }
  return seconds;
}

}  // namespace skyrank::planner
