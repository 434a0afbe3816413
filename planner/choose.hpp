#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/registry.hpp"
#include "planner/cost/terms.hpp"
#include "planner/statistics.hpp"

// Chooses a path for a problem: every registered algorithm that supports it and is no reference is priced by its cost
// model, the cheapest wins, and the others are kept with the reason they lost.
namespace skyrank::planner {

class PriceList;

/// Choices that the caller insists on.
struct Constraints {
  std::optional<kernels::Device> device;
  std::vector<std::string> algorithms;  ///< forced names, of any problem kind; those of other kinds are ignored
  cost::Values parameters;              ///< win over those that the planner would take
};

struct Considered {
  std::string_view algorithm = {};     ///< registered name
  std::optional<double> seconds = {};  ///< predicted; none: it may not be taken
  std::string obstacle = {};           ///< why not
  double times = 0;                    ///< `seconds` over those of the chosen path

  /// Why it lost, in words.
  std::string reason() const;
};

template <class Algorithm>
struct Choice {
  const Algorithm* algorithm = nullptr;
  kernels::ParameterValues parameters;  ///< values that were asked for, and the cheapest of those that the model prices
  double seconds = 0;                   ///< predicted
  double bytes = 0;                     ///< predicted temporary memory
  std::string reason;
  std::vector<Considered> others;
};

/// The machine as cost models see it.
struct Machine {
  int threads = 1;
  bool cuda = false;
  /// Memory that a query may take on the host. It takes no more, whatever is predicted: if nothing fits, the path that
  /// needs least is tried.
  double host_bytes = std::numeric_limits<double>::infinity();
  double device_bytes = std::numeric_limits<double>::infinity();  ///< memory of the GPU
  double cuda_start = 0;              ///< seconds to start a GPU, or a query's share of them; part of every path there
  const PriceList* prices = nullptr;  ///< null: those of the built-in profile
};

/// Throws NoPath when a forced path does not exist, does not fit, or has parameters out of range, and when all need too
/// much memory for the machine.
Choice<kernels::SkylineAlgorithm> choose(const kernels::SkylineShape& shape, const Constraints& constraints,
                                         const Machine& machine, const Statistics& statistics = {});
Choice<kernels::TopKAlgorithm> choose(const kernels::TopKShape& shape, const Constraints& constraints,
                                      const Machine& machine, const Statistics& statistics = {});

/// Why there is no path; the engine turns it into a BindError.
struct NoPath {
  std::string reason;
};

/// Predicted seconds of an algorithm by its cost model, with the given parameters and the defaults of others. Every
/// registered algorithm has a model; a test sees to it.
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

/// Parameters that the planner prices for an algorithm, `given` ones among all of them; at least one set.
std::vector<cost::Values> priced_parameters(std::string_view algorithm, const kernels::SkylineShape& shape,
                                            const cost::Values& given = {});
std::vector<cost::Values> priced_parameters(std::string_view algorithm, const kernels::TopKShape& shape,
                                            const cost::Values& given = {});

/// Sum of count times seconds.
double seconds_of(const cost::Cost& cost);

/// The same without transfers to a device and from it: what the events of a device time.
double seconds_on_device(const cost::Cost& cost);

/// Returns about what choose() would predict, in a fraction of its time: the least of the algorithms that it would
/// price, with default parameters and whatever memory they take.
double expected_seconds(const kernels::SkylineShape& shape, const Machine& machine, const Statistics& statistics = {});
double expected_seconds(const kernels::TopKShape& shape, const Machine& machine, const Statistics& statistics = {});

}  // namespace skyrank::planner
