#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <skyrank/plan.hpp>

#include "planner/choose.hpp"

// The list of all rules: what plans do beyond choosing an algorithm, each of which can be switched off. No rule changes
// an answer, only the time that it takes.
namespace skyrank::exec {

enum class Rule : std::uint8_t {
  statistics,
  device_choice,
  device_parts,
  device_keys,
  device_counts,
  device_groups,
  device_partitions,
  device_scan,
  device_rows,
  device_columns,
  fusion,
  late_filter,
  zone_maps,
  weighted_sum,
  raw_floats,
  packed_ranking,
  skyline_top_k,
  filter_last,
  partition_top_k,
  shared_keys,
  late_columns,
  unit_pruning,
  by_units,
};

struct RuleEntry {
  Rule rule;
  std::string_view name;
  std::string_view summary;
};

/// All rules, in the order of `Rule`, which is that in which plans are made.
inline constexpr std::array kRules = {
    RuleEntry{Rule::statistics, "statistics", "sample the rows before paths are priced"},
    RuleEntry{Rule::device_choice, "device-choice", "compare paths of the GPU with those of the CPU"},
    RuleEntry{Rule::device_parts, "device-parts",
              "answer a table in parts if it is shared by several GPUs, or does not fit the memory of one"},
    RuleEntry{Rule::device_keys, "device-keys", "filter and make keys on the GPU where the kernels run there"},
    RuleEntry{Rule::device_counts, "device-counts",
              "count the rows that dominate others on the GPU, for measures and skybands, if that is faster"},
    RuleEntry{Rule::device_groups, "device-groups", "group and aggregate on the GPU if it has the columns"},
    RuleEntry{Rule::device_partitions, "device-partitions",
              "sort rows by partition on the GPU if their ranking is made there"},
    RuleEntry{Rule::device_scan, "device-scan",
              "filter and rank in one scan on the GPU, without a list of rows or keys if possible"},
    RuleEntry{Rule::device_rows, "device-rows", "keep the rows of a skyline on the GPU for its ranking and its levels"},
    RuleEntry{Rule::device_columns, "device-columns",
              "keep columns that a query copies to the GPU there for later queries over the same table"},
    RuleEntry{Rule::fusion, "fusion", "let a ranking filter and make its keys block by block, in one pass"},
    RuleEntry{Rule::late_filter, "late-filter", "filter only rows whose keys can be among the best"},
    RuleEntry{Rule::zone_maps, "zone-maps", "skip zones of a column whose best value cannot be among the best"},
    RuleEntry{Rule::weighted_sum, "weighted-sum", "make the keys of a weighted sum without interpreting it"},
    RuleEntry{Rule::raw_floats, "raw-floats", "compare the stored floats of a column, without making keys"},
    RuleEntry{Rule::packed_ranking, "packed-ranking", "make one key of ranking terms that fit into 64 bits"},
    RuleEntry{Rule::skyline_top_k, "skyline-top-k",
              "look for the first rows of a skyline among the best rows of its ranking"},
    RuleEntry{Rule::filter_last, "filter-last",
              "filter after the skyline if every row that beats a row that passes, passes too"},
    RuleEntry{Rule::partition_top_k, "partition-top-k",
              "keep the best rows of each partition in one pass, without ordering rows by partition"},
    RuleEntry{Rule::shared_keys, "shared-keys", "keep keys for later queries over the same rows, and use those kept"},
    RuleEntry{Rule::late_columns, "late-columns",
              "read columns that only the answer shows for the answer's rows alone"},
    RuleEntry{Rule::unit_pruning, "unit-pruning",
              "do not read units of a source whose statistics rule the condition out"},
    RuleEntry{Rule::by_units, "by-units",
              "select from units of a source while others are read, the best first, and skip units that cannot hold a "
              "better row"},
};

static_assert([] {
  for (std::size_t i = 0; i < kRules.size(); ++i) {
    if (kRules[i].rule != static_cast<Rule>(i)) return false;
  }
  return true;
}());

std::vector<std::string> rule_names();

constexpr std::string_view name_of(Rule rule) { return kRules[static_cast<std::size_t>(rule)].name; }

/// The rules that a query may use.
class Rules {
 public:
  /// All of them.
  Rules() = default;

  bool has(Rule rule) const { return (off_ >> static_cast<unsigned>(rule) & 1U) == 0; }
  /// Switches a rule off. Returns false if there is no rule of that name.
  bool switch_off(std::string_view name);

 private:
  std::uint32_t off_ = 0;
};

/// The outcomes of the rules in a plan.
class RuleLog {
 public:
  explicit RuleLog(const Rules& rules = {}) : rules_(rules) {}

  const Rules& rules() const { return rules_; }
  void applied(Rule rule, std::string how) { note(rule, true, std::move(how)); }
  void left_out(Rule rule, std::string why) { note(rule, false, std::move(why)); }
  /// Keeps a choice by price; those that explain does not list are not made into text.
  void decided(PricedDecision decision) { decisions_.push_back(std::move(decision)); }
  const std::vector<PricedDecision>& decisions() const { return decisions_; }
  /// Every rule once, in the list's order; those that were not noted did not come up.
  std::vector<RuleOutcome> outcomes() const;

 private:
  void note(Rule rule, bool applied, std::string reason);

  Rules rules_;
  std::vector<RuleOutcome> noted_;  // the last of a rule counts
  std::vector<PricedDecision> decisions_;
};

/// Returns a candidate of a choice, in the words of explain.
PricedCandidate priced_candidate(std::string name, const planner::Price& price, bool taken);

}  // namespace skyrank::exec
