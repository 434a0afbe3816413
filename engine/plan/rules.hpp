#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <skyrank/plan.hpp>

// The list of all rules: what plans do beyond choosing an algorithm, each of which can be switched off. No rule changes
// an answer, only the time that it takes.
namespace skyrank::exec {

enum class Rule : std::uint8_t {
  statistics,
  device_choice,
  device_parts,
  device_keys,
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

/// In the order of `Rule`, which is that in which plans are made.
std::span<const RuleEntry> all_rules();

std::vector<std::string> rule_names();

std::string_view name_of(Rule rule);

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
  /// Every rule once, in the list's order; those that were not noted did not come up.
  std::vector<RuleOutcome> outcomes() const;

 private:
  void note(Rule rule, bool applied, std::string reason);

  Rules rules_;
  std::vector<RuleOutcome> noted_;  // the last of a rule counts
};

}  // namespace skyrank::exec
