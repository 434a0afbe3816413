#include "engine/plan/forced_path.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/text.hpp"
#include "kernels/papers/names.hpp"
#include "kernels/registry.hpp"

namespace skyrank::exec {
namespace {

using Locations = std::map<std::string, Location>;

const Location& place_of(const std::string& name, const Locations& locations, const Location& query) {
  const auto found = locations.find(name);
  return found == locations.end() ? query : found->second;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

struct Declared {
  std::string name;
  std::span<const kernels::Parameter> parameters;
};

/// The registry, of all problem kinds.
std::vector<Declared> registered() {
  std::vector<Declared> all;
  for (const auto* algorithm : kernels::skyline_algorithms()) {
    all.push_back({std::string(algorithm->name), algorithm->parameters});
  }
  for (const auto* algorithm : kernels::topk_algorithms()) {
    all.push_back({std::string(algorithm->name), algorithm->parameters});
  }
  return all;
}

void check_algorithms(const Using& path, const std::vector<Declared>& all, const Location& query) {
  std::vector<std::string> names;
  for (const Declared& algorithm : all) names.push_back(algorithm.name);
  for (const std::string& name : path.algorithms) {
    if (std::ranges::find(names, name) != names.end()) continue;
    const std::string left_out = kernels::papers::why_left_out(name);
    if (!left_out.empty()) throw BindError(left_out, place_of(name, path.locations, query));
    throw BindError("there is no algorithm '" + name + "'" + query::did_you_mean(name, names) + " (there are " +
                        listed(names) + ")",
                    place_of(name, path.locations, query));
  }
}

void check_parameter(const Using& path, const std::string& name, std::int64_t value,
                     const std::vector<Declared>& candidates, const Location& query) {
  std::vector<std::string> names;
  std::string wrong;
  bool known = false;
  bool fits = false;
  for (const Declared& algorithm : candidates) {
    for (const kernels::Parameter& parameter : algorithm.parameters) names.emplace_back(parameter.name);
    if (std::ranges::find(algorithm.parameters, name, &kernels::Parameter::name) == algorithm.parameters.end()) {
      continue;
    }
    const std::string why = kernels::check_parameters(algorithm.parameters, {{name, value}});
    known = true;
    fits = fits || why.empty();
    if (!why.empty() && wrong.empty()) wrong = algorithm.name + ": " + why;
  }
  const Location& place = place_of(name, path.locations, query);
  if (!known) {
    const std::string none =
        path.algorithms.empty() ? "no algorithm has a parameter '" : listed(path.algorithms) + " has no parameter '";
    throw BindError(none + name + "'" + query::did_you_mean(name, names), place);
  }
  // Where nothing is forced, one algorithm that takes the value is enough.
  if (!fits || (!path.algorithms.empty() && !wrong.empty())) throw BindError(wrong, place);
}

}  // namespace

void check_forced(const Using& path, const Location& query) {
  const std::vector<Declared> all = registered();
  check_algorithms(path, all, query);
  std::vector<Declared> candidates = all;
  std::erase_if(candidates, [&](const Declared& algorithm) {
    return !path.algorithms.empty() && std::ranges::find(path.algorithms, algorithm.name) == path.algorithms.end();
  });
  for (const auto& [name, value] : path.parameters) check_parameter(path, name, value, candidates, query);
}

Rules without(Rules rules, const std::vector<std::string>& names, const Locations& locations, const Location& query) {
  for (const std::string& name : names) {
    if (rules.switch_off(name)) continue;
    throw BindError("the planner has no rule '" + name + "'" + query::did_you_mean(name, rule_names()) +
                        " (there are " + listed(rule_names()) + ")",
                    place_of(name, locations, query));
  }
  return rules;
}

}  // namespace skyrank::exec
