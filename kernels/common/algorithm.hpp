#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
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

/// An entry of the registry: an algorithm for one kind of problem.
template <class Kind>
struct AlgorithmEntry {
  using Shape = typename Kind::Shape;
  using Problem = typename Kind::Problem;
  using Solution = typename Kind::Solution;
  static constexpr std::string_view problem = Kind::kName;

  std::string_view name;
  std::string_view summary;
  std::string_view source;  ///< paper and section
  Device device = Device::cpu;
  std::span<const Parameter> parameters;
  Support (*supports)(const Shape&) = nullptr;
  Solution (*run)(const Problem&, const ParameterValues&, const Context&) = nullptr;
  typename Kind::Variants variants = {};  ///< further ways to run; null where the algorithm has none
};

namespace cuda::skyline {
struct SkylineRows;
}  // namespace cuda::skyline

/// Skylines.
struct SkylineKind {
  using Shape = SkylineShape;
  using Problem = SkylineProblem;
  using Solution = SkylineSolution;
  static constexpr std::string_view kName = "skyline";

  struct Variants {
    /// Runs like `run`, on the process's own context; only the size of the answer comes to the host.
    cuda::skyline::SkylineRows (*resident)(const SkylineProblem&, const ParameterValues&, const Context&,
                                           bool with_others) = nullptr;
  };
};

/// Exchanges bounds with runs over the other parts of one problem: takes a key that at least k rows of this part do not
/// exceed, and returns the least of such keys of all parts.
using BoundExchange = std::function<std::uint64_t(std::uint64_t key)>;

struct ScanProblem;

/// Rankings with a limit.
struct TopKKind {
  using Shape = TopKShape;
  using Problem = TopKProblem;
  using Solution = TopKSolution;
  static constexpr std::string_view kName = "top-k";

  struct Variants {
    /// Finds the k best of the rows that pass a filter, or all if they are fewer, in one pass over columns without keys
    /// in memory. Returns nothing if the algorithm's guess was wrong, a row fails, or the algorithm prefers keys.
    std::optional<TopKSolution> (*scan)(const ScanProblem&, const ParameterValues&, const Context&) = nullptr;
    /// Runs over a part of a problem of one key column. Calls the exchange at most once, and leaves rows of greater
    /// keys than that returned out.
    TopKSolution (*part)(const TopKProblem&, const ParameterValues&, const Context&, const BoundExchange&) = nullptr;
  };
};

using SkylineAlgorithm = AlgorithmEntry<SkylineKind>;
using TopKAlgorithm = AlgorithmEntry<TopKKind>;

}  // namespace skyrank::kernels
