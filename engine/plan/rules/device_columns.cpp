#include "engine/plan/rules/device_columns.hpp"

#include <string>

namespace skyrank::exec {

void share_device_columns(PhysicalPlan& plan, const Table& /*table*/) {
  if (!plan.machine.cuda) return;
  if (plan.sharers == 0) return plan.rules.left_out(Rule::device_columns, "the engine was told to keep none");
  if (!plan.on_device) return plan.rules.left_out(Rule::device_columns, "keys are not made on the GPU");
  plan.rules.applied(Rule::device_columns, "the columns stay on the GPU; their way there is priced as shared by " +
                                               std::to_string(plan.sharers) + " queries");
}

}  // namespace skyrank::exec
