#include "engine/plan/rules.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace skyrank::exec {
namespace {

constexpr std::array kRules = {
    RuleEntry{Rule::statistics, "statistics", "look at a sample of the rows before paths are priced"},
    RuleEntry{Rule::device_choice, "device-choice", "compare paths of the GPU with those of the CPU"},
    RuleEntry{Rule::device_parts, "device-parts",
              "answer a table in parts where it lies on several GPUs, or does not fit the memory of one"},
    RuleEntry{Rule::device_keys, "device-keys", "filter and make keys on the GPU where the kernels run there"},
    RuleEntry{Rule::device_groups, "device-groups", "group and aggregate on the GPU where the columns lie there"},
    RuleEntry{Rule::device_partitions, "device-partitions",
              "on the GPU, bring the rows of each partition together where their ranking is made there"},
    RuleEntry{Rule::device_scan, "device-scan",
              "on the GPU, filter and rank in one scan, without a list of rows or keys where that can be"},
    RuleEntry{Rule::device_rows, "device-rows",
              "on the GPU, keep the rows of a skyline there for its ranking and its levels"},
    RuleEntry{Rule::device_columns, "device-columns",
              "keep columns that a query brings to the GPU there for later queries over the same table"},
    RuleEntry{Rule::fusion, "fusion", "let a ranking filter and make its keys block by block, in one pass"},
    RuleEntry{Rule::late_filter, "late-filter", "filter only rows whose keys are in the running"},
    RuleEntry{Rule::zone_maps, "zone-maps", "skip stretches of a column whose best value is out of the running"},
    RuleEntry{Rule::weighted_sum, "weighted-sum", "make the keys of a weighted sum without interpreting it"},
    RuleEntry{Rule::raw_floats, "raw-floats", "compare the floats of a column as they lie, without making keys"},
    RuleEntry{Rule::packed_ranking, "packed-ranking", "make one key of ranking terms that fit into 64 bits"},
    RuleEntry{Rule::skyline_top_k, "skyline-top-k",
              "look for the first of a skyline among the best rows of its ranking"},
    RuleEntry{Rule::filter_last, "filter-last",
              "filter after the skyline where the condition keeps all that beats what it keeps"},
    RuleEntry{Rule::partition_top_k, "partition-top-k",
              "keep the best rows of each partition in one pass, without ordering rows by partition"},
    RuleEntry{Rule::shared_keys, "shared-keys", "keep keys for later queries over the same rows, and use those kept"},
    RuleEntry{Rule::late_columns, "late-columns",
              "of columns that only the answer shows, read no more of a source than the rows of the answer"},
    RuleEntry{Rule::unit_pruning, "unit-pruning",
              "do not read units of a source whose statistics rule the condition out"},
    RuleEntry{
        Rule::by_units, "by-units",
        "select from units of a source while others are read, the best first, and skip those that cannot compete"},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRules.size(); ++i) {
    if (kRules[i].rule != static_cast<Rule>(i)) return false;
  }
  return true;
}
static_assert(in_order());

}  // namespace

std::span<const RuleEntry> all_rules() { return kRules; }

std::vector<std::string> rule_names() {
  std::vector<std::string> names;
  for (const RuleEntry& entry : kRules) names.emplace_back(entry.name);
  return names;
}

std::string_view name_of(Rule rule) { return kRules[static_cast<std::size_t>(rule)].name; }

bool Rules::switch_off(std::string_view name) {
  const auto* const found = std::ranges::find(kRules, name, &RuleEntry::name);
  if (found == kRules.end()) return false;
  off_ |= 1U << static_cast<unsigned>(found->rule);
  return true;
}

void RuleLog::note(Rule rule, bool applied, std::string reason) {
  noted_.push_back({std::string(name_of(rule)), applied, std::move(reason)});
}

std::vector<RuleOutcome> RuleLog::outcomes() const {
  std::vector<RuleOutcome> all;
  for (const RuleEntry& entry : kRules) {
    const auto last = std::find_if(noted_.rbegin(), noted_.rend(),
                                   [&](const RuleOutcome& outcome) { return outcome.rule == entry.name; });
    if (!rules_.has(entry.rule)) {
      all.push_back({std::string(entry.name), false, "switched off"});
    } else if (last != noted_.rend()) {
      all.push_back(*last);
    } else {
      all.push_back({std::string(entry.name), false, ""});
    }
  }
  return all;
}

}  // namespace skyrank::exec
