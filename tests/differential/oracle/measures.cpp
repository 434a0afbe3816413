#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "tests/differential/oracle/fronts.hpp"
#include "tests/differential/oracle/volumes.hpp"

// Functions of rows: the section "Measures of a row" of engine/docs/meaning.md.
namespace skyrank::differential {
namespace {

/// The rows of a level that lack no value, ascending, and their values of each term.
struct Level {
  std::vector<std::size_t> rows = {};
  std::vector<std::vector<double>> values = {};
};

using Found = std::map<std::size_t, double>;  ///< by row; none where the measure is NULL

/// The best and the worst finite value of a term.
struct Range {
  double least = kInfinity;
  double greatest = -kInfinity;

  double width() const { return greatest - least; }
};

Range finite_range(const std::vector<double>& values) {
  Range range;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    range.least = std::min(range.least, value);
    range.greatest = std::max(range.greatest, value);
  }
  const bool infinite = std::ranges::any_of(values, [](double value) { return std::isinf(value); });
  if (infinite && !(range.least < range.greatest)) throw Undefined("a share of no range");
  return range;
}

double difference(double a, double b) { return a == b ? 0 : a - b; }

Found crowding(const Level& level) {
  std::vector<double> sums(level.rows.size());
  for (const std::vector<double>& values : level.values) {
    const Range range = finite_range(values);
    std::vector<std::pair<double, std::size_t>> order;  // rows ascend, so that places do too
    for (std::size_t i = 0; i < values.size(); ++i) order.emplace_back(values[i] + 0.0, i);
    std::ranges::sort(order);
    if (order.front().first == order.back().first) continue;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const bool is_end = i == 0 || i + 1 == order.size();
      sums[order[i].second] += is_end ? kInfinity : difference(order[i + 1].first, order[i - 1].first) / range.width();
    }
  }
  Found found;
  for (std::size_t i = 0; i < sums.size(); ++i) found[level.rows[i]] = sums[i];
  return found;
}

Found compromise(const Level& level, const std::vector<ValueTerm>& terms, const std::vector<double>& weights) {
  Found found;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const double weight = weights.empty() ? 1 : weights[t];
    if (weight == 0) continue;
    const Range range = finite_range(level.values[t]);
    for (std::size_t i = 0; i < level.rows.size(); ++i) {
      const double value = level.values[t][i];
      const double behind = terms[t].high ? range.greatest - value : value - range.least;
      const double share = behind == 0 ? 0 : weight * (behind / range.width());
      const auto [place, is_new] = found.try_emplace(level.rows[i], share);
      if (!is_new) place->second = std::max(place->second, share);
    }
  }
  return found;
}

Found contribution(const Level& level, const std::vector<ValueTerm>& terms, const std::vector<double>& reference) {
  std::vector<std::size_t> rows;
  std::vector<std::vector<double>> points;
  std::vector<double> limits;
  for (std::size_t t = 0; t < terms.size(); ++t) limits.push_back(terms[t].high ? -reference[t] : reference[t]);
  for (std::size_t i = 0; i < level.rows.size(); ++i) {
    std::vector<double> point;
    for (std::size_t t = 0; t < terms.size(); ++t) {
      point.push_back(terms[t].high ? -level.values[t][i] : level.values[t][i]);
    }
    if (std::ranges::count(point, -kInfinity) > 0) continue;
    rows.push_back(level.rows[i]);
    points.push_back(std::move(point));
  }
  constexpr double kMaxSteps = 2e7;
  if (std::pow(static_cast<double>(rows.size()), static_cast<double>(terms.size())) > kMaxSteps) {
    throw Undefined("too many volumes");
  }
  const Boxes boxes(points, limits);
  Found found;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::size_t> others;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      if (j != i) others.push_back(j);
    }
    found[rows[i]] = boxes.exclusive_volume(i, others);
  }
  return found;
}

std::map<std::int32_t, Level> levels_of(const Front& front, const std::vector<ValueTerm>& terms,
                                        const Relation& relation) {
  std::map<std::int32_t, Level> levels;
  for (const Candidate& candidate : front.leveled) {
    std::vector<double> values;
    for (const ValueTerm& term : terms) values.push_back(number_of(term, relation.rows[candidate.row]));
    if (std::ranges::any_of(values, [](double value) { return std::isnan(value); })) continue;
    Level& level = levels[candidate.level];
    level.rows.push_back(candidate.row);
    level.values.resize(terms.size());
    for (std::size_t t = 0; t < terms.size(); ++t) level.values[t].push_back(values[t]);
  }
  return levels;
}

Cell count_of(Measure::Kind kind, const Candidate& candidate) {
  switch (kind) {
    case Measure::Kind::dominated_by: return Integer{candidate.dominated_by};
    case Measure::Kind::dominates: return Integer{candidate.dominates};
    default: return Integer{candidate.level};
  }
}

}  // namespace

std::vector<Measure> measures_of(const Query& query) {
  std::vector<Measure> measures;
  for (const Ranking& term : query.rank_by) {
    if (term.measure) measures.push_back(*term.measure);
  }
  for (const Output& output : query.select) {
    if (output.kind == Output::Kind::measure) measures.push_back(output.measure);
  }
  return measures;
}

bool tells_levels(const Query& query) {
  const auto is_of_level = [](const Measure& measure) {
    return measure.kind != Measure::Kind::dominates && measure.kind != Measure::Kind::dominated_by;
  };
  const auto is_level = [](const Output& output) { return output.kind == Output::Kind::level; };
  return query.prefer && (query.skyband != Query::kAll || std::ranges::any_of(measures_of(query), is_of_level) ||
                          std::ranges::any_of(query.select, is_level));
}

std::vector<Cell> measured(const Measure& measure, const Query& query, const Relation& relation, const Front& front) {
  using Kind = Measure::Kind;
  std::vector<Cell> cells;
  if (measure.kind == Kind::level || measure.kind == Kind::dominated_by || measure.kind == Kind::dominates) {
    for (const Candidate& candidate : front.kept) cells.push_back(count_of(measure.kind, candidate));
    return cells;
  }
  const std::vector<ValueTerm> terms = value_terms(*query.prefer);
  Found found;
  for (const auto& [number, level] : levels_of(front, terms, relation)) {
    found.merge(measure.kind == Kind::crowding     ? crowding(level)
                : measure.kind == Kind::compromise ? compromise(level, terms, measure.numbers)
                                                   : contribution(level, terms, measure.numbers));
  }
  for (const Candidate& candidate : front.kept) {
    const auto value = found.find(candidate.row);
    cells.push_back(value == found.end() ? Cell() : Cell(value->second));
  }
  return cells;
}

}  // namespace skyrank::differential
