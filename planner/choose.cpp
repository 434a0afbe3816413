#include "planner/choose.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "kernels/common/nearest_name.hpp"
#include "kernels/papers/names.hpp"
#include "planner/cost/cuda_common.hpp"
#include "planner/cost/models.hpp"
#include "planner/price_list.hpp"

namespace skyrank::planner {
namespace {

using kernels::Device;
using Parameters = cost::Values;

/// Obstacle of a reference, in words.
constexpr const char* kNotAsked = "planned only if asked for";

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
    if (std::string left_out = kernels::papers::why_left_out(name); !left_out.empty())
      throw NoPath{std::move(left_out)};
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

/// Why an algorithm of a device may not be taken, whatever else is asked for, or empty.
std::string obstacle_of(Device device, const Constraints& constraints, const Machine& machine) {
  if (constraints.device && *constraints.device != device) {
    return "runs on " + std::string(name_of(device)) + ", not on " + std::string(name_of(*constraints.device));
  }
  return device == Device::cuda && !machine.cuda ? "needs a GPU, and none is usable" : "";
}

/// Why an algorithm may not be taken, or empty.
template <class Algorithm>
std::string obstacle(const Algorithm& algorithm, const typename Algorithm::Shape& shape, const Constraints& constraints,
                     const Parameters& parameters, bool forced_kind, const Machine& machine) {
  if (forced_kind && !is_forced(algorithm.name, constraints)) return "not among the algorithms asked for";
  if (std::string why = obstacle_of(algorithm.device, constraints, machine); !why.empty()) return why;
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

/// Memory of the host is limited by a setting, which is kept whatever is predicted; that of a GPU by what is there.
bool is_limited(Device device) { return device == Device::cpu; }

/// Seconds before the first kernel on a device.
double start_seconds(Device device, const Machine& machine) { return device == Device::cuda ? machine.cuda_start : 0; }

double bytes_of_keys(const kernels::TopKShape& shape) { return static_cast<double>(shape.n) * cost::key_bytes(shape); }

double bytes_of_keys(const kernels::SkylineShape& shape) {
  return static_cast<double>(shape.n) * static_cast<double>(shape.d) * static_cast<double>(shape.width);
}

/// Seconds until keys that were made on a GPU are where algorithms of a device read them. That they get to a GPU is
/// part of its algorithms' costs.
template <class Shape>
double seconds_to_fetch(Device device, const Shape& shape, const Statistics& statistics) {
  const bool fetches = device == Device::cpu && statistics.memory == kernels::Memory::device;
  return fetches ? bytes_of_keys(shape) * cost::kTransferByte : 0;
}

double free_bytes(Device device, const Machine& machine) {
  return device == Device::cuda ? machine.device_bytes : machine.host_bytes;
}

/// Returns true if all temporary memory of a query fits.
bool fits(double bytes, Device device, const Machine& machine) { return bytes <= free_bytes(device, machine); }

/// Why a path does not fit into memory, or empty.
std::string too_large(double bytes, Device device, const Machine& machine) {
  if (fits(bytes, device, machine)) return {};
  const double free = free_bytes(device, machine);
  return "needs about " + amount(bytes) + " of memory and " +
         (is_limited(device) ? "the limit leaves " + amount(free) : amount(free) + " are free");
}

const PriceList& prices_of(const Machine& machine) {
  return machine.prices != nullptr ? *machine.prices : built_in_prices();
}

struct Priced {
  const Parameters* values = nullptr;
  double seconds = 0;
  double bytes = 0;
};

// Regret is bounded by what choosing by expectation costs at most; within a tenth models do not tell two paths apart.
constexpr double kAsGood = 1.1;
constexpr double kMuchBetter = 2;

constexpr std::size_t kFewRows = 64;  // are answered before prices at high are known

/// One of the algorithms that may be taken.
template <class Algorithm>
struct Candidate {
  const Algorithm* algorithm = nullptr;
  const Prices<typename Algorithm::Shape>* prices = nullptr;
  std::size_t place = 0;                ///< among those that are considered
  Priced best = {};                     ///< the cheapest of the values that were priced
  std::vector<Parameters> merged = {};  ///< the priced values, if some were given
  std::optional<double> seconds_at_high = {};
};

/// A problem, and what it is priced by.
template <class Shape>
struct Query {
  const Shape& shape;
  const Statistics& statistics;
  const Machine& machine;

  Priced priced(const Prices<Shape>& prices, const Parameters& values) const {
    const cost::Cost cost = prices.terms(shape, statistics, machine, values);
    return {&values, seconds_of(cost), cost.bytes};
  }
};

/// Values that the model lists, with the given ones, which win.
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

/// Takes the cheapest of a candidate's values, of those that fit into memory if any do.
template <class Algorithm>
void take_cheapest(Candidate<Algorithm>& candidate, const Query<typename Algorithm::Shape>& query,
                   const Parameters& given) {
  const auto& model = candidate.prices->model;
  if (model.candidates == nullptr) return;
  const auto rank = [&](const Priced& it) {
    return std::pair(!fits(it.bytes, candidate.algorithm->device, query.machine), it.seconds);
  };
  std::span<const Parameters> listed = model.candidates(query.shape);
  if (!given.empty()) listed = candidate.merged = merged(model, query.shape, given);
  for (const Parameters& values : listed.subspan(model.defaults_first ? 1 : 0)) {
    const Priced next = query.priced(*candidate.prices, values);
    if (rank(next) < rank(candidate.best)) candidate.best = next;
  }
}

/// Appends the algorithms that nothing forbids to `candidates`, the references or the others; `considered` gets why the
/// rest may not be taken.
template <class Algorithm>
void add_candidates(std::span<const Algorithm* const> algorithms, bool references,
                    const Query<typename Algorithm::Shape>& query, const Constraints& constraints,
                    const Parameters& given, std::vector<Candidate<Algorithm>>& candidates,
                    std::vector<Considered>& considered) {
  const bool forced = any_forced(algorithms, constraints);
  const auto& prices = prices_of(query.machine).template registered<typename Algorithm::Shape>();
  for (std::size_t i = 0; i < algorithms.size(); ++i) {
    if (prices[i]->model.is_reference(query.shape) != references) continue;
    const Algorithm& algorithm = *algorithms[i];
    considered[i].obstacle = obstacle(algorithm, query.shape, constraints, given, forced, query.machine);
    if (!considered[i].obstacle.empty()) continue;
    candidates.push_back({&algorithm, prices[i], i, query.priced(*prices[i], given)});
    take_cheapest(candidates.back(), query, given);
    candidates.back().best.seconds += start_seconds(algorithm.device, query.machine) +
                                      seconds_to_fetch(algorithm.device, query.shape, query.statistics);
  }
}

/// Returns the algorithms to choose from. References are among them if they are asked for, or if no other fits.
template <class Algorithm>
std::vector<Candidate<Algorithm>> candidates_of(std::span<const Algorithm* const> algorithms,
                                                const Query<typename Algorithm::Shape>& query,
                                                const Constraints& constraints, const Parameters& given,
                                                std::vector<Considered>& considered) {
  std::vector<Candidate<Algorithm>> candidates;
  candidates.reserve(algorithms.size());
  considered.reserve(algorithms.size());
  const bool forced = any_forced(algorithms, constraints);
  for (const Algorithm* algorithm : algorithms) {
    const std::string why = obstacle_of(algorithm->device, constraints, query.machine);
    considered.push_back({.algorithm = algorithm->name, .obstacle = why.empty() ? kNotAsked : why});
  }
  add_candidates(algorithms, false, query, constraints, given, candidates, considered);
  const bool any_fits = std::ranges::any_of(candidates, [&](const Candidate<Algorithm>& it) {
    return fits(it.best.bytes, it.algorithm->device, query.machine);
  });
  if (!any_fits || forced) {
    add_candidates(algorithms, true, query, constraints, given, candidates, considered);
  }
  return candidates;
}

/// The cheapest path if it is cheaper than what was chosen before.
template <class Algorithm>
void offer(const Candidate<Algorithm>*& chosen, const Candidate<Algorithm>& candidate, double Priced::*by) {
  if (chosen == nullptr || candidate.best.*by < chosen->best.*by) chosen = &candidate;
}

/// Returns statistics of the problem at its worst: every row is in the answer.
Statistics at_worst(const kernels::SkylineShape& shape, Statistics statistics) {
  statistics.level_rows = static_cast<double>(shape.n);
  return statistics;
}

Statistics at_worst(const kernels::TopKShape& /*shape*/, Statistics statistics) { return statistics; }

/// Returns the guard of a path: another one takes over that is much cheaper at the problem's worst.
template <class Algorithm>
std::optional<Guard<Algorithm>> guard_of(const Candidate<Algorithm>& chosen,
                                         const std::vector<Candidate<Algorithm>>& candidates,
                                         const Query<typename Algorithm::Shape>& query) {
  constexpr double kTimesPredicted = 4;
  constexpr double kMinSeconds = 0.5e-3;
  const auto guarded = chosen.prices->model.guarded;
  if (guarded == nullptr) return std::nullopt;
  constexpr double kMuchCheaper = 0.5;
  const Statistics worst = at_worst(query.shape, query.statistics);
  const auto priced = [&](const Candidate<Algorithm>& it) {
    return Query<typename Algorithm::Shape>{query.shape, worst, query.machine}.priced(*it.prices, *it.best.values);
  };
  double least = kMuchCheaper * priced(chosen).seconds;
  const Candidate<Algorithm>* fallback = nullptr;
  for (const Candidate<Algorithm>& other : candidates) {
    const Device device = other.algorithm->device;
    if (device != chosen.algorithm->device) continue;
    const Priced price = priced(other);
    if (!fits(price.bytes, device, query.machine) || price.seconds >= least) continue;
    least = price.seconds;
    fallback = &other;
  }
  if (fallback == nullptr) return std::nullopt;
  const cost::GuardedSteps steps = guarded(query.shape, query.statistics);
  return Guard<Algorithm>{
      .steps = static_cast<std::uint64_t>(kTimesPredicted * steps.expected),
      .min_steps = static_cast<std::uint64_t>(kMinSeconds / steps.seconds),
      .max_steps = static_cast<std::uint64_t>(steps.most),
      .fallback = fallback->algorithm,
      .seconds_at_high = std::max(kTimesPredicted * steps.expected * steps.seconds, kMinSeconds) + least,
      .parameters = kernels::ParameterValues(fallback->algorithm->parameters, *fallback->best.values)};
}

/// Returns the seconds of a candidate at high. A guard ends the path before it takes longer than its fallback.
template <class Algorithm>
double seconds_at_high(const Candidate<Algorithm>& candidate, const std::vector<Candidate<Algorithm>>& candidates,
                       const Query<typename Algorithm::Shape>& query, bool has_guard) {
  const Statistics high = at_high(query.statistics);
  const Device device = candidate.algorithm->device;
  const Query<typename Algorithm::Shape> problem{query.shape, high, query.machine};
  double seconds = problem.priced(*candidate.prices, *candidate.best.values).seconds +
                   start_seconds(device, query.machine) + seconds_to_fetch(device, query.shape, query.statistics);
  if (has_guard) {
    if (const auto guard = guard_of(candidate, candidates, query)) seconds = std::min(seconds, guard->seconds_at_high);
  }
  return std::max(seconds, candidate.best.seconds);
}

/// Prices candidates at high: all, or those that are as good as the cheapest if there are several.
template <class Algorithm>
void price_at_high(std::vector<Candidate<Algorithm>>& candidates, const Candidate<Algorithm>& cheapest,
                   const Query<typename Algorithm::Shape>& query, bool has_guard, bool all) {
  if (!all && query.shape.n < kFewRows) return;
  const auto is_as_good = [&](const Candidate<Algorithm>& it) {
    return as_good(it.best.seconds, cheapest.best.seconds);
  };
  if (!all && std::ranges::count_if(candidates, is_as_good) < 2) return;
  for (Candidate<Algorithm>& it : candidates) {
    if (all || is_as_good(it)) it.seconds_at_high = seconds_at_high(it, candidates, query, has_guard);
  }
}

/// Returns the cheapest candidate or, of those that are as good and much better at high, the best there.
template <class Algorithm>
const Candidate<Algorithm>* safest(const std::vector<Candidate<Algorithm>>& candidates,
                                   const Candidate<Algorithm>* cheapest, const Machine& machine) {
  const auto price = [](const Candidate<Algorithm>& it) { return Price{it.best.seconds, *it.seconds_at_high}; };
  if (!cheapest->seconds_at_high) return cheapest;
  const Candidate<Algorithm>* chosen = cheapest;
  for (const Candidate<Algorithm>& it : candidates) {
    if (!it.seconds_at_high || !fits(it.best.bytes, it.algorithm->device, machine)) continue;
    const bool is_safer = *it.seconds_at_high < *chosen->seconds_at_high;
    if (is_safer && prefers(price(it), price(*cheapest))) chosen = &it;
  }
  return chosen;
}

template <class Algorithm>
std::string reason_of_choice(const Choice<Algorithm>& choice, bool forced) {
  const auto priced = std::ranges::count_if(choice.others, [](const Considered& it) { return it.seconds.has_value(); });
  const bool is_cheapest = std::ranges::none_of(
      choice.others, [&](const Considered& it) { return it.seconds.value_or(choice.seconds) < choice.seconds; });
  if (!is_cheapest) {
    return "as good as the cheapest of " + std::to_string(priced + 1) +
           " by predicted time, and much cheaper if the sample is wrong";
  }
  if (priced > 0) return "cheapest of " + std::to_string(priced + 1) + " by predicted time";
  return forced ? "asked for" : "the only one that fits";
}

/// Lists the obstacles of the algorithms that support the problem, for the message that there is no path.
std::string obstacles(const std::vector<Considered>& others, const Constraints& constraints, bool forced) {
  std::string text;
  for (const Considered& it : others) {
    if (forced && !is_forced(it.algorithm, constraints)) continue;
    text += (text.empty() ? "" : "; ") + std::string(it.algorithm) + ": " + it.obstacle;
  }
  return text;
}

template <class Algorithm>
Choice<Algorithm> choose_from(std::span<const Algorithm* const> algorithms, const typename Algorithm::Shape& shape,
                              const Constraints& constraints, const Machine& machine, const Statistics& statistics) {
  check_names(constraints);
  const bool forced = any_forced(algorithms, constraints);
  const Parameters given = parameters_of_kind(algorithms, constraints);
  Choice<Algorithm> choice;
  const Query<typename Algorithm::Shape> query{shape, statistics, machine};
  auto candidates = candidates_of(algorithms, query, constraints, given, choice.others);
  const Candidate<Algorithm>* chosen = nullptr;
  const Candidate<Algorithm>* smallest = nullptr;  // of those that a limit rules out
  for (const Candidate<Algorithm>& candidate : candidates) {
    const Device device = candidate.algorithm->device;
    Considered& it = choice.others[candidate.place];
    it.obstacle = too_large(candidate.best.bytes, device, machine);
    if (it.obstacle.empty()) {
      it.seconds = candidate.best.seconds;
      offer(chosen, candidate, &Priced::seconds);
    } else if (is_limited(device)) {
      offer(smallest, candidate, &Priced::bytes);
    }
  }
  const bool none_fits = chosen == nullptr;
  if (!none_fits) {
    price_at_high(candidates, *chosen, query, !forced, constraints.lists_candidates);
    if (shape.n >= kFewRows) chosen = safest(candidates, chosen, machine);
  } else {
    chosen = smallest;
  }
  if (chosen == nullptr) {
    throw NoPath{"no " + std::string(Algorithm::problem) + " algorithm fits (" +
                 obstacles(choice.others, constraints, forced) + ")"};
  }
  choice.algorithm = chosen->algorithm;
  choice.parameters = kernels::ParameterValues(chosen->algorithm->parameters, *chosen->best.values);
  choice.seconds = chosen->best.seconds;
  choice.seconds_at_high = chosen->seconds_at_high;
  choice.bytes = chosen->best.bytes;
  if (!forced) choice.guard = guard_of(*chosen, candidates, query);
  for (const Candidate<Algorithm>& candidate : candidates) {
    Considered& it = choice.others[candidate.place];
    if (!it.seconds || !candidate.seconds_at_high) continue;
    it.seconds_at_high = candidate.seconds_at_high;
    it.times_at_high = *candidate.seconds_at_high / choice.seconds_at_high.value_or(*candidate.seconds_at_high);
  }
  choice.others.erase(choice.others.begin() + static_cast<std::ptrdiff_t>(chosen->place));
  for (Considered& it : choice.others) it.times = it.seconds.value_or(0) / choice.seconds;
  choice.reason = none_fits ? "needs the least memory; the limit leaves too little for any by prediction"
                            : reason_of_choice(choice, forced);
  return choice;
}

/// Returns the least predicted time of the algorithms that are no references, with default parameters.
template <class Algorithm, class Shape>
double least_seconds(std::span<const Algorithm* const> algorithms, const Shape& shape, const Machine& machine,
                     const Statistics& statistics) {
  const auto& prices = prices_of(machine).registered<Shape>();
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < algorithms.size(); ++i) {
    if (prices[i]->model.is_reference(shape) || (algorithms[i]->device == Device::cuda && !machine.cuda)) continue;
    if (!algorithms[i]->supports(shape)) continue;
    const double seconds = seconds_of(prices[i]->terms(shape, statistics, machine, {}));
    const Device device = algorithms[i]->device;
    least = std::min(least, seconds + start_seconds(device, machine) + seconds_to_fetch(device, shape, statistics));
  }
  return std::isfinite(least) ? least : 0;
}

}  // namespace

bool as_good(double expected, double other) { return expected <= kAsGood * other && other <= kAsGood * expected; }

bool prefers(const Price& candidate, const Price& other) {
  if (as_good(candidate.expected, other.expected)) {
    if (kMuchBetter * candidate.high <= other.high) return true;
    if (kMuchBetter * other.high <= candidate.high) return false;
  }
  return candidate.expected < other.expected;
}

std::string Considered::reason() const {
  if (!seconds) return obstacle;
  std::string text = "predicted " + rounded(times) + " times as long";
  if (times < 1) text += ", and " + rounded(times_at_high) + " times if the sample is wrong";
  return text;
}

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
  return prices_of(machine).skyline(algorithm).terms(shape, statistics, machine, values);
}

cost::Cost cost_of(std::string_view algorithm, const kernels::TopKShape& shape, const Machine& machine,
                   const Statistics& statistics, const cost::Values& values) {
  return prices_of(machine).ranking(algorithm).terms(shape, statistics, machine, values);
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

double seconds_on_device(const cost::Cost& cost) {
  double seconds = seconds_of(cost);
  for (const cost::Term& term : cost.terms) {
    if (term.name == "bytes-sent" || term.name == "bytes-fetched") seconds -= term.count * term.seconds;
  }
  return seconds;
}

double expected_seconds(const kernels::SkylineShape& shape, const Machine& machine, const Statistics& statistics) {
  return least_seconds(kernels::skyline_algorithms(), shape, machine, statistics);
}

double expected_seconds(const kernels::TopKShape& shape, const Machine& machine, const Statistics& statistics) {
  return least_seconds(kernels::topk_algorithms(), shape, machine, statistics);
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
