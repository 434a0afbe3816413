#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "kernels/cuda/registry.hpp"

// Runs of single top-k algorithms of the GPU, with their work counted.
namespace skyrank::kernels::tests {

using Settings = std::map<std::string, std::int64_t, std::less<>>;

inline const TopKAlgorithm& algorithm_named(std::string_view name) {
  for (const TopKAlgorithm* const algorithm : cuda::topk_algorithms()) {
    if (algorithm->name == name) return *algorithm;
  }
  throw std::out_of_range(std::string(name));
}

inline TopKSolution run(const TopKAlgorithm& algorithm, const TopKProblem& problem, const Settings& settings = {}) {
  return algorithm.run(problem, {algorithm.parameters, settings}, {.count_work = true, .stop = {}});
}

}  // namespace skyrank::kernels::tests
