#include "planner/fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace skyrank::planner {
namespace {

constexpr double kPull = 0.003;  ///< of a run's weight, for being off by the whole of it

constexpr double kFarOff = 0.2;  ///< logarithm of a predicted time over the measured one

constexpr double kLeast = 0.1;  ///< of a model's own seconds: nothing is done in no time

/// The x >= kLeast at which |A x - b|^2 is least, from A'A and A'b, by coordinate descent: each step is exact in its
/// coordinate, and the problem is convex, so no step is wrong and the limit is the minimum.
Eigen::VectorXd bounded_least_squares(const Eigen::MatrixXd& gram, const Eigen::VectorXd& right) {
  constexpr int kRounds = 20000;
  constexpr double kStill = 1e-10;
  Eigen::VectorXd x = Eigen::VectorXd::Ones(right.size());
  for (int round = 0; round < kRounds; ++round) {
    double moved = 0;
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      if (gram(i, i) <= 0) continue;
      const double next = std::max(kLeast, x[i] + (right[i] - gram.row(i).dot(x)) / gram(i, i));
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
  constexpr double kLeastWeight = 0.1;
  Profile::Seconds seconds;
  if (runs.empty()) return seconds;
  const std::vector<cost::Term>& terms = runs.front().cost.terms;
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
      const cost::Term& term = run.cost.terms.at(static_cast<std::size_t>(c));
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
      if (seconds_now[r] >= kOutOfTheRunning * best[r]) weights[r] *= std::max(kLeastWeight, best[r] / measured[r]);
    }
  }
  for (Eigen::Index c = 0; c < columns; ++c) {
    const cost::Term& term = terms[static_cast<std::size_t>(c)];
    seconds.emplace(term.name, term.seconds * factors[c]);
  }
  return seconds;
}

namespace {

/// Runs as rows: features, logarithm of measured over predicted time, weight.
struct Residuals {
  Eigen::MatrixXd features;
  Eigen::VectorXd logs;
  Eigen::VectorXd weights;
};

double predicted_by(const cost::Cost& cost, const Profile::Seconds& seconds) {
  double sum = 0;
  for (const cost::Term& term : cost.terms) {
    const auto found = seconds.find(term.name);
    sum += term.count * (found == seconds.end() ? term.seconds : found->second);
  }
  return sum;
}

/// Of runs that took up to twenty times as long as the best of their query, those near it counting more.
Residuals residuals_of(const std::vector<TimedRun>& runs, const Profile::Seconds& seconds) {
  constexpr double kCompared = 20;
  std::vector<const TimedRun*> near;
  for (const TimedRun& run : runs) {
    if (!run.stopped && !run.features.empty() && (run.best <= 0 || run.seconds <= kCompared * run.best)) {
      near.push_back(&run);
    }
  }
  const auto rows = static_cast<Eigen::Index>(near.size());
  const auto columns = static_cast<Eigen::Index>(near.empty() ? 0 : near.front()->features.size());
  Residuals result{Eigen::MatrixXd(rows, columns), Eigen::VectorXd(rows), Eigen::VectorXd(rows)};
  for (Eigen::Index r = 0; r < rows; ++r) {
    const TimedRun& run = *near[static_cast<std::size_t>(r)];
    result.features.row(r) = Eigen::Map<const Eigen::RowVectorXd>(run.features.data(), columns);
    result.logs[r] = std::log(run.seconds / std::max(1e-12, predicted_by(run.cost, seconds)));
    result.weights[r] = run.best > 0 ? run.best / run.seconds : 1;
  }
  return result;
}

struct Ridge {
  Eigen::VectorXd coefficients;
  double error = 0;  ///< weighted mean of squared errors, each run predicted without itself
};

/// All but the constant, which comes first, are drawn to 0.
Ridge ridge(const Residuals& runs, const Eigen::VectorXd& weights, double strength) {
  Eigen::VectorXd pull = Eigen::VectorXd::Constant(runs.features.cols(), strength);
  pull[0] = 1e-6;
  const Eigen::MatrixXd weighted = weights.asDiagonal() * runs.features;
  const Eigen::MatrixXd gram = runs.features.transpose() * weighted + Eigen::MatrixXd(pull.asDiagonal());
  const Eigen::LDLT<Eigen::MatrixXd> solver(gram);
  Ridge result{solver.solve(weighted.transpose() * runs.logs), 0};
  const Eigen::MatrixXd solved = solver.solve(weighted.transpose());
  for (Eigen::Index r = 0; r < runs.logs.size(); ++r) {
    const double leverage = runs.features.row(r).dot(solved.col(r));
    const double off = runs.logs[r] - runs.features.row(r).dot(result.coefficients);
    const double alone = off / std::max(0.05, 1 - leverage);
    result.error += runs.weights[r] * std::min(std::abs(alone), 0.5);
  }
  result.error /= runs.weights.sum();
  return result;
}

}  // namespace

// Runs that are far off, whose times are often some other work's, count less from round to round.
std::vector<double> fit_correction(const std::vector<TimedRun>& runs, const Profile::Seconds& seconds) {
  constexpr double kStrengths[] = {1, 3, 10};
  constexpr int kRounds = 6;
  constexpr double kNear = 1.5;
  const Residuals residuals = residuals_of(runs, seconds);
  const auto near = std::ranges::count_if(
      runs, [](const TimedRun& run) { return !run.stopped && (run.best <= 0 || run.seconds <= kNear * run.best); });
  if (near < 2 * residuals.features.cols() || residuals.features.cols() == 0) return {};
  std::vector<double> best;
  double least = std::numeric_limits<double>::infinity();
  for (const double strength : kStrengths) {
    Eigen::VectorXd weights = residuals.weights;
    Ridge fitted;
    for (int round = 0; round < kRounds; ++round) {
      fitted = ridge(residuals, weights, strength);
      const Eigen::VectorXd off = (residuals.logs - residuals.features * fitted.coefficients).cwiseAbs();
      weights = residuals.weights.cwiseQuotient((off / kFarOff).cwiseMax(1));
    }
    if (fitted.error >= least) continue;
    least = fitted.error;
    best.assign(fitted.coefficients.begin(), fitted.coefficients.end());
  }
  return best;
}

}  // namespace skyrank::planner
