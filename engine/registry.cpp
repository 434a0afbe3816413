#include <skyrank/registry.hpp>

#include "engine/plan/rules.hpp"
#include "kernels/registry.hpp"

namespace skyrank {
inline namespace v0 {

namespace {

template <class Algorithm>
AlgorithmInfo info_of(const Algorithm& algorithm) {
  AlgorithmInfo info{.name = std::string(algorithm.name),
                     .problem = std::string(Algorithm::problem),
                     .device = algorithm.device == kernels::Device::cpu ? "cpu" : "cuda",
                     .summary = std::string(algorithm.summary),
                     .source = std::string(algorithm.source),
                     .parameters = {}};
  for (const kernels::Parameter& parameter : algorithm.parameters) {
    info.parameters.push_back({std::string(parameter.name), std::string(parameter.description), parameter.min,
                               parameter.max, parameter.default_value});
  }
  return info;
}

}  // namespace

std::vector<RuleInfo> rules() {
  std::vector<RuleInfo> all;
  for (const exec::RuleEntry& entry : exec::kRules) {
    all.push_back({std::string(entry.name), std::string(entry.summary)});
  }
  return all;
}

std::vector<AlgorithmInfo> algorithms() {
  std::vector<AlgorithmInfo> all;
  for (const auto* algorithm : kernels::skyline_algorithms()) all.push_back(info_of(*algorithm));
  for (const auto* algorithm : kernels::topk_algorithms()) all.push_back(info_of(*algorithm));
  return all;
}

}  // namespace v0
}  // namespace skyrank
