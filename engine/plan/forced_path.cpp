#include "engine/plan/forced_path.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text.hpp"
#include "kernels/papers/names.hpp"
#include "kernels/registry.hpp"

namespace skyrank::exec {
namespace {

using query::listed;
using query::location_of;
using query::path_locations_of;
using query::PathLocations;

const Location& place_of(const std::string& name, const PathLocations& locations, const Location& query) {
  const auto found = locations.find(name);
  return found == locations.end() ? query : found->second;
}

const Location& place_of(const std::string& name, const Query& query) {
  return place_of(name, path_locations_of(query), location_of(query));
}

/// The problem kinds that algorithms solve, and the part of a query that poses each.
struct ProblemKind {
  std::string_view name;
  std::string_view field;
};

constexpr ProblemKind kSkyline{kernels::SkylineAlgorithm::problem, "prefer"};
constexpr ProblemKind kTopK{kernels::TopKAlgorithm::problem, "rank_by"};

std::string listed_or_none(const std::vector<std::string>& names) { return names.empty() ? "none" : listed(names); }

struct Declared {
  std::string name;
  ProblemKind kind;
  bool usable = false;  ///< by some operator of the query
  std::span<const kernels::Parameter> parameters;
};

/// Returns true if the query has a skyline, which skyline algorithms find: skybands are counted.
bool has_skyline(const Query& query) { return query.prefer() && query.skyband().value_or(1) == 1; }

/// All algorithms of the registry.
std::vector<Declared> registered(const Query& query) {
  std::vector<Declared> all;
  for (const auto* algorithm : kernels::skyline_algorithms()) {
    all.push_back({std::string(algorithm->name), kSkyline, has_skyline(query), algorithm->parameters});
  }
  for (const auto* algorithm : kernels::topk_algorithms()) {
    all.push_back({std::string(algorithm->name), kTopK, !query.rank_by().empty(), algorithm->parameters});
  }
  return all;
}

std::vector<std::string> names_of(const std::vector<Declared>& algorithms) {
  std::vector<std::string> names;
  for (const Declared& algorithm : algorithms) names.push_back(algorithm.name);
  return names;
}

std::vector<Declared> usable(std::vector<Declared> algorithms) {
  std::erase_if(algorithms, [](const Declared& algorithm) { return !algorithm.usable; });
  return algorithms;
}

/// Returns "'heap' is a top-k algorithm, for 'rank_by', which the query does not have".
std::string why_useless(const Query& query, const Declared& algorithm) {
  if (query.skyband() && algorithm.kind.name == kSkyline.name) {
    return "'" + algorithm.name + "' is a skyline algorithm, and the rows of 'skyband' are counted";
  }
  return "'" + algorithm.name + "' is a " + std::string(algorithm.kind.name) + " algorithm, for '" +
         std::string(algorithm.kind.field) + "', which the query does not have";
}

void check_algorithms(const Query& query, const std::vector<Declared>& all) {
  for (const std::string& name : query.using_path().algorithms) {
    const auto found = std::ranges::find(all, name, &Declared::name);
    if (found != all.end() && found->usable) continue;
    const Location& place = place_of(name, query);
    if (found == all.end()) {
      const std::string left_out = kernels::papers::why_left_out(name);
      if (!left_out.empty()) throw BindError(left_out, place);
      const std::vector<std::string> names = names_of(all);
      throw BindError("there is no algorithm '" + name + "'" + query::did_you_mean(name, names) + " (there are " +
                          listed(names) + ")",
                      place);
    }
    throw BindError(
        "'using': " + why_useless(query, *found) + "; the query takes " + listed_or_none(names_of(usable(all))), place);
  }
}

bool declares(const Declared& algorithm, const std::string& parameter) {
  return std::ranges::find(algorithm.parameters, parameter, &kernels::Parameter::name) != algorithm.parameters.end();
}

std::vector<std::string> parameters_of(const std::vector<Declared>& algorithms) {
  std::set<std::string> names;
  for (const Declared& algorithm : algorithms) {
    for (const kernels::Parameter& parameter : algorithm.parameters) names.emplace(parameter.name);
  }
  return {names.begin(), names.end()};
}

/// Says why no algorithm that the query can use has a parameter.
std::string why_unknown(const Query& query, const std::string& name, const std::vector<Declared>& all,
                        const std::vector<Declared>& candidates) {
  const std::vector<std::string> names = parameters_of(candidates);
  if (const ForcedPath& path = query.using_path(); !path.algorithms.empty()) {
    return listed(path.algorithms) + " has no parameter '" + name + "'" + query::did_you_mean(name, names);
  }
  const auto owner = std::ranges::find_if(all, [&](const Declared& algorithm) { return declares(algorithm, name); });
  if (owner == all.end()) return "no algorithm has a parameter '" + name + "'" + query::did_you_mean(name, names);
  return "'using': parameter '" + name + "' belongs to " + owner->name + "; " + why_useless(query, *owner) +
         "; the query takes " + listed_or_none(names);
}

void check_parameter(const Query& query, const std::string& name, std::int64_t value, const std::vector<Declared>& all,
                     const std::vector<Declared>& candidates) {
  const ForcedPath& path = query.using_path();
  std::string wrong;
  bool known = false;
  bool fits = false;
  for (const Declared& algorithm : candidates) {
    if (!declares(algorithm, name)) continue;
    const std::string why = kernels::check_parameters(algorithm.parameters, {{name, value}});
    known = true;
    fits = fits || why.empty();
    if (!why.empty() && wrong.empty()) wrong = algorithm.name + ": " + why;
  }
  const Location& place = place_of(name, query);
  if (!known) throw BindError(why_unknown(query, name, all, candidates), place);
  // One algorithm that takes the value is enough if no algorithm is forced.
  if (!fits || (!path.algorithms.empty() && !wrong.empty())) throw BindError(wrong, place);
}

}  // namespace

void check_forced(const Query& query) {
  const ForcedPath& path = query.using_path();
  if (path.algorithms.empty() && path.parameters.empty()) return;
  const std::vector<Declared> all = registered(query);
  check_algorithms(query, all);
  std::vector<Declared> candidates = usable(all);
  std::erase_if(candidates, [&](const Declared& algorithm) {
    return !path.algorithms.empty() && std::ranges::find(path.algorithms, algorithm.name) == path.algorithms.end();
  });
  for (const auto& [name, value] : path.parameters) check_parameter(query, name, value, all, candidates);
}

Rules without(Rules rules, const std::vector<std::string>& names, const PathLocations& locations,
              const Location& query) {
  for (const std::string& name : names) {
    if (rules.switch_off(name)) continue;
    throw BindError("the planner has no rule '" + name + "'" + query::did_you_mean(name, rule_names()) +
                        " (there are " + listed(rule_names()) + ")",
                    place_of(name, locations, query));
  }
  return rules;
}

}  // namespace skyrank::exec
