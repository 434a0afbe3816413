#pragma once

#include <string>
#include <utility>
#include <vector>

#include <skyrank/table.hpp>

#include "engine/query/bound.hpp"
#include "planner/sampling.hpp"

// The words of a plan: what each operator works on, as `explain` prints it.
namespace skyrank::exec {

/// Returns `name(item)` of each item, separated by commas.
template <class List, class Name>
std::string join(const List& list, const Name& name) {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : ", ") + name(item);
  return text;
}

std::string describe_scan(const query::BoundQuery& query, const Table& table);
std::string describe_group(const query::BoundGroup& group, const Table& table);
std::string describe_missing(const query::BoundQuery& query);
std::string describe_levels(const query::BoundQuery& query);
std::string describe_ranking(const std::vector<query::BoundRankTerm>& ranking);
std::string describe_window(const query::BoundQuery& query);

/// Names and values of statistics.
using Described = std::vector<std::pair<std::string, double>>;

/// Describes the sampled statistics of a preference over `rows` rows; empty without a sample.
Described described(const planner::Statistics& preference, double rows);

/// Describes the sampled statistics of a ranking; empty without a sample.
Described described(const planner::Statistics& ranking);

}  // namespace skyrank::exec
