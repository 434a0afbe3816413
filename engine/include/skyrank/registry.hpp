#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <skyrank/export.hpp>

// What plans can be made of: the algorithms of this build and the rules of the planner.
namespace skyrank {

/// One row of the registry, for people and programs that want to see what there is.
struct AlgorithmInfo {
  struct Parameter {
    std::string name;
    std::string description;
    std::int64_t min = 0;
    std::int64_t max = 0;
    std::int64_t default_value = 0;
  };
  std::string name;
  std::string problem;  ///< "skyline" or "top-k"
  std::string device;   ///< "cpu" or "cuda"
  std::string summary;
  std::string source;  ///< the paper and section it comes from
  std::vector<Parameter> parameters;
};

SKYRANK_EXPORT std::vector<AlgorithmInfo> algorithms();

/// A rule of the planner: something that plans do where it pays, beyond the choice of an algorithm. Answers never
/// depend on rules.
struct RuleInfo {
  std::string name;
  std::string summary;
};

/// All rules, in the order in which plans are made.
SKYRANK_EXPORT std::vector<RuleInfo> rules();

}  // namespace skyrank
