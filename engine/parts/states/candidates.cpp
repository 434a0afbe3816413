#include "engine/parts/states/candidates.hpp"

#include <algorithm>

#include "engine/query/bound.hpp"

namespace skyrank::exec {

Query base_query(const Query& query) {
  Query base = Query::from(query.from());
  base.where(query.where()).location(query.location()).timeout(query.timeout());
  base.using_path(
      {.algorithms = {}, .device = query.using_path().device, .parameters = {}, .without = query.using_path().without});
  base.select({SelectItem{"row", Expression("row()")}});
  return base;
}

bool has_missing_rules(const Query& query) {
  return query::drops_or_refuses(query.nan()) || query::drops_or_refuses(query.nulls());
}

bool keeps_all(const Query& query) { return !query.group_by().empty() || (!query.prefer() && !query.limit()); }

void add_rules(const Query& query, Query& reduced) {
  reduced.nan(query.nan()).nulls(query.nulls()).partition_by(query.partition_by());
}

Query candidates_query(const Query& query, std::int64_t rows) {
  Query reduced = base_query(query);
  if (keeps_all(query)) return reduced.prefer(low("0"));
  add_rules(query, reduced);
  if (!query.prefer()) {
    const std::int64_t limit = *query.limit() == 0 ? 0 : query.offset() + *query.limit();
    return reduced.rank_by(query.rank_by()).limit(limit).ties(query.ties());
  }
  reduced.prefer(*query.prefer()).levels(query.levels()).distinct(query.distinct());
  if (query.at_least() == 0) reduced.at_least(0);
  if (query.at_least() > 0) reduced.levels(std::clamp<std::int64_t>(rows, 1, *query.at_least()));
  if (has_missing_rules(query) && !query.rank_by().empty()) reduced.rank_by(query.rank_by());
  return reduced;
}

}  // namespace skyrank::exec
