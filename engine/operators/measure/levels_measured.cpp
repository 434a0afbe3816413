#include "engine/operators/measure/levels_measured.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "engine/indicators/crowding.hpp"
#include "engine/operators/skyline/levels.hpp"
#include "engine/operators/skyline/levels_at_once.hpp"
#include "engine/operators/term_numbers.hpp"
#include "kernels/cpu/indicators/indicators.hpp"
#include "kernels/cpu/select/sort_by_value.hpp"

// Crowding distance: Deb et al., IEEE TEVC 6(2), 2002. Hypervolume contribution: Fonseca et al., CEC 2006. Compromise:
// the weighted Chebyshev distance to the ideal point, which is Wierzbicki's achievement function with that point as its
// reference (The Use of Reference Objectives in Multiobjective Optimization, 1980).
namespace skyrank::exec {
namespace {

using MeasureKind = query::BoundMeasure::Kind;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

/// Returns the terms of a flat Pareto order, without the tests for NaN that stand before terms of floats.
std::vector<const query::BoundPreference*> value_terms(const query::BoundPreference& preference) {
  const auto value = [](const query::BoundPreference& node) {
    return node.children.empty() ? &node : &node.children.back();
  };
  if (preference.kind != Preference::Kind::pareto) return {value(preference)};
  std::vector<const query::BoundPreference*> terms;
  for (const query::BoundPreference& child : preference.children) terms.push_back(value(child));
  return terms;
}

/// The range of a term's finite values in a level.
struct FiniteRange {
  double least = std::numeric_limits<double>::infinity();
  double greatest = -std::numeric_limits<double>::infinity();

  void add(double value) {
    if (!std::isfinite(value)) return;
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
};

}  // namespace

MeasuredLevels::MeasuredLevels(const query::BoundQuery& query, const Table& table, const ChosenFrom& from,
                               const Candidates& candidates, const ExecutionContext& context)
    : from_(from), candidates_(candidates), context_(context) {
  // Rows that a skyband does not keep belong to the levels too; `skyband: all` keeps every row.
  const bool all = query.skyband && *query.skyband != kAllRows;
  all ? number_all(query.distinct) : number_candidates();
  for (const query::BoundPreference* term : value_terms(*query.preference)) {
    add_values(*term, table, all ? from.rows.view() : candidates.rows.view());
  }
  drop_incomplete();
}

void MeasuredLevels::number_candidates() {
  const Segments& segments = candidates_.segments;
  const auto n = static_cast<std::int64_t>(from_.places.size());
  numbers_.resize(from_.places.size());
  std::iota(numbers_.begin(), numbers_.end(), RowId{0});
  const Vector<std::int32_t> levels =
      candidates_.levels.are_first() ? Vector<std::int32_t>(numbers_.size(), 1) : candidates_.levels.all(n);
  Vector<std::int64_t> rows;
  Vector<std::int32_t> of_rows;
  for (std::int64_t s = 0; s < segments.count(); ++s) {
    rows.clear();
    of_rows.clear();
    for (std::int64_t i = segments.bounds[s]; i < segments.bounds[s + 1]; ++i) {
      rows.push_back(segments.at(i));
      of_rows.push_back(levels[rows.back()]);
    }
    add_levels(rows, of_rows);
  }
}

void MeasuredLevels::number_all(bool distinct) {
  const Segments& segments = from_.segments;
  for (std::int64_t s = 0; s < segments.count(); ++s) {
    const std::int64_t begin = segments.bounds[s];
    const SkylineKeys keys = slice(from_.keys, begin, segments.bounds[s + 1]);
    Vector<std::int64_t> rows(static_cast<std::size_t>(keys.n));
    std::iota(rows.begin(), rows.end(), 0);
    if (distinct) rows = drop_equal(keys, rows);
    const kernels::LevelsSolution found =
        levels_at_once(take(keys, rows), std::numeric_limits<std::int32_t>::max(), context_.kernel_context);
    for (std::int64_t& row : rows) row = segments.at(begin + row);
    add_levels(rows, found.levels);
  }
  for (const std::int64_t place : from_.places) numbers_.push_back(segments.at(place));
}

/// Adds the levels of one segment, of which `rows` ascend.
void MeasuredLevels::add_levels(std::span<const std::int64_t> rows, std::span<const std::int32_t> levels) {
  if (rows.empty()) return;
  const auto [least, greatest] = std::ranges::minmax(levels);
  Vector<std::int64_t> ends(static_cast<std::size_t>(greatest - least) + 2);
  for (const std::int32_t level : levels) ++ends[level - least + 1];
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  const std::int64_t base = bounds_.back();
  for (std::size_t i = 1; i < ends.size(); ++i) bounds_.push_back(base + ends[i]);
  members_.resize(members_.size() + rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) members_[base + ends[levels[i] - least]++] = rows[i];
}

void MeasuredLevels::add_values(const query::BoundPreference& term, const Table& table, const exec::Rows& rows) {
  Values values(static_cast<std::size_t>(rows.n));
  for_each_number(term.expression, table, rows, [&](std::int64_t row, std::optional<double> value) {
    values[static_cast<std::size_t>(row)] = value.value_or(kMissing);
  });
  values_.push_back(std::move(values));
  high_.push_back(is_high(term));
}

/// Takes rows without a value out of their levels.
void MeasuredLevels::drop_incomplete() {
  const auto lacks_value = [&](RowId row) {
    return std::ranges::any_of(values_, [&](const Values& values) { return std::isnan(values[row]); });
  };
  std::int64_t kept = 0;
  std::int64_t begin = 0;
  for (std::size_t level = 1; level < bounds_.size(); ++level) {
    for (std::int64_t i = begin; i < bounds_[level]; ++i) {
      if (!lacks_value(members_[i])) members_[kept++] = members_[i];
    }
    begin = std::exchange(bounds_[level], kept);
  }
  members_.resize(static_cast<std::size_t>(kept));
}

Column MeasuredLevels::column(const query::BoundMeasure& measure) const {
  Values found(values_.front().size(), kMissing);
  Vector<RowId> members = members_;
  const auto levels = static_cast<std::int64_t>(bounds_.size()) - 1;
  for_each_range(levels, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t level = begin; level < end; ++level) {
      context_.kernel_context.check();
      const Rows rows = std::span(members).subspan(static_cast<std::size_t>(bounds_[level]),
                                                   static_cast<std::size_t>(bounds_[level + 1] - bounds_[level]));
      switch (measure.kind) {
        case MeasureKind::crowding: find_crowding(rows, found); break;
        case MeasureKind::contribution: find_contributions(rows, measure.numbers, found); break;
        default: find_compromise(rows, measure.numbers, found);
      }
    }
  });
  QueryMemory::hold(numbers_.size() * sizeof(double));
  std::vector<double> values(numbers_.size());
  std::vector<bool> valid(numbers_.size());
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    valid[i] = !std::isnan(found[numbers_[i]]);
    if (valid[i]) values[i] = found[numbers_[i]];
  }
  return Column::own(measure.text, std::move(values), valid);
}

void MeasuredLevels::find_crowding(Rows level, Values& out) const {
  constexpr std::size_t kManyRows = 2048;  // whose orders by all terms are made at the same time
  for (const RowId row : level) out[row] = 0;
  const auto add = [&](const Values& values, Rows rows) {
    add_crowding(
        rows, [&](RowId row) { return values[row]; }, out.data());
  };
  if (level.size() < kManyRows) {
    for (const Values& values : values_) {
      kernels::sort_by_value(level, values, context_.kernel_context);
      add(values, level);
    }
    return;
  }
  std::vector<Vector<RowId>> orders(values_.size(), Vector<RowId>(level.begin(), level.end()));
  for_each_range(static_cast<std::int64_t>(orders.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      kernels::sort_by_value(orders[c], values_[c], context_.kernel_context);
    }
  });
  for (std::size_t c = 0; c < orders.size(); ++c) add(values_[c], orders[c]);
}

// A value that is infinitely good has no finite volume.
void MeasuredLevels::find_contributions(Rows level, const std::vector<double>& reference, Values& out) const {
  const std::size_t dims = values_.size();
  Vector<double> limits(dims);
  for (std::size_t c = 0; c < dims; ++c) limits[c] = high_[c] ? -reference[c] : reference[c];
  Vector<double> points;
  Vector<RowId> rows;
  for (const RowId row : level) {
    const std::size_t size = points.size();
    for (std::size_t c = 0; c < dims; ++c) points.push_back(high_[c] ? -values_[c][row] : values_[c][row]);
    const bool infinite = std::any_of(points.begin() + static_cast<std::ptrdiff_t>(size), points.end(),
                                      [](double value) { return value == -std::numeric_limits<double>::infinity(); });
    if (infinite) {
      points.resize(size);
    } else {
      rows.push_back(row);
    }
  }
  Vector<double> found(rows.size());
  kernels::hypervolume_contributions({points.data(), rows.size(), dims}, limits.data(), kernels::Dominated::left_out,
                                     found, context_.kernel_context);
  for (std::size_t i = 0; i < rows.size(); ++i) out[rows[i]] = found[i];
}

void MeasuredLevels::find_compromise(Rows level, const std::vector<double>& weights, Values& out) const {
  for (const RowId row : level) out[row] = -std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < values_.size(); ++c) {
    const double weight = weights.empty() ? 1 : weights[c];
    if (weight == 0) continue;
    // Half of each value, so that no difference of finite ones overflows.
    FiniteRange range;
    for (const RowId row : level) range.add(values_[c][row] / 2);
    const double span = range.greatest > range.least ? range.greatest - range.least : 1;
    const double ideal = range.greatest < range.least ? 0 : high_[c] ? range.greatest : range.least;
    for (const RowId row : level) {
      const double value = values_[c][row] / 2;
      const double behind = high_[c] ? ideal - value : value - ideal;
      out[row] = std::max(out[row], weight * (behind / span) + 0.0);  // no -0.0
    }
  }
}

}  // namespace skyrank::exec
