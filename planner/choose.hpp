#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/registry.hpp"

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
  std::string reason;
  std::vector<Considered> others;
};

/// What the machine offers to cost models.
struct Machine {
  int threads = 1;
  bool cuda = false;
};

/// Throws NoPath when a forced path does not exist, does not fit, or has parameters out of range.
Choice<kernels::SkylineAlgorithm> choose(const kernels::SkylineShape& shape, const Constraints& constraints,
                                         const Machine& machine);
Choice<kernels::TopKAlgorithm> choose(const kernels::TopKShape& shape, const Constraints& constraints,
                                      const Machine& machine);

/// Why there is no path; the engine turns it into a BindError.
struct NoPath {
  std::string reason;
};

/// Predicted seconds of an algorithm by its cost model. Every registered algorithm has one; a test sees to it.
double predict(const kernels::SkylineAlgorithm& algorithm, const kernels::SkylineShape& shape, const Machine& machine);
double predict(const kernels::TopKAlgorithm& algorithm, const kernels::TopKShape& shape, const Machine& machine);

}  // namespace skyrank::planner
