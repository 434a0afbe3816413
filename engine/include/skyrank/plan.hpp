#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/export.hpp>

// Declares the tree that `explain` shows: operators, what is expected of them, and what was measured.
namespace skyrank {
inline namespace v0 {

/// The work of a run, summed over its kernels.
struct SKYRANK_EXPORT Work {
  std::uint64_t dominance_tests = 0;  ///< comparisons of two rows in all dimensions
  std::uint64_t mask_tests = 0;       ///< comparisons of two rows by masks
  std::uint64_t bytes_read = 0;       ///< bytes of keys and intermediate arrays that were read
  std::uint64_t bytes_written = 0;    ///< bytes of intermediate arrays that were written
  std::uint64_t candidates = 0;       ///< rows that passed the first selection

  /// 3 * MT + (6d + 4) * DT: instructions by Definition 3 of Bøgh, Chester, Assent, "Work-Efficient Parallel Skyline
  /// Computation for the GPU", VLDB 2015.
  std::uint64_t instructions(int dims) const {
    return 3 * mask_tests + (6 * static_cast<std::uint64_t>(dims) + 4) * dominance_tests;
  }
  /// Adds the counts of another run.
  Work& operator+=(const Work& other);
  bool operator==(const Work&) const = default;
};

/// Bytes of columns, keys, lists of rows and answers that were copied between the host and a GPU; without the few
/// numbers that control kernels.
struct Transferred {
  std::uint64_t to_device = 0;    ///< bytes from the host to the GPU
  std::uint64_t from_device = 0;  ///< bytes from the GPU to the host

  bool operator==(const Transferred&) const = default;
};

/// A path that was considered and lost.
struct Alternative {
  std::string algorithm;    ///< name in the registry
  double predicted_ms = 0;  ///< 0 if it does not apply at all
  std::string reason;       ///< why it lost
  /// The same at high, where more rows come than expected; 0 where it was not priced (RunOptions::candidates).
  double predicted_ms_high = 0;
};

/// One of the ways to run a part of a query that a choice by price is made from.
struct PricedCandidate {
  std::string name;              ///< an algorithm of the registry, or the way in words
  bool taken = false;            ///< true for the one that the plan takes
  double predicted_ms = 0;       ///< for the expected numbers of rows
  double predicted_ms_high = 0;  ///< the same where more rows come, within the doubt of the sample

  bool operator==(const PricedCandidate&) const = default;
};

/// A choice by price: the cheapest candidate, unless another one is as good (within a tenth) and at least twice as good
/// at high.
struct PricedDecision {
  std::string subject;                      ///< the operator whose algorithm is chosen, or the rule that decides
  std::vector<PricedCandidate> candidates;  ///< one of them is taken

  bool operator==(const PricedDecision&) const = default;
};

/// The outcome of a rule of the planner (`skyrank::rules()` lists them) in a plan.
struct RuleOutcome {
  std::string rule;      ///< name of the rule
  bool applied = false;  ///< true if the plan follows the rule
  std::string reason;    ///< how it was applied, or why not; empty where the query has no use for it

  bool operator==(const RuleOutcome&) const = default;
};

/// One operator of a plan.
struct PlanNode {
  std::string op;                 ///< "scan", "filter", "group", "partition", "keys", "skyline", "top-k", "gather", ...
  std::string detail;             ///< the parts of the query that it works on, in its words
  std::string algorithm;          ///< name in the registry; empty for operators without a choice
  std::string device;             ///< "cpu" or "cuda"; empty for operators without a choice
  std::string reason;             ///< why this path
  double predicted_rows = 0;      ///< rows that it gives
  double predicted_rows_low = 0;  ///< a bound of these: what comes is within both in about 95 of 100 cases where rows
                                  ///< were sampled, and else at least what must come
  double predicted_rows_high = 0;                                ///< the upper bound; without a sample what may come
  double predicted_ms = 0;                                       ///< its own time
  double predicted_bytes = 0;                                    ///< temporary memory
  std::optional<std::int64_t> measured_rows;                     ///< after a run
  std::optional<double> measured_ms;                             ///< after a run
  std::vector<std::pair<std::string, std::int64_t>> parameters;  ///< values of the algorithm's parameters
  std::vector<Alternative> alternatives;                         ///< paths that lost
  std::vector<std::pair<std::string, double>> statistics;        ///< sampled values behind the choice; empty: none
  std::vector<RuleOutcome> rules;         ///< every rule once, for the whole plan; at the root only
  std::vector<PricedDecision> decisions;  ///< every choice by price, if RunOptions::candidates is set; at the root only
  std::optional<Work> work;               ///< after a run that counted it
  std::optional<Transferred> transferred;  ///< after a run that used a GPU
  std::vector<PlanNode> children;          ///< inputs
  std::string fallback;  ///< runs instead where the guess behind the node turns out wrong; empty: no guess
  std::string guard;     ///< the work after which another path takes over, which one, and after a run whether it did
                         ///< and what that spared; empty: no guard
};

/// Returns the plan as an indented tree for a terminal.
SKYRANK_EXPORT std::string to_string(const PlanNode& plan);

}  // namespace v0
}  // namespace skyrank
