#include <string>

#include "engine/operators/rank/rank.hpp"
#include "engine/operators/rank/rank_plan.hpp"
#include "engine/plan/rules/rewrites.hpp"

namespace skyrank::exec {

void pack_ranking(PhysicalPlan& plan, const Table& /*table*/) {
  const std::size_t terms = plan.query.ranking.size();
  if (terms < 2) return;
  const std::size_t keys = packed_widths(ranking_widths(plan), packs_ranking(plan)).size();
  if (keys < terms) {
    plan.rules.applied(Rule::packed_ranking, std::to_string(keys) + " for " + std::to_string(terms) + " terms");
  } else {
    plan.rules.left_out(Rule::packed_ranking, "no two neighbouring terms fit into 64 bits");
  }
}

}  // namespace skyrank::exec
