#include "engine/parts/states/candidates.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace skyrank::exec {

using query::BoundOutput;
using query::BoundQuery;

bool has_missing_rules(const BoundQuery& query) {
  return query::drops_or_refuses(query.nan_rule) || query::drops_or_refuses(query.null_rule);
}

bool keeps_all(const BoundQuery& query) {
  return query.group || query.measures_all_rows() || query.counts_dominated_rows() ||
         (!query.preference && !query.limit);
}

BoundQuery candidates_query(const BoundQuery& query, std::int64_t rows) {
  BoundQuery reduced;
  reduced.from = query.from;
  reduced.location = query.location;
  reduced.condition = query.condition;
  reduced.outputs = {{.name = "row", .kind = BoundOutput::Kind::row, .expression = {}}};
  reduced.path = {.algorithms = {}, .device = query.path.device, .parameters = {}, .without = query.path.without};
  if (keeps_all(query)) return reduced;
  reduced.nan_rule = query.nan_rule;
  reduced.null_rule = query.null_rule;
  reduced.partition_columns = query.partition_columns;
  if (!query.preference) {
    reduced.ranking = query.ranking;
    reduced.limit = *query.limit == 0 ? 0 : query.offset + *query.limit;
    reduced.ties = query.ties;
    return reduced;
  }
  reduced.preference = query.preference;
  reduced.levels = query.levels;
  reduced.skyband = query.skyband;
  reduced.distinct = query.distinct;
  if (query.at_least == 0) reduced.at_least = 0;
  if (query.at_least > 0) reduced.levels = std::clamp<std::int64_t>(rows, 1, *query.at_least);
  if (!has_missing_rules(query)) return reduced;
  std::ranges::copy_if(query.ranking, std::back_inserter(reduced.ranking),
                       [](const query::BoundRankTerm& term) { return !term.measure; });
  return reduced;
}

BoundQuery query_of_groups(const BoundQuery& query) {
  BoundQuery rest = query;
  rest.condition = std::exchange(rest.having, std::nullopt);
  rest.group.reset();
  return rest;
}

}  // namespace skyrank::exec
