#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/registry.hpp"
#include "planner/cost/terms.hpp"
#include "planner/facts/machine.hpp"
#include "planner/facts/statistics.hpp"

// Chooses a path for a problem. Cost models price every registered algorithm that supports the problem and is no
// reference. The cheapest wins, unless another one is as good and much better at high; the others are kept with the
// reason why they lost.
namespace skyrank::planner {

/// The predicted seconds of a candidate, as expected and at high: where more rows come than expected, within the doubt
/// of the sample.
struct Price {
  double expected = 0;
  double high = 0;
};

/// Returns true if two candidates that are expected to take so many seconds are as good as each other, so that their
/// prices at high may decide.
bool as_good(double expected, double other);

/// Returns true if a candidate is to be taken rather than another one: the one that is expected to be cheaper, unless
/// the other is as good, within a tenth, and at least twice as good at high. Every choice by price follows this rule.
bool prefers(const Price& candidate, const Price& other);

/// Choices that the caller forces.
struct Constraints {
  std::optional<kernels::Device> device;
  std::vector<std::string> algorithms;  ///< forced names, of any problem kind; those of other kinds are ignored
  cost::Values parameters;              ///< values that replace those that the planner would take
  bool lists_candidates = false;        ///< no choice: candidates are priced at high too where that decides nothing
};

/// An algorithm of the registry, with its price or the reason why it cannot run.
struct Considered {
  std::string_view algorithm = {};             ///< registered name
  std::optional<double> seconds = {};          ///< predicted; none: it cannot run
  std::optional<double> seconds_at_high = {};  ///< none: not priced
  std::string obstacle = {};                   ///< why it cannot run
  double times = 0;                            ///< `seconds` over those of the chosen path
  double times_at_high = 0;                    ///< the same at high; 0: not priced

  /// Returns why it lost, as explain prints it.
  std::string reason() const;
};

/// The bound of a path whose worst case is a power above that of another, and the other, which takes over what is left.
template <class Algorithm>
struct Guard {
  std::uint64_t steps = 0;      ///< four times as many as predicted
  std::uint64_t min_steps = 0;  ///< half a millisecond of them, below which no guess is wrong enough
  std::uint64_t max_steps = 0;  ///< in the worst case
  const Algorithm* fallback = nullptr;
  double seconds_at_high = 0;           ///< seconds of the steps that are allowed, and of the fallback over all rows
  kernels::ParameterValues parameters;  ///< values of the fallback's parameters
};

/// The chosen path of a problem, and all other algorithms that were considered.
template <class Algorithm>
struct Choice {
  const Algorithm* algorithm = nullptr;
  kernels::ParameterValues parameters;  ///< values that were asked for, and the cheapest of those that the model prices
  double seconds = 0;                   ///< predicted
  std::optional<double> seconds_at_high = {};  ///< none: not priced, as no other candidate is as good
  double bytes = 0;                            ///< predicted temporary memory
  std::string reason;
  std::vector<Considered> others;
  std::optional<Guard<Algorithm>> guard = {};  ///< none: no other path is a power better, or the path was asked for
};

/// Throws NoPath when a forced path does not exist, does not fit, or has parameters out of range, and when all need too
/// much memory for the machine.
Choice<kernels::SkylineAlgorithm> choose(const kernels::SkylineShape& shape, const Constraints& constraints,
                                         const Machine& machine, const Statistics& statistics = {});
Choice<kernels::TopKAlgorithm> choose(const kernels::TopKShape& shape, const Constraints& constraints,
                                      const Machine& machine, const Statistics& statistics = {});

/// Thrown when there is no path, with the reason; the engine turns it into a BindError.
struct NoPath {
  std::string reason;
};

/// Predicts the seconds of an algorithm by its cost model, with the given parameters and the defaults of others. Every
/// registered algorithm has a model, which a test enforces.
double predict(const kernels::SkylineAlgorithm& algorithm, const kernels::SkylineShape& shape, const Machine& machine,
               const Statistics& statistics = {}, const cost::Values& values = {});
double predict(const kernels::TopKAlgorithm& algorithm, const kernels::TopKShape& shape, const Machine& machine,
               const Statistics& statistics = {}, const cost::Values& values = {});

/// Returns the cost that an algorithm's model gives, each term with its seconds from the machine's profile. Throws
/// std::logic_error for a name without a model. GPU algorithms have models in builds without CUDA, too.
cost::Cost cost_of(std::string_view algorithm, const kernels::SkylineShape& shape, const Machine& machine,
                   const Statistics& statistics = {}, const cost::Values& values = {});
cost::Cost cost_of(std::string_view algorithm, const kernels::TopKShape& shape, const Machine& machine,
                   const Statistics& statistics = {}, const cost::Values& values = {});

/// Returns the sets of parameters that the planner prices for an algorithm, at least one; each includes the `given`
/// ones.
std::vector<cost::Values> priced_parameters(std::string_view algorithm, const kernels::SkylineShape& shape,
                                            const cost::Values& given = {});
std::vector<cost::Values> priced_parameters(std::string_view algorithm, const kernels::TopKShape& shape,
                                            const cost::Values& given = {});

/// Returns the sum of count times seconds over the terms.
double seconds_of(const cost::Cost& cost);

/// Returns the same without transfers to and from a device, which the events of a device do not time.
double seconds_on_device(const cost::Cost& cost);

/// Returns about the seconds that choose() would predict, in a fraction of its time: the minimum over the algorithms
/// that it would price, with default parameters, regardless of memory.
double expected_seconds(const kernels::SkylineShape& shape, const Machine& machine, const Statistics& statistics = {});
double expected_seconds(const kernels::TopKShape& shape, const Machine& machine, const Statistics& statistics = {});

}  // namespace skyrank::planner
