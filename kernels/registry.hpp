#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "kernels/common/problem.hpp"

// The list of all algorithms. Planner, benchmark, experiments and tests walk it; none of them names an algorithm by
// hand. Adding an algorithm: one file with one entry, its line in registry.cpp, one cost model in planner/.
namespace skyrank::kernels {

/// Values for the parameters of one algorithm by name; what is absent has its default.
class ParameterValues {
 public:
  ParameterValues() = default;
  /// `values` were checked by `check_parameters`.
  ParameterValues(std::span<const Parameter> declared, std::map<std::string, std::int64_t, std::less<>> values)
      : declared_(declared), values_(std::move(values)) {}

  std::int64_t operator[](std::string_view name) const;

 private:
  std::span<const Parameter> declared_;
  std::map<std::string, std::int64_t, std::less<>> values_;
};

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

/// Empty when `values` fit the declared parameters of an algorithm, else what is wrong with the first that does not.
std::string check_parameters(std::span<const Parameter> declared,
                             const std::map<std::string, std::int64_t, std::less<>>& values);

}  // namespace skyrank::kernels
