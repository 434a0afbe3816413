#include "planner/fit.hpp"

#include <Eigen/Dense>
#include <cmath>
#include <string>

namespace skyrank::planner {
namespace {

constexpr double kPull = 0.01;

/// The x >= 0 at which |A x - b|^2 is least, from A'A and A'b, by coordinate descent: each step is exact in its
/// coordinate, and the problem is convex, so no step is wrong and the limit is the minimum.
Eigen::VectorXd non_negative_least_squares(const Eigen::MatrixXd& gram, const Eigen::VectorXd& right) {
  constexpr int kRounds = 20000;
  constexpr double kStill = 1e-10;
  Eigen::VectorXd x = Eigen::VectorXd::Ones(right.size());
  for (int round = 0; round < kRounds; ++round) {
    double moved = 0;
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      if (gram(i, i) <= 0) continue;
      const double next = std::max(0.0, x[i] + (right[i] - gram.row(i).dot(x)) / gram(i, i));
      moved = std::max(moved, std::abs(next - x[i]));
      x[i] = next;
    }
    if (moved < kStill) break;
  }
  return x;
}

}  // namespace

// In multiples of the model's own seconds, so that all unknowns are about 1. A row of A is a run's share of each term
// in the time measured; b is all ones.
Profile::Seconds fit(const std::vector<TimedRun>& runs) {
  Profile::Seconds seconds;
  if (runs.empty()) return seconds;
  const std::vector<cost::Term>& terms = runs.front().cost.terms;
  const auto columns = static_cast<Eigen::Index>(terms.size());
  Eigen::MatrixXd shares(static_cast<Eigen::Index>(runs.size()), columns);
  for (Eigen::Index r = 0; r < shares.rows(); ++r) {
    const TimedRun& run = runs[static_cast<std::size_t>(r)];
    for (Eigen::Index c = 0; c < columns; ++c) {
      const cost::Term& term = run.cost.terms.at(static_cast<std::size_t>(c));
      shares(r, c) = term.count * term.seconds / run.seconds;
    }
  }
  const Eigen::VectorXd pull = Eigen::VectorXd::Constant(columns, kPull);
  const Eigen::MatrixXd gram = shares.transpose() * shares + Eigen::MatrixXd(pull.asDiagonal());
  const Eigen::VectorXd factors = non_negative_least_squares(gram, shares.colwise().sum().transpose() + pull);
  for (Eigen::Index c = 0; c < columns; ++c) {
    const cost::Term& term = terms[static_cast<std::size_t>(c)];
    seconds.emplace(term.name, term.seconds * factors[c]);
  }
  return seconds;
}

}  // namespace skyrank::planner
