#include "engine/operators/skyline/skyline_prefix.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/expression/patterns.hpp"
#include "engine/keys/fused_keys.hpp"
#include "engine/operators/gather/gather.hpp"
#include "engine/operators/rank/rank.hpp"
#include "engine/operators/skyline/monotone.hpp"

namespace skyrank::exec {
namespace {

using query::BoundExpression;
using query::BoundPreference;

/// The ranking by its first term alone, of the rows that pass the condition.
query::BoundQuery by_first_term(const query::BoundQuery& query, std::int64_t count) {
  query::BoundQuery first;
  first.condition = query.condition;
  first.ranking = {query.ranking.front()};
  first.limit = count;
  first.ties = Ties::all;
  return first;
}

/// A row on which some expression fails must be told of, whether or not it could be in the answer.
bool may_fail(const query::BoundQuery& query, const PreferencePlan& preference) {
  const auto fails = [](const BoundExpression& expression) { return !never_fails(expression); };
  return std::ranges::any_of(query.ranking, fails, &query::BoundRankTerm::expression) ||
         std::ranges::any_of(preference.terms, fails, &BoundPreference::expression);
}

/// Returns true if rows with a worse score than this can be left out.
bool is_limit(const Value& score) {
  if (std::holds_alternative<Null>(score)) return false;
  if (const auto* value = std::get_if<double>(&score)) return std::isfinite(*value);
  return true;
}

}  // namespace

std::optional<std::string> why_no_skyline_prefix(const query::BoundQuery& query,
                                                 const std::optional<PreferencePlan>& preference, const Table& table) {
  if (!preference || query.ranking.empty() || query.limit.value_or(0) == 0)
    return "the query is not for the first of a skyline";
  if (query.group || !query.partition_columns.empty() || query.levels.value_or(1) != 1 || query.at_least) {
    return "there are groups, partitions or levels";
  }
  if (query.pick) return "rows are picked of the whole skyline";
  if (query.skyband || !query.measures.empty()) return "rows are counted among all others";
  if (query::drops_or_refuses(query.nan_rule) || query::drops_or_refuses(query.null_rule)) {
    return "NaN or NULL are to be looked for";
  }
  // The order of sums is that of their columns only among values (see Monotone).
  if (query.nulls_first()) return "NULL comes first";
  if (!preference->steps.front().order.empty()) return "the preference is no Pareto order of keys";
  const query::BoundRankTerm& first = query.ranking.front();
  if (!Monotone(*preference).follows(first.expression, first.high))
    return "the ranking is not monotone in the preference";
  if (may_fail(query, *preference)) return "an expression may fail on a row, which must not go unseen";
  if (!FusedKeys::fits(by_first_term(query, 1), table))
    return "the ranking has no key of 64 bits for all its values and NULL";
  return std::nullopt;
}

std::int64_t prefix_rows_for(std::int64_t k) {
  constexpr std::int64_t kMinRows = 4096;
  constexpr std::int64_t kForEach = 32;
  return std::max(kMinRows, k * kForEach);
}

kernels::TopKShape skyline_prefix_shape(const query::BoundQuery& query, const Table& table, std::int64_t count) {
  return fused_shape(by_first_term(query, count), table);
}

std::optional<SkylinePrefix> find_skyline_prefix(const query::BoundQuery& query, const Table& table,
                                                 const kernels::TopKShape& shape,
                                                 const planner::Choice<kernels::TopKAlgorithm>& path,
                                                 const FusedOptions& options, const ExecutionContext& context,
                                                 Report& report) {
  const query::BoundQuery selection = by_first_term(query, static_cast<std::int64_t>(shape.k));
  Vector<RowId> rows = rank_fused(selection, table, path, options, context, report);
  SkylinePrefix found{std::move(rows), false};
  found.all = found.rows.size() < shape.k;
  if (!found.all) {
    const Vector<RowId> last{found.rows.back()};
    if (!is_limit(gather(selection.ranking.front().expression, table, last, "score").value(0))) return std::nullopt;
  }
  std::ranges::sort(found.rows);
  return found;
}

}  // namespace skyrank::exec
