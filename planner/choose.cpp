#include "planner/choose.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>

#include "kernels/common/nearest_name.hpp"
#include "planner/cost/correction.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner {
namespace {

using kernels::Device;
using Parameters = cost::Values;

constexpr double kMostFactor = 3;  ///< that a correction may be, or one over it

std::string_view name_of(Device device) { return device == Device::cuda ? "cuda" : "cpu"; }

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// Calls visit(algorithm) for every registered algorithm of every problem kind.
template <class Visit>
void for_each_algorithm(const Visit& visit) {
  for (const auto* algorithm : kernels::skyline_algorithms()) visit(*algorithm);
  for (const auto* algorithm : kernels::topk_algorithms()) visit(*algorithm);
}

bool is_forced(std::string_view name, const Constraints& constraints) {
  return std::ranges::find(constraints.algorithms, name) != constraints.algorithms.end();
}

bool declares(std::span<const kernels::Parameter> declared, std::string_view name) {
  return std::ranges::find(declared, name, &kernels::Parameter::name) != declared.end();
}

/// Names that nothing answers to, whatever the problem kind.
void check_names(const Constraints& constraints) {
  if (constraints.algorithms.empty() && constraints.parameters.empty()) return;
  std::vector<std::string> algorithms;
  std::vector<std::string> parameters;
  for_each_algorithm([&](const auto& algorithm) {
    algorithms.emplace_back(algorithm.name);
    if (!constraints.algorithms.empty() && !is_forced(algorithm.name, constraints)) return;
    for (const kernels::Parameter& parameter : algorithm.parameters) parameters.emplace_back(parameter.name);
  });
  const auto known = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  for (const std::string& name : constraints.algorithms) {
    if (known(algorithms, name)) continue;
    throw NoPath{"there is no algorithm '" + name + "'" + kernels::did_you_mean(name, algorithms) + " (there are " +
                 listed(algorithms) + ")"};
  }
  for (const auto& [name, value] : constraints.parameters) {
    if (known(parameters, name)) continue;
    const std::string of = constraints.algorithms.empty() ? "no algorithm" : listed(constraints.algorithms);
    throw NoPath{of + " has no parameter '" + name + "'" + kernels::did_you_mean(name, parameters)};
  }
}

/// The given parameters that concern algorithms of this kind; the rest belongs to another operator of the query.
template <class Algorithm>
Parameters parameters_of_kind(std::span<const Algorithm* const> algorithms, const Constraints& constraints) {
  Parameters parameters = constraints.parameters;
  std::erase_if(parameters, [&](const auto& given) {
    return std::ranges::none_of(algorithms, [&](const auto* algorithm) {
      return (constraints.algorithms.empty() || is_forced(algorithm->name, constraints)) &&
             declares(algorithm->parameters, given.first);
    });
  });
  return parameters;
}

template <class Algorithm>
bool any_forced(std::span<const Algorithm* const> algorithms, const Constraints& constraints) {
  return std::ranges::any_of(algorithms, [&](const auto* it) { return is_forced(it->name, constraints); });
}

/// Why an algorithm may not be taken, or empty.
template <class Algorithm>
std::string obstacle(const Algorithm& algorithm, const typename Algorithm::Shape& shape, const Constraints& constraints,
                     const Parameters& parameters, bool forced_kind, const Machine& machine) {
  if (forced_kind && !is_forced(algorithm.name, constraints)) return "not among the algorithms asked for";
  if (constraints.device && *constraints.device != algorithm.device) {
    return "runs on " + std::string(name_of(algorithm.device)) + ", not on " +
           std::string(name_of(*constraints.device));
  }
  if (algorithm.device == Device::cuda && !machine.cuda) return "needs a GPU, and none is usable";
  for (const auto& [name, value] : parameters) {
    if (!declares(algorithm.parameters, name)) return "has no parameter '" + name + "'";
  }
  if (std::string wrong = kernels::check_parameters(algorithm.parameters, parameters); !wrong.empty()) return wrong;
  if (const kernels::Support support = algorithm.supports(shape); !support) return support.reason;
  return {};
}

std::string rounded(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value, std::chars_format::general, 3);
  return {text, end.ptr};
}

std::string amount(double bytes) { return bytes < 1e9 ? rounded(bytes / 1e6) + " MB" : rounded(bytes / 1e9) + " GB"; }

bool is_limited(Device device, const Machine& machine) { return device == Device::cpu && machine.host_limited; }

double free_bytes(Device device, const Machine& machine) {
  return device == Device::cuda ? machine.device_bytes : machine.host_bytes;
}

/// Whether all of a query's temporary memory fits.
bool fits(double bytes, Device device, const Machine& machine) { return bytes <= free_bytes(device, machine); }

/// Why a path does not fit into memory, or empty.
std::string too_large(double bytes, Device device, const Machine& machine) {
  if (fits(bytes, device, machine)) return {};
  const double free = free_bytes(device, machine);
  return "needs about " + amount(bytes) + " of memory and " +
         (is_limited(device, machine) ? "the limit leaves " + amount(free) : amount(free) + " are free");
}

struct Priced {
  Parameters values;
  double seconds = 0;
  double bytes = 0;
};

template <class Model>
Model existing(Model model, std::string_view name) {
  if (!model) throw std::logic_error("no cost model for algorithm " + std::string(name));
  return model;
}

const Profile& profile_of(const Machine& machine) {
  return machine.profile != nullptr ? *machine.profile : built_in_profile();
}

auto model_of(std::string_view algorithm, const kernels::SkylineShape&) { return cost::skyline_model(algorithm); }
auto model_of(std::string_view algorithm, const kernels::TopKShape&) { return cost::topk_model(algorithm); }

/// What the model says, with the seconds of the machine's profile where it has any.
template <class Shape>
cost::Cost terms_of(std::string_view algorithm, const Shape& shape, const Machine& machine,
                    const Statistics& statistics, const Parameters& values) {
  cost::Cost cost = existing(model_of(algorithm, shape), algorithm).cost(shape, statistics, machine, values);
  const Profile::Seconds* known = profile_of(machine).seconds_of(algorithm);
  if (known == nullptr) return cost;
  for (const auto& [name, seconds] : *known) {  // some ten of both: lengths tell most names apart, faster than a search
    for (cost::Term& term : cost.terms) {
      if (term.name.size() == name.size() && term.name == name) term.seconds = seconds;
    }
  }
  return cost;
}

/// What the profile's correction makes of a sum of terms; from a third of it to three times it.
template <class Shape>
double corrected(double seconds, std::string_view algorithm, const Shape& shape, const Machine& machine,
                 const Statistics& statistics) {
  const auto& corrections = profile_of(machine).corrections;
  const auto correction = corrections.find(algorithm);
  if (correction == corrections.end()) return seconds;
  // The host's threads are nothing to a GPU, whose runs have all been taken with one.
  const Machine one_thread{.threads = 1};
  const bool on_gpu = algorithm.starts_with("cuda-");
  const std::vector<double> values = cost::correction_values(shape, statistics, on_gpu ? one_thread : machine, seconds);
  return seconds * cost::correction_factor(correction->second, values);
}

/// Sums of terms are cheap to have and corrections dear: those are made of as few as may be below the `least` of all,
/// and of none once that is below `enough`. `each` is called with a sum's place and what the correction makes of it.
template <class Corrected, class Each>
void correct_those_near(const std::vector<double>& sums, double enough, const Corrected& correct, const Each& each) {
  std::vector<std::pair<double, std::size_t>> ascending;
  for (std::size_t i = 0; i < sums.size(); ++i) ascending.emplace_back(sums[i], i);
  std::ranges::sort(ascending);
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [sum, place] : ascending) {
    if (sum > kMostFactor * least || least < enough) break;
    const double seconds = correct(place, sum);
    least = std::min(least, seconds);
    each(place, seconds);
  }
}

/// One of the algorithms that may be taken.
template <class Algorithm>
struct Candidate {
  const Algorithm* algorithm = nullptr;
  std::size_t place = 0;  ///< among those that are considered
  Priced best = {};       ///< of the values that were looked at
};

template <class Algorithm>
Priced priced(const Algorithm& algorithm, const typename Algorithm::Shape& shape, Parameters values,
              const Machine& machine, const Statistics& statistics) {
  const cost::Cost cost = terms_of(algorithm.name, shape, machine, statistics, values);
  return {std::move(values), seconds_of(cost), cost.bytes};
}

/// Takes the cheapest of a candidate's values by its terms, of those that fit into memory if any do. The correction is
/// of the problem and comes later: it hardly differs from value to value. Where those given, which fit, take so long
/// that no correction can make up for it, beside the `least` sum of all algorithms, no others are looked at.
template <class Algorithm>
void take_cheapest(Candidate<Algorithm>& candidate, const typename Algorithm::Shape& shape,
                   const Parameters& parameters, const Machine& machine, const Statistics& statistics, double least) {
  const Algorithm& algorithm = *candidate.algorithm;
  const auto rank = [&](const Priced& it) { return std::pair(!fits(it.bytes, algorithm.device, machine), it.seconds); };
  if (!rank(candidate.best).first && candidate.best.seconds > kMostFactor * kMostFactor * least) return;
  if (model_of(algorithm.name, shape).candidates == nullptr) return;
  for (Parameters& values : priced_parameters(algorithm.name, shape, parameters)) {
    Priced next = priced(algorithm, shape, std::move(values), machine, statistics);
    if (rank(next) < rank(candidate.best)) candidate.best = std::move(next);
  }
}

/// Of all algorithms that nothing forbids; `considered` gets why others may not be taken.
template <class Algorithm>
std::vector<Candidate<Algorithm>> candidates_of(std::span<const Algorithm* const> algorithms,
                                                const typename Algorithm::Shape& shape, const Constraints& constraints,
                                                const Machine& machine, const Statistics& statistics,
                                                std::vector<Considered>& considered) {
  const Parameters parameters = parameters_of_kind(algorithms, constraints);
  const bool forced = any_forced(algorithms, constraints);
  std::vector<Candidate<Algorithm>> candidates;
  double least = std::numeric_limits<double>::infinity();
  for (const Algorithm* algorithm : algorithms) {
    considered.push_back({std::string(algorithm->name), std::nullopt,
                          obstacle(*algorithm, shape, constraints, parameters, forced, machine)});
    if (!considered.back().reason.empty()) continue;
    candidates.push_back(
        {algorithm, considered.size() - 1, priced(*algorithm, shape, parameters, machine, statistics)});
    least = std::min(least, candidates.back().best.seconds);
  }
  std::vector<double> sums;
  for (Candidate<Algorithm>& candidate : candidates) {
    take_cheapest(candidate, shape, parameters, machine, statistics, least);
    sums.push_back(candidate.best.seconds);
  }
  correct_those_near(
      sums, 0,
      [&](std::size_t i, double sum) {
        return corrected(sum, candidates[i].algorithm->name, shape, machine, statistics);
      },
      [&](std::size_t i, double seconds) { candidates[i].best.seconds = seconds; });
  return candidates;
}

/// The cheapest path if it is cheaper than what was chosen before.
template <class Algorithm>
void offer(Choice<Algorithm>& choice, const Algorithm& algorithm, const Priced& priced, bool better) {
  if (choice.algorithm != nullptr && !better) return;
  choice.algorithm = &algorithm;
  choice.seconds = priced.seconds;
  choice.bytes = priced.bytes;
  choice.parameters = kernels::ParameterValues(algorithm.parameters, priced.values);
}

template <class Algorithm>
std::string reason_of_choice(const Choice<Algorithm>& choice, bool forced) {
  const auto priced = std::ranges::count_if(choice.others, [](const Considered& it) { return it.seconds.has_value(); });
  if (priced > 0) return "cheapest of " + std::to_string(priced + 1) + " by predicted time";
  return forced ? "asked for" : "the only one that fits";
}

/// What stands in the way of those that could have been taken, for the message that there is no path.
std::string obstacles(const std::vector<Considered>& others, const Constraints& constraints, bool forced) {
  std::string text;
  for (const Considered& it : others) {
    if (forced && !is_forced(it.algorithm, constraints)) continue;
    text += (text.empty() ? "" : "; ") + it.algorithm + ": " + it.reason;
  }
  return text;
}

template <class Algorithm>
Choice<Algorithm> choose_from(std::span<const Algorithm* const> algorithms, const typename Algorithm::Shape& shape,
                              const Constraints& constraints, const Machine& machine, const Statistics& statistics) {
  check_names(constraints);
  const bool forced = any_forced(algorithms, constraints);
  Choice<Algorithm> choice;
  Choice<Algorithm> smallest;  // of those that a limit rules out
  for (const Candidate<Algorithm>& candidate :
       candidates_of(algorithms, shape, constraints, machine, statistics, choice.others)) {
    const Priced& best = candidate.best;
    const Device device = candidate.algorithm->device;
    Considered& it = choice.others[candidate.place];
    it.reason = too_large(best.bytes, device, machine);
    if (it.reason.empty()) {
      it.seconds = best.seconds;
      offer(choice, *candidate.algorithm, best, best.seconds < choice.seconds);
    } else if (is_limited(device, machine)) {
      offer(smallest, *candidate.algorithm, best, best.bytes < smallest.bytes);
    }
  }
  const bool none_fits = choice.algorithm == nullptr;
  if (none_fits) {
    smallest.others = std::move(choice.others);
    choice = std::move(smallest);
  }
  if (choice.algorithm == nullptr) {
    throw NoPath{"no " + std::string(Algorithm::problem) + " algorithm fits (" +
                 obstacles(choice.others, constraints, forced) + ")"};
  }
  std::erase_if(choice.others, [&](const Considered& it) { return it.algorithm == choice.algorithm->name; });
  for (Considered& it : choice.others) {
    if (it.seconds) it.reason = "predicted " + rounded(*it.seconds / choice.seconds) + " times as long";
  }
  choice.reason = none_fits ? "needs the least memory; the limit leaves too little for any by prediction"
                            : reason_of_choice(choice, forced);
  return choice;
}

/// Sums of terms of the algorithms that can run and that the profile has a correction for, which are those of which
/// there were enough runs; of all that can run, where none of them can.
struct Sums {
  std::vector<std::string_view> names;
  std::vector<double> seconds;
};

template <class Algorithm, class Shape>
Sums sums_of(std::span<const Algorithm* const> algorithms, const Shape& shape, const Machine& machine,
             const Statistics& statistics) {
  const Profile& profile = profile_of(machine);
  Sums sums;
  for (const bool all : {false, true}) {
    for (const Algorithm* it : algorithms) {
      if (!all && !profile.corrections.contains(it->name)) continue;
      if ((it->device == Device::cuda && !machine.cuda) || !it->supports(shape)) continue;
      sums.seconds.push_back(seconds_of(terms_of(it->name, shape, machine, statistics, {})));
      sums.names.push_back(it->name);
    }
    if (!sums.names.empty()) break;
  }
  return sums;
}

template <class Algorithm, class Shape>
double least_seconds(std::span<const Algorithm* const> algorithms, const Shape& shape, const Machine& machine,
                     const Statistics& statistics, double enough) {
  const Sums sums = sums_of(algorithms, shape, machine, statistics);
  double least = std::numeric_limits<double>::infinity();
  correct_those_near(
      sums.seconds, enough,
      [&](std::size_t i, double sum) { return corrected(sum, sums.names[i], shape, machine, statistics); },
      [&](std::size_t, double seconds) { least = std::min(least, seconds); });
  return least;
}

/// What least_seconds() is not above, without making corrections.
template <class Algorithm, class Shape>
double most_least_seconds(std::span<const Algorithm* const> algorithms, const Shape& shape, const Machine& machine,
                          const Statistics& statistics) {
  const Sums sums = sums_of(algorithms, shape, machine, statistics);
  return sums.seconds.empty() ? 0 : kMostFactor * *std::ranges::min_element(sums.seconds);
}

/// Terms, and the correction as one of them, which may be below 0.
template <class Shape>
cost::Cost with_correction(std::string_view algorithm, const Shape& shape, const Machine& machine,
                           const Statistics& statistics, const Parameters& values) {
  cost::Cost cost = terms_of(algorithm, shape, machine, statistics, values);
  if (!profile_of(machine).corrections.contains(algorithm)) return cost;
  const double seconds = seconds_of(cost);
  const double factor = seconds > 0 ? corrected(seconds, algorithm, shape, machine, statistics) / seconds : 1;
  cost.terms.push_back({"correction", factor - 1, seconds});
  return cost;
}

template <class Shape>
std::vector<Parameters> merged(const cost::Model<Shape>& model, const Shape& shape, const Parameters& given) {
  if (model.candidates == nullptr) return {given};
  std::vector<Parameters> all;
  for (const Parameters& candidate : model.candidates(shape)) {
    Parameters values = given;
    values.insert(candidate.begin(), candidate.end());
    if (std::ranges::find(all, values) == all.end()) all.push_back(std::move(values));
  }
  return all;
}

}  // namespace

Choice<kernels::SkylineAlgorithm> choose(const kernels::SkylineShape& shape, const Constraints& constraints,
                                         const Machine& machine, const Statistics& statistics) {
  return choose_from(kernels::skyline_algorithms(), shape, constraints, machine, statistics);
}

Choice<kernels::TopKAlgorithm> choose(const kernels::TopKShape& shape, const Constraints& constraints,
                                      const Machine& machine, const Statistics& statistics) {
  return choose_from(kernels::topk_algorithms(), shape, constraints, machine, statistics);
}

cost::Cost cost_of(std::string_view algorithm, const kernels::SkylineShape& shape, const Machine& machine,
                   const Statistics& statistics, const cost::Values& values) {
  return with_correction(algorithm, shape, machine, statistics, values);
}

cost::Cost cost_of(std::string_view algorithm, const kernels::TopKShape& shape, const Machine& machine,
                   const Statistics& statistics, const cost::Values& values) {
  return with_correction(algorithm, shape, machine, statistics, values);
}

std::vector<cost::Values> priced_parameters(std::string_view algorithm, const kernels::SkylineShape& shape,
                                            const cost::Values& given) {
  return merged(cost::skyline_model(algorithm), shape, given);
}

std::vector<cost::Values> priced_parameters(std::string_view algorithm, const kernels::TopKShape& shape,
                                            const cost::Values& given) {
  return merged(cost::topk_model(algorithm), shape, given);
}

double seconds_of(const cost::Cost& cost) {
  double seconds = 0;
  for (const cost::Term& term : cost.terms) seconds += term.count * term.seconds;
  return seconds;
}

double expected_seconds(const kernels::SkylineShape& shape, const Machine& machine, const Statistics& statistics,
                        double enough) {
  return least_seconds(kernels::skyline_algorithms(), shape, machine, statistics, enough);
}

double expected_seconds(const kernels::TopKShape& shape, const Machine& machine, const Statistics& statistics,
                        double enough) {
  return least_seconds(kernels::topk_algorithms(), shape, machine, statistics, enough);
}

double most_expected_seconds(const kernels::SkylineShape& shape, const Machine& machine, const Statistics& statistics) {
  return most_least_seconds(kernels::skyline_algorithms(), shape, machine, statistics);
}

double most_expected_seconds(const kernels::TopKShape& shape, const Machine& machine, const Statistics& statistics) {
  return most_least_seconds(kernels::topk_algorithms(), shape, machine, statistics);
}

double predict(const kernels::SkylineAlgorithm& algorithm, const kernels::SkylineShape& shape, const Machine& machine,
               const Statistics& statistics, const cost::Values& values) {
  return seconds_of(cost_of(algorithm.name, shape, machine, statistics, values));
}

double predict(const kernels::TopKAlgorithm& algorithm, const kernels::TopKShape& shape, const Machine& machine,
               const Statistics& statistics, const cost::Values& values) {
  return seconds_of(cost_of(algorithm.name, shape, machine, statistics, values));
}

}  // namespace skyrank::planner
