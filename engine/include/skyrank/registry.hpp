#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <skyrank/export.hpp>

// The choices that plans are made of: the algorithms of this build, and the rules of the planner.
namespace skyrank {
inline namespace v0 {

/// An algorithm of the registry, for people and programs that list them.
struct AlgorithmInfo {
  /// A parameter of the algorithm.
  struct Parameter {
    std::string name;                ///< name in ForcedPath::parameters
    std::string description;         ///< one line
    std::int64_t min = 0;            ///< least value
    std::int64_t max = 0;            ///< greatest value
    std::int64_t default_value = 0;  ///< value unless the planner or the caller sets one
  };
  std::string name;                   ///< name in ForcedPath::algorithms
  std::string problem;                ///< "skyline" or "top-k"
  std::string device;                 ///< "cpu" or "cuda"
  std::string summary;                ///< one line
  std::string source;                 ///< the paper and section it comes from
  std::vector<Parameter> parameters;  ///< empty if there are none
};

/// Returns all registered algorithms.
SKYRANK_EXPORT std::vector<AlgorithmInfo> algorithms();

/// A rule of the planner: something that plans do where it pays, beyond the choice of an algorithm. Answers never
/// depend on rules.
struct RuleInfo {
  std::string name;     ///< name in ForcedPath::without
  std::string summary;  ///< one line
};

/// Returns all rules, in the order in which plans are made.
SKYRANK_EXPORT std::vector<RuleInfo> rules();

}  // namespace v0
}  // namespace skyrank
