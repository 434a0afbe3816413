#include "engine/plan/describe.hpp"

#include <algorithm>

#include "engine/query/enum_words.hpp"

namespace skyrank::exec {
namespace {

std::string describe_aggregate(const query::BoundAggregate& aggregate) {
  return aggregate.name + ": " + std::string(query::word_for(aggregate.function)) + "(" +
         (aggregate.argument ? aggregate.argument->text : "") + ")";
}

}  // namespace

std::string describe_scan(const query::BoundQuery& query, const Table& table) {
  const std::vector<int> read = query::columns_read(query);
  if (read.empty()) return query.from;
  return query.from + ": " + join(read, [&](int column) { return table.column(column).name(); });
}

std::string describe_group(const query::BoundGroup& group, const Table& table) {
  const std::string columns = join(group.columns, [&](int column) { return table.column(column).name(); });
  const std::string aggregates = join(group.aggregates, describe_aggregate);
  return aggregates.empty() ? columns : columns + "; " + aggregates;
}

std::string describe_missing(const query::BoundQuery& query) {
  const auto rule = [](std::string_view name, Missing missing) {
    if (!query::drops_or_refuses(missing)) return std::string();
    return std::string(name) + (missing == Missing::exclude ? ": exclude" : ": error");
  };
  const std::string nan = rule("nan", query.nan_rule);
  const std::string nulls = rule("nulls", query.null_rule);
  return nan + (nan.empty() || nulls.empty() ? "" : ", ") + nulls;
}

std::string describe_levels(const query::BoundQuery& query) {
  std::string text;
  if (query.levels) text += "; levels: " + std::to_string(*query.levels);
  if (query.at_least) text += "; at_least: " + std::to_string(*query.at_least);
  if (query.distinct) text += "; distinct";
  return text;
}

std::string describe_ranking(const std::vector<query::BoundRankTerm>& ranking) {
  return join(ranking, [](const query::BoundRankTerm& t) {
    return (t.high ? "high " : "low ") + t.expression.text + (t.nulls_first ? " (NULL first)" : "");
  });
}

std::string describe_window(const query::BoundQuery& query) {
  std::string text;
  if (query.offset != 0) text += "offset: " + std::to_string(query.offset);
  if (query.limit) text += (text.empty() ? "" : ", ") + ("limit: " + std::to_string(*query.limit));
  if (!query.limit || query.ranking.empty()) return text;
  switch (query.ties) {
    case Ties::first: return text;
    case Ties::last: return text + ", ties: last";
    case Ties::all: return text + ", ties: all";
    case Ties::any: break;
  }
  return text + ", ties: any";
}

Described described(const planner::Statistics& preference, double rows) {
  if (preference.sample == 0) return {};
  return {{"sample", static_cast<double>(preference.sample)},
          {"effective dimensions", preference.growth.dims},
          {"growth exponent", preference.growth.exponent(std::max(rows, 2.0))},
          {"left by a prefilter", preference.survivors},
          {"rank correlation", preference.correlation}};
}

Described described(const planner::Statistics& ranking) {
  if (ranking.sample == 0) return {};
  return {{"sample", static_cast<double>(ranking.sample)},
          {"distinct", ranking.distinct},
          {"in order", ranking.order},
          {"tied with the last", ranking.ties},
          {"NULL or NaN", ranking.worst}};
}

}  // namespace skyrank::exec
