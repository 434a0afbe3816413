#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/common/problem.hpp"

// Algorithms as the registry lists them, with their parameters.
namespace skyrank::kernels {

/// An integer parameter of an algorithm, within [min, max].
struct Parameter {
  std::string_view name;
  std::string_view description;
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::int64_t default_value = 0;
};

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

/// Empty when `values` fit the declared parameters of an algorithm, else what is wrong with the first that does not.
std::string check_parameters(std::span<const Parameter> declared,
                             const std::map<std::string, std::int64_t, std::less<>>& values);

/// An algorithm for skylines.
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

/// An algorithm for rankings with a limit.
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

}  // namespace skyrank::kernels
