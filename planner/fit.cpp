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

namespace {

constexpr double kNoise = 0.02;    ///< variance of a run's logarithm, if it is the best of its query
constexpr double kOfConstant = 1;  ///< prior variances of what a correction adds up
constexpr double kOfCoefficient = 0.2;
constexpr double kOfNearby = 0.1;
constexpr std::size_t kMaxPoints = 240;

Eigen::MatrixXd features_of(const std::vector<const CorrectedRun*>& runs) {
  Eigen::MatrixXd features(static_cast<Eigen::Index>(runs.size()),
                           static_cast<Eigen::Index>(runs.front()->features.size()));
  for (std::size_t r = 0; r < runs.size(); ++r) {
    features.row(static_cast<Eigen::Index>(r)) =
        Eigen::Map<const Eigen::RowVectorXd>(runs[r]->features.data(), features.cols());
  }
  return features;
}

double rbf_kernel(const Eigen::MatrixXd& a, Eigen::Index i, const Eigen::MatrixXd& b, Eigen::Index j) {
  return std::exp(-(a.row(i) - b.row(j)).squaredNorm() / 2);
}

/// Rows of `features` by which all others are told best: those of a pivoted Cholesky decomposition of the matrix of
/// their RBF kernels.
Eigen::MatrixXd chosen_points(const Eigen::MatrixXd& features) {
  constexpr double kTold = 0.01;  // of the variance is left
  const Eigen::Index rows = features.rows();
  Eigen::VectorXd left = Eigen::VectorXd::Ones(rows);
  Eigen::MatrixXd factors(rows, 0);
  std::vector<Eigen::Index> chosen;
  while (chosen.size() < kMaxPoints) {
    Eigen::Index next = 0;
    if (left.maxCoeff(&next) < kTold) break;
    Eigen::VectorXd column(rows);
    for (Eigen::Index r = 0; r < rows; ++r) column[r] = rbf_kernel(features, r, features, next);
    column -= factors * factors.row(next).transpose();
    column /= std::sqrt(left[next]);
    factors.conservativeResize(Eigen::NoChange, factors.cols() + 1);
    factors.rightCols(1) = column;
    left = (left - column.cwiseAbs2()).cwiseMax(0);
    chosen.push_back(next);
  }
  Eigen::MatrixXd points(static_cast<Eigen::Index>(chosen.size()), features.cols());
  for (std::size_t i = 0; i < chosen.size(); ++i) points.row(static_cast<Eigen::Index>(i)) = features.row(chosen[i]);
  return points;
}

/// The inverse of the prior covariance of a constant, coefficients and weights of points.
Eigen::MatrixXd prior_of(const Eigen::MatrixXd& points) {
  constexpr double kJitter = 1e-4;
  const Eigen::Index linear = points.cols() + 1;
  Eigen::MatrixXd prior = Eigen::MatrixXd::Zero(linear + points.rows(), linear + points.rows());
  prior.diagonal().head(linear).setConstant(1 / kOfCoefficient);
  prior(0, 0) = 1 / kOfConstant;
  for (Eigen::Index i = 0; i < points.rows(); ++i) {
    for (Eigen::Index j = 0; j < points.rows(); ++j) {
      prior(linear + i, linear + j) = (rbf_kernel(points, i, points, j) + (i == j ? kJitter : 0)) / kOfNearby;
    }
  }
  return prior;
}

Correction correction_of(const Eigen::VectorXd& solution, const Eigen::MatrixXd& points) {
  const Eigen::Index linear = points.cols() + 1;
  Correction correction;
  correction.linear.assign(solution.begin(), solution.begin() + linear);
  for (Eigen::Index i = linear; i < solution.size(); ++i) correction.weights.push_back(static_cast<float>(solution[i]));
  for (const double value : points.reshaped()) correction.points.push_back(static_cast<float>(value));
  return correction;
}

/// A factor alone: that of the run that took longer than 95 % of the runs did, by what was predicted.
Correction correction_of_the_worst(const std::vector<CorrectedRun>& runs) {
  std::vector<double> logs;
  for (const CorrectedRun& run : runs) logs.push_back(std::log(run.seconds / std::max(1e-12, run.predicted)));
  const auto worst = logs.begin() + static_cast<std::ptrdiff_t>(logs.size() * 95 / 100);
  std::nth_element(logs.begin(), worst, logs.end());
  Correction correction;
  correction.linear.assign(runs.front().features.size() + 1, 0.0);
  correction.linear.front() = std::max(0.0, *worst);
  return correction;
}

}  // namespace

std::optional<Correction> fit_correction(const std::vector<CorrectedRun>& runs) {
  constexpr std::size_t kMinRuns = 40;
  constexpr double kNear = 3;
  constexpr double kCompared = 20;
  constexpr int kRounds = 4;
  if (runs.size() < kMinRuns) return std::nullopt;
  if (std::ranges::count_if(runs, [](const auto& run) { return run.seconds <= kNear * run.best; }) <
      std::ptrdiff_t{kMinRuns}) {
    return correction_of_the_worst(runs);
  }
  std::vector<const CorrectedRun*> compared;
  for (const CorrectedRun& run : runs) {
    if (run.seconds <= kCompared * run.best) compared.push_back(&run);
  }
  const Eigen::MatrixXd features = features_of(compared);
  const Eigen::MatrixXd points = chosen_points(features);
  const Eigen::Index linear = features.cols() + 1;
  Eigen::MatrixXd terms(features.rows(), linear + points.rows());
  terms.col(0).setOnes();
  terms.middleCols(1, features.cols()) = features;
  Eigen::VectorXd logs(features.rows());
  Eigen::VectorXd precision(features.rows());
  for (Eigen::Index r = 0; r < features.rows(); ++r) {
    const CorrectedRun& run = *compared[static_cast<std::size_t>(r)];
    logs[r] = std::log(run.seconds / std::max(1e-12, run.predicted));
    precision[r] = run.best / run.seconds / kNoise;
    for (Eigen::Index i = 0; i < points.rows(); ++i) terms(r, linear + i) = rbf_kernel(features, r, points, i);
  }
  const Eigen::MatrixXd prior = prior_of(points);
  Eigen::VectorXd weights = precision;
  Eigen::VectorXd solution;
  for (int round = 0; round < kRounds; ++round) {
    const Eigen::MatrixXd weighted = weights.asDiagonal() * terms;
    solution = (terms.transpose() * weighted + prior).ldlt().solve(weighted.transpose() * logs);
    weights = precision.cwiseQuotient(((logs - terms * solution).cwiseAbs() / kFarOff).cwiseMax(1));
  }
  return correction_of(solution, points);
}

}  // namespace skyrank::planner
