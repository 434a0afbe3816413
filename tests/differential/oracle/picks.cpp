#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "tests/differential/oracle/fronts.hpp"
#include "tests/differential/oracle/volumes.hpp"

// A few rows: the section of that name of engine/docs/meaning.md. Always the row that counts most beside those picked
// before, and of equal ones the first.
namespace skyrank::differential {
namespace {

using Chosen = std::vector<std::size_t>;  ///< places among the rows that are kept

bool contains(const Chosen& chosen, std::size_t place) { return std::ranges::count(chosen, place) > 0; }

/// Returns the first place, of those not chosen, with the greatest gain.
template <class Gain>
std::size_t best_place(std::size_t n, const Chosen& chosen, const Gain& gain) {
  std::optional<std::size_t> best;
  double most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (contains(chosen, i)) continue;
    const double found = gain(i);
    if (best && found <= most) continue;
    best = i;
    most = found;
  }
  return *best;
}

/// The rows that are kept, as points of which smaller coordinates are better.
std::vector<std::vector<double>> points_of(const Query& query, const Relation& relation, const Candidates& kept) {
  const std::vector<ValueTerm> terms = value_terms(*query.prefer);
  std::vector<std::vector<double>> points;
  for (const Candidate& candidate : kept) {
    const Row& row = relation.rows[candidate.row];
    std::vector<double>& point = points.emplace_back();
    for (const ValueTerm& term : terms) {
      const double value = number_of(term, row);
      const bool is_best = query.nulls == "best" && is_null(evaluate(*term.expression, row));
      point.push_back(std::isnan(value) ? (is_best ? -kInfinity : kInfinity) : term.high ? -value : value);
    }
  }
  return points;
}

/// Points between the best and the worst finite value of each term, as distances take them.
class Places {
 public:
  explicit Places(std::vector<std::vector<double>> points) : points_(std::move(points)) {
    for (std::size_t t = 0; t < points_.front().size(); ++t) scale(t);
  }

  double distance(std::size_t a, std::size_t b) const {
    double sum = 0;
    for (std::size_t t = 0; t < points_[a].size(); ++t) {
      const double side = points_[a][t] - points_[b][t];
      sum += side * side;
    }
    return sum;
  }

  /// Throws Undefined if rounding may decide which of two distances is the greater one.
  void check_order(std::size_t a, double distance_a, std::size_t b, double distance_b) const {
    constexpr double kDoubt = 1e-12;
    if (exact_ || points_[a] == points_[b] || std::abs(distance_a - distance_b) > kDoubt) return;
    throw Undefined("a distance that rounds");
  }

 private:
  void scale(std::size_t t) {
    constexpr double kUnits = 1 << 20;
    double best = kInfinity;
    double worst = -kInfinity;
    for (const auto& point : points_) {
      if (!std::isfinite(point[t])) continue;
      best = std::min(best, point[t]);
      worst = std::max(worst, point[t]);
    }
    for (auto& point : points_) {
      double& value = point[t];
      value = std::isinf(value) ? (value < 0 ? 0 : 1) : worst > best ? (value - best) / (worst - best) : 0;
      exact_ = exact_ && value * kUnits == std::trunc(value * kUnits);
    }
  }

  std::vector<std::vector<double>> points_;
  bool exact_ = true;  ///< squares of differences, and sums of them, do not round
};

Chosen pick_by_distance(const Query& query, const std::vector<std::vector<double>>& points) {
  const auto first = std::ranges::min_element(points, {}, [](const auto& point) { return point[0]; });
  Chosen chosen = {static_cast<std::size_t>(first - points.begin())};
  const Places places(points);
  std::vector<double> nearest(points.size(), kInfinity);
  while (std::ssize(chosen) < query.pick->count && chosen.size() < points.size()) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      nearest[i] = std::min(nearest[i], places.distance(i, chosen.back()));
    }
    const std::size_t next = best_place(points.size(), chosen, [&](std::size_t i) { return nearest[i]; });
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (!contains(chosen, i)) places.check_order(next, nearest[next], i, nearest[i]);
    }
    chosen.push_back(next);
  }
  return chosen;
}

Chosen pick_by_coverage(const Query& query, const Placed& preference, const Front& front) {
  Chosen chosen;
  Candidates open = front.pool;
  const auto beats = [&](std::size_t i, const Candidate& row) {
    return outcome(preference, front.kept[i].row, row.row) == Outcome::better;
  };
  while (std::ssize(chosen) < query.pick->count && chosen.size() < front.kept.size()) {
    const std::size_t next = best_place(front.kept.size(), chosen, [&](std::size_t i) {
      return static_cast<double>(std::ranges::count_if(open, [&](const Candidate& row) { return beats(i, row); }));
    });
    std::erase_if(open, [&](const Candidate& row) { return beats(next, row); });
    chosen.push_back(next);
  }
  return chosen;
}

/// A row with an infinite or a missing value adds nothing.
Chosen pick_by_volume(const Query& query, std::vector<std::vector<double>> points) {
  const std::vector<ValueTerm> terms = value_terms(*query.prefer);
  std::vector<double> reference = query.pick->reference;
  for (std::size_t t = 0; t < terms.size(); ++t) reference[t] = terms[t].high ? -reference[t] : reference[t];
  for (std::vector<double>& point : points) {
    if (std::ranges::any_of(point, [](double value) { return std::isinf(value); })) std::ranges::fill(point, kInfinity);
  }
  const Boxes boxes(points, reference);
  Chosen chosen;
  while (std::ssize(chosen) < query.pick->count && chosen.size() < points.size()) {
    chosen.push_back(
        best_place(points.size(), chosen, [&](std::size_t i) { return boxes.exclusive_volume(i, chosen); }));
  }
  return chosen;
}

}  // namespace

Candidates picked(const Query& query, const Relation& relation, const Placed& preference, const Front& front) {
  if (!query.pick || front.kept.empty()) return front.kept;
  Chosen chosen;
  switch (query.pick->by) {
    case Pick::By::distance: chosen = pick_by_distance(query, points_of(query, relation, front.kept)); break;
    case Pick::By::coverage: chosen = pick_by_coverage(query, preference, front); break;
    case Pick::By::hypervolume: chosen = pick_by_volume(query, points_of(query, relation, front.kept)); break;
  }
  std::ranges::sort(chosen);
  Candidates rows;
  for (const std::size_t place : chosen) rows.push_back(front.kept[place]);
  return rows;
}

}  // namespace skyrank::differential
