#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/export.hpp>

namespace skyrank {

/// What a run did, summed over its kernels.
struct SKYRANK_EXPORT Work {
  std::uint64_t dominance_tests = 0;
  std::uint64_t mask_tests = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t candidates = 0;

  /// 3 * MT + (6d + 4) * DT: instructions by Definition 3 of Bøgh, Chester, Assent, "Work-Efficient Parallel Skyline
  /// Computation for the GPU", VLDB 2015.
  std::uint64_t instructions(int dims) const {
    return 3 * mask_tests + (6 * static_cast<std::uint64_t>(dims) + 4) * dominance_tests;
  }
  Work& operator+=(const Work& other);
  bool operator==(const Work&) const = default;
};

/// Bytes of columns, keys, lists of rows and answers between the host's memory and that of a GPU; without the single
/// numbers with which the host steers kernels.
struct Transferred {
  std::uint64_t to_device = 0;
  std::uint64_t from_device = 0;

  bool operator==(const Transferred&) const = default;
};

/// A path that was considered and lost.
struct Alternative {
  std::string algorithm;
  double predicted_ms = 0;  ///< 0 where it does not apply at all
  std::string reason;
};

/// What became of a rule of the planner (`skyrank::rules()` lists them) in a plan.
struct RuleOutcome {
  std::string rule;
  bool applied = false;
  std::string reason;  ///< how it was applied, or why not; empty where the query has no use for it

  bool operator==(const RuleOutcome&) const = default;
};

/// One operator of a plan.
struct PlanNode {
  std::string op;         ///< "scan", "filter", "group", "partition", "keys", "skyline", "top-k", "gather", ...
  std::string detail;     ///< what it works on, in the words of the query
  std::string algorithm;  ///< of the registry; empty for operators that have no choice
  std::string device;
  std::string reason;  ///< why this path
  double predicted_rows = 0;
  double predicted_ms = 0;
  double predicted_bytes = 0;                 ///< of temporary memory
  std::optional<std::int64_t> measured_rows;  ///< after a run
  std::optional<double> measured_ms;
  std::vector<std::pair<std::string, std::int64_t>> parameters;
  std::vector<Alternative> alternatives;
  std::vector<std::pair<std::string, double>> statistics;  ///< that the choice rests on; empty: none
  std::vector<RuleOutcome> rules;                          ///< of the whole plan, every rule once: at the root only
  std::optional<Work> work;
  std::optional<Transferred> transferred;  ///< after a run that used a GPU
  std::vector<PlanNode> children;          ///< inputs
};

/// The plan as an indented tree for a terminal.
SKYRANK_EXPORT std::string to_string(const PlanNode& plan);

}  // namespace skyrank
