#include "engine/plan/rules.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace skyrank::exec {
namespace {

constexpr std::array kRules = {
    RuleEntry{Rule::statistics, "statistics", "sample the rows before paths are priced"},
    RuleEntry{Rule::device_choice, "device-choice", "compare paths of the GPU with those of the CPU"},
    RuleEntry{Rule::device_parts, "device-parts",
              "answer a table in parts if it is shared by several GPUs, or does not fit the memory of one"},
    RuleEntry{Rule::device_keys, "device-keys", "filter and make keys on the GPU where the kernels run there"},
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
