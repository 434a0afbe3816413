#include "engine/plan/rules.hpp"

#include <algorithm>
#include <utility>

namespace skyrank::exec {

std::vector<std::string> rule_names() {
  std::vector<std::string> names;
  for (const RuleEntry& entry : kRules) names.emplace_back(entry.name);
  return names;
}

bool Rules::switch_off(std::string_view name) {
  const auto* const found = std::ranges::find(kRules, name, &RuleEntry::name);
  if (found == kRules.end()) return false;
  off_ |= 1U << static_cast<unsigned>(found->rule);
  return true;
}

void RuleLog::note(Rule rule, bool applied, std::string reason) {
  noted_.push_back({std::string(name_of(rule)), applied, std::move(reason)});
}

PricedCandidate priced_candidate(std::string name, const planner::Price& price, bool taken) {
  return {std::move(name), taken, price.expected * 1e3, price.high * 1e3};
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
