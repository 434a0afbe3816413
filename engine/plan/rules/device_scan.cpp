#include "engine/keys/fused_keys.hpp"
#include "engine/plan/rules/rewrites.hpp"

namespace skyrank::exec {

void try_device_scan(PhysicalPlan& plan, const Table& table) {
  if (!plan.on_device || table.num_rows() == 0 || !plan.rules.rules().has(Rule::device_scan)) return;
  if (!FusedKeys::fits(plan.query, table)) {
    return plan.rules.left_out(Rule::device_scan, "the query is more than what a scan of columns can do");
  }
  if (FusedKeys::puts_null_first(plan.query, table)) {
    return plan.rules.left_out(Rule::device_scan, "NULL comes first, and a scan on the GPU puts it last");
  }
  plan.strategy = Strategy::device_scan;
  plan.fallback = Strategy::stages;
  plan.operators.order->fallback = "the operators one by one, where the columns do not allow a scan";
  plan.rules.applied(Rule::device_scan, "one scan filters and ranks");
}

}  // namespace skyrank::exec
