#include "engine/parts/sources/passing_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "engine/expression/patterns.hpp"
#include "engine/parts/sources/query_units.hpp"
#include "engine/plan/estimate.hpp"

namespace skyrank::exec {
namespace {

using query::Op;

/// Returns the end of a range that a literal is; `otherwise` where there is none.
std::optional<double> end_of(const Operation* literal, double otherwise) {
  return literal == nullptr ? otherwise : number_of_bound(literal->constant->value);
}

bool is_range(Op op) {
  return op == Op::less || op == Op::less_equal || op == Op::greater || op == Op::greater_equal || op == Op::between;
}

/// Returns the share of values, spread evenly from `min` to `max`, that are from `lower` to `upper`.
double share_within(double lower, double upper, double min, double max) {
  if (min == max) return lower <= min && min <= upper ? 1 : 0;
  return std::max(0.0, std::min(upper, max) - std::max(lower, min)) / (max - min);
}

/// Returns the share of the units' rows for which a condition is true; nothing where it is not the range of a column,
/// or the bounds of a unit are not known.
std::optional<double> share_in_range(const Ir& ir, const Operation& condition, const Source& source,
                                     const std::vector<std::size_t>& units) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto test = column_test(ir, condition);
  if (!test || !is_range(test->op) || test->negated) return std::nullopt;
  const bool is_below = test->op == Op::less || test->op == Op::less_equal;
  const bool is_above = test->op == Op::greater || test->op == Op::greater_equal;
  const auto lower = end_of(is_below ? nullptr : test->lower, -kInfinity);
  const auto upper = end_of(is_above ? nullptr : test->upper, kInfinity);
  const auto statistics = source.statistics(test->column->column);
  if (!lower || !upper || !statistics) return std::nullopt;
  double share = 0;
  for (const std::size_t unit : units) {
    const auto row = static_cast<std::int64_t>(unit);
    const auto min = number_of_bound(statistics->min.value(row));
    const auto max = number_of_bound(statistics->max.value(row));
    if (!min || !max || !std::isfinite(*max - *min)) return std::nullopt;
    share += share_within(*lower, *upper, *min, *max);
  }
  return share / static_cast<double>(units.size());
}

}  // namespace

std::optional<double> number_of_bound(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* date = std::get_if<Date>(&value)) return date->days;
  if (const auto* time = std::get_if<Timestamp>(&value)) return static_cast<double>(time->ticks);
  return std::nullopt;
}

double rows_passing(const query::BoundQuery& query, const Source& source, const std::vector<std::size_t>& units) {
  const auto rows = static_cast<double>(rows_of(source, units));
  if (!query.condition || units.empty()) return rows;
  const Ir ir = lower(*query.condition->root);
  const auto known = [&](const Operation& condition) { return share_in_range(ir, condition, source, units); };
  return rows * guess_selectivity(ir, ir.root(), known);
}

}  // namespace skyrank::exec
