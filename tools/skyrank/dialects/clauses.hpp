#pragma once

#include <string>
#include <string_view>

#include <skyrank/query.hpp>

namespace skyrank::tools {

/// Calls add(name, text) for each clause of a query that is not as it is without it, by the name of the builder's
/// function and in the order of these. `dialect` makes texts of expressions, lists and words.
template <class Dialect, class Add>
void print_clauses(const Query& query, const Dialect& dialect, const Add& add) {
  const auto clause = [&](bool present, std::string_view name, const auto& text) {
    if (present) add(name, text());
  };
  clause(query.where().has_value(), "where", [&] { return dialect.expression(*query.where()); });
  clause(!query.group_by().empty(), "group_by", [&] { return dialect.keys(query.group_by()); });
  clause(!query.aggregate().empty(), "aggregate", [&] { return dialect.aggregates(query.aggregate()); });
  clause(query.having().has_value(), "having", [&] { return dialect.expression(*query.having()); });
  clause(!query.partition_by().empty(), "partition_by", [&] { return dialect.keys(query.partition_by()); });
  clause(query.prefer().has_value(), "prefer", [&] { return dialect.preferences(*query.prefer()); });
  clause(query.levels().has_value(), "levels", [&] { return std::to_string(*query.levels()); });
  clause(query.at_least().has_value(), "at_least", [&] { return std::to_string(*query.at_least()); });
  clause(query.skyband().has_value(), "skyband", [&] { return dialect.skyband(*query.skyband()); });
  clause(query.distinct(), "distinct", [] { return std::string("true"); });
  clause(query.pick().has_value(), "pick", [&] { return dialect.pick(*query.pick()); });
  clause(!query.rank_by().empty(), "rank_by", [&] { return dialect.ranking(query.rank_by()); });
  clause(query.offset() != 0, "offset", [&] { return std::to_string(query.offset()); });
  clause(query.limit().has_value(), "limit", [&] { return std::to_string(*query.limit()); });
  clause(query.ties() != Ties::first, "ties", [&] { return dialect.word(query.ties()); });
  clause(query.nan() != Missing::worst, "nan", [&] { return dialect.word(query.nan()); });
  clause(query.nulls() != Missing::worst, "nulls", [&] { return dialect.word(query.nulls()); });
  clause(!query.select().empty(), "select", [&] { return dialect.selection(query.select()); });
  clause(query.timeout().has_value(), "timeout", [&] { return dialect.milliseconds(query.timeout()->count()); });
  clause(query.using_path() != ForcedPath{}, "using_path", [&] { return dialect.path(query.using_path()); });
}

}  // namespace skyrank::tools
