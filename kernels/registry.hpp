#pragma once

#include <span>
#include <string_view>

#include "kernels/common/parameters.hpp"
#include "kernels/common/problem.hpp"

// The list of all algorithms that are built. Planner, benchmark, experiments and tests walk it; none of them names an
// algorithm by hand. Adding an algorithm: one file with one entry, its line in registry.cpp (cuda/registry.cpp for
// GPUs; under SKYRANK_PAPERS, with its name in papers/names.cpp, if no best path needs it), one cost model in planner/.
namespace skyrank::kernels {

struct SkylineAlgorithm {
  using Shape = SkylineShape;
  using Problem = SkylineProblem;
  using Solution = SkylineSolution;
  static constexpr std::string_view problem = "skyline";

  std::string_view name;
  std::string_view summary;
  std::string_view source;  ///< paper and section
  Device device = Device::cpu;
  std::span<const Parameter> parameters;
  Support (*supports)(const SkylineShape&) = nullptr;
  SkylineSolution (*run)(const SkylineProblem&, const ParameterValues&, const Context&) = nullptr;
};

struct TopKAlgorithm {
  using Shape = TopKShape;
  using Problem = TopKProblem;
  using Solution = TopKSolution;
  static constexpr std::string_view problem = "top-k";

  std::string_view name;
  std::string_view summary;
  std::string_view source;
  Device device = Device::cpu;
  std::span<const Parameter> parameters;
  Support (*supports)(const TopKShape&) = nullptr;
  TopKSolution (*run)(const TopKProblem&, const ParameterValues&, const Context&) = nullptr;
};

std::span<const SkylineAlgorithm* const> skyline_algorithms();
std::span<const TopKAlgorithm* const> topk_algorithms();

}  // namespace skyrank::kernels
