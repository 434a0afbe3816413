#include "engine/operators/pick/pick_stage.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "engine/operators/gather/gather.hpp"
#include "engine/operators/skyline/skyline.hpp"
#include "engine/operators/term_numbers.hpp"
#include "engine/query/bound.hpp"
#include "kernels/cpu/pick/pick.hpp"

// Each segment is picked from on its own. What a preference kept is on the host, as the plan sees to.
namespace skyrank::exec {
namespace {

constexpr double kInfiniteTerm = std::numeric_limits<double>::infinity();

/// The values of the terms that `pick` weighs against each other, row by row: less is better, as in `low`.
struct TermValues {
  std::size_t terms = 0;
  Vector<double> values;  ///< an infinity for what is missing: the better or the worse one, as the query's rules say
};

/// Returns the reference point of the volume, as its values are.
std::vector<double> reference_of(const query::BoundQuery& query) {
  const std::vector<const query::BoundPreference*> terms = query::picked_terms(*query.preference);
  std::vector<double> reference = query.pick->reference;
  for (std::size_t t = 0; t < terms.size(); ++t) reference[t] = is_high(*terms[t]) ? -reference[t] : reference[t];
  return reference;
}

/// Evaluates the terms that are weighed (query::picked_terms) as float64.
TermValues term_values(const query::BoundQuery& query, const Table& table, const Rows& rows) {
  const std::vector<const query::BoundPreference*> terms = query::picked_terms(*query.preference);
  const double of_null = query.null_rule == Missing::best ? -kInfiniteTerm : kInfiniteTerm;
  TermValues result{terms.size(), Vector<double>(static_cast<std::size_t>(rows.n) * terms.size())};
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const bool high = is_high(*terms[t]);
    for_each_number(terms[t]->expression, table, rows, [&](std::int64_t row, std::optional<double> value) {
      double& stored = result.values[static_cast<std::size_t>(row) * terms.size() + t];
      if (value && !std::isnan(*value)) {
        stored = (high ? -*value : *value) + 0.0;
      } else {
        stored = value ? kInfiniteTerm : of_null;
      }
    });
  }
  return result;
}

/// Replaces the values of some rows by places between the best, 0, and the worst, 1, of the finite ones of each term.
void scale_to_range(TermValues& values) {
  const std::size_t terms = values.terms;
  for (std::size_t t = 0; t < terms; ++t) {
    double best = kInfiniteTerm;
    double worst = -kInfiniteTerm;
    for (std::size_t at = t; at < values.values.size(); at += terms) {
      const double value = values.values[at];
      if (!std::isfinite(value)) continue;
      best = std::min(best, value);
      worst = std::max(worst, value);
    }
    // Halves, as the difference of two floats may be infinite.
    const double range = worst / 2 - best / 2;
    for (std::size_t at = t; at < values.values.size(); at += terms) {
      double& value = values.values[at];
      if (!std::isfinite(value)) {
        value = value < 0 ? 0 : 1;
      } else {
        value = range > 0 ? (value / 2 - best / 2) / range : 0;
      }
    }
  }
}

/// Returns the row that is best in the first term, of equal ones the first.
std::size_t best_in_first_term(const TermValues& values) {
  std::size_t best = 0;
  for (std::size_t row = 0; row * values.terms < values.values.size(); ++row) {
    if (values.values[row * values.terms] < values.values[best * values.terms]) best = row;
  }
  return best;
}

/// A part of the values, as points.
kernels::PointRows points_of(const TermValues& values) {
  return {values.values.data(), values.values.size() / values.terms, values.terms};
}

/// Returns the values of one segment.
TermValues of_segment(const TermValues& all, const Segments& segments, std::int64_t segment) {
  TermValues part{all.terms, {}};
  for (std::int64_t i = segments.bounds[segment]; i < segments.bounds[segment + 1]; ++i) {
    const auto first = all.values.begin() + segments.at(i) * static_cast<std::ptrdiff_t>(all.terms);
    part.values.insert(part.values.end(), first, first + static_cast<std::ptrdiff_t>(all.terms));
  }
  return part;
}

/// Picks places within a segment of the rows that were kept.
class Picker {
 public:
  Picker(const Execution& execution, const SourceTable& source, const Candidates& kept, const Candidates& all)
      : pick_(*execution.query().pick), context_(execution.context.kernel_context), kept_(kept), all_(all) {
    if (pick_.by != Pick::By::coverage) {
      const query::BoundQuery& query = execution.query();
      values_ = term_values(query, source.table, kept.rows.view());
      if (pick_.by == Pick::By::hypervolume) reference_ = reference_of(query);
      return;
    }
    keys_ = make_skyline_keys(*execution.plan.preference, source.table, all.rows);
    if (!all.segments.order.empty()) keys_ = take(keys_, all.segments.order);
  }

  Vector<std::size_t> operator()(std::int64_t segment) const {
    const auto count = static_cast<std::size_t>(pick_.count);
    if (pick_.by == Pick::By::coverage) return by_coverage(segment, count);
    TermValues values = of_segment(values_, kept_.segments, segment);
    if (pick_.by == Pick::By::distance) {
      const std::size_t first = best_in_first_term(values);
      scale_to_range(values);
      return kernels::pick_by_distance(points_of(values), count, first, context_);
    }
    // Infinite values have no volume.
    std::ranges::replace_if(
        values.values, [](double value) { return !std::isfinite(value); }, std::numeric_limits<double>::infinity());
    return kernels::pick_by_volume(points_of(values), reference_.data(), count, context_);
  }

 private:
  /// Returns the places of the kept rows of a segment among all its rows. Both lists of ids ascend.
  Vector<std::int64_t> places_of(std::int64_t segment) const {
    const Rows kept = kept_.rows.view();
    const Rows all = all_.rows.view();
    Vector<std::int64_t> places;
    std::int64_t at = all_.segments.bounds[segment];
    const std::int64_t first = at;
    for (std::int64_t i = kept_.segments.bounds[segment]; i < kept_.segments.bounds[segment + 1]; ++i) {
      while (all[all_.segments.at(at)] != kept[kept_.segments.at(i)]) ++at;
      places.push_back(at - first);
    }
    return places;
  }

  Vector<std::size_t> by_coverage(std::int64_t segment, std::size_t count) const {
    const SkylineKeys keys = slice(keys_, all_.segments.bounds[segment], all_.segments.bounds[segment + 1]);
    kernels::StepsOfKeys rows{static_cast<std::size_t>(keys.n), {}};
    for (const StepKeys& step : keys.steps) {
      auto& columns = rows.steps.emplace_back();
      for (const Keys& column : step.columns) columns.push_back(column.column);
    }
    return kernels::pick_by_coverage(rows, places_of(segment), count, context_);
  }

  const Pick& pick_;
  const kernels::Context& context_;
  const Candidates& kept_;
  const Candidates& all_;
  TermValues values_;
  std::vector<double> reference_;
  SkylineKeys keys_;
};

/// Returns the candidates that are flagged.
Candidates flagged(const Candidates& all, const Vector<std::uint8_t>& flags) {
  Vector<std::int64_t> positions;  // ascending
  Vector<std::int64_t> places(flags.size());
  for (std::size_t i = 0; i < flags.size(); ++i) {
    places[i] = static_cast<std::int64_t>(positions.size());
    if (flags[i] != 0) positions.push_back(static_cast<std::int64_t>(i));
  }
  Candidates result{RowSet::all(0), {{0}, {}}};
  for (std::int64_t s = 0; s < all.segments.count(); ++s) {
    std::int64_t size = 0;
    for (std::int64_t i = all.segments.bounds[s]; i < all.segments.bounds[s + 1]; ++i) {
      const std::int64_t position = all.segments.at(i);
      if (flags[position] == 0) continue;
      ++size;
      if (!all.segments.order.empty()) result.segments.order.push_back(places[position]);
    }
    result.segments.bounds.push_back(result.segments.bounds.back() + size);
  }
  result.levels =
      !all.levels.are_found() || all.levels.are_first() ? all.levels : ParetoLevels(all.levels.at(positions));
  for (const Column& measure : all.measures) result.measures.push_back(gather(measure, positions, measure.name()));
  result.rows = RowSet::listed(all.rows.is_all() ? std::move(positions) : all.rows.at(positions));
  return result;
}

}  // namespace

Candidates pick(Execution& execution, const SourceTable& source, const Candidates& kept, const Candidates& all) {
  const Operator& op = *execution.plan.operators.pick;
  Candidates picked = execution.timed(op, [&] {
    const Picker picker(execution, source, kept, all);
    Vector<std::uint8_t> flags(static_cast<std::size_t>(kept.rows.size()));
    std::ranges::fill(flags, std::uint8_t{0});
    for (std::int64_t s = 0; s < kept.segments.count(); ++s) {
      for (const std::size_t place : picker(s)) {
        flags[kept.segments.at(kept.segments.bounds[s] + static_cast<std::int64_t>(place))] = 1;
      }
    }
    return flagged(kept, flags);
  });
  execution.record.of(op).rows = picked.rows.size();
  return picked;
}

}  // namespace skyrank::exec
