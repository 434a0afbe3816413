#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/registry.hpp"
#include "planner/cost/terms.hpp"
#include "planner/profile.hpp"
#include "planner/statistics.hpp"

// Chooses a path for a problem: every registered algorithm that supports it is priced by its cost model, the cheapest
// wins, and the others are kept with the reason they lost.
namespace skyrank::planner {

/// What the caller insists on.
struct Constraints {
  std::optional<kernels::Device> device;
  std::vector<std::string> algorithms;  ///< forced names, of any problem kind; those of other kinds are ignored
  std::map<std::string, std::int64_t, std::less<>> parameters;
};

struct Considered {
  std::string algorithm;
  std::optional<double> seconds;  ///< none: it does not support the problem
  std::string reason;             ///< why it lost
};

template <class Algorithm>
struct Choice {
  const Algorithm* algorithm = nullptr;
  kernels::ParameterValues parameters;
  double seconds = 0;  ///< predicted
  double bytes = 0;    ///< of temporary memory, predicted
  std::string reason;
  std::vector<Considered> others;
};

/// What the machine offers to cost models.
struct Machine {
  int threads = 1;
  bool cuda = false;
  double host_bytes = std::numeric_limits<double>::infinity();    ///< of memory that a query may take
  double device_bytes = std::numeric_limits<double>::infinity();  ///< the same on the GPU
  const Profile* profile = nullptr;                               ///< null: the built-in one
};

/// Throws NoPath when a forced path does not exist, does not fit, or has parameters out of range.
Choice<kernels::SkylineAlgorithm> choose(const kernels::SkylineShape& shape, const Constraints& constraints,
                                         const Machine& machine, const Statistics& statistics = {});
Choice<kernels::TopKAlgorithm> choose(const kernels::TopKShape& shape, const Constraints& constraints,
                                      const Machine& machine, const Statistics& statistics = {});

/// Why there is no path; the engine turns it into a BindError.
struct NoPath {
  std::string reason;
};

/// Predicted seconds of an algorithm by its cost model. Every registered algorithm has one; a test sees to it.
double predict(const kernels::SkylineAlgorithm& algorithm, const kernels::SkylineShape& shape, const Machine& machine,
               const Statistics& statistics = {});
double predict(const kernels::TopKAlgorithm& algorithm, const kernels::TopKShape& shape, const Machine& machine,
               const Statistics& statistics = {});

/// What the model of an algorithm says, each term with its seconds from the machine's profile.
cost::Cost cost_of(const kernels::SkylineAlgorithm& algorithm, const kernels::SkylineShape& shape,
                   const Machine& machine, const Statistics& statistics = {});
cost::Cost cost_of(const kernels::TopKAlgorithm& algorithm, const kernels::TopKShape& shape, const Machine& machine,
                   const Statistics& statistics = {});

/// Sum of count times seconds.
double seconds_of(const cost::Cost& cost);

}  // namespace skyrank::planner
