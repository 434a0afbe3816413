#include "engine/parts/states/state_kind.hpp"

#include "engine/parts/states/candidate_state.hpp"
#include "engine/parts/states/group_state.hpp"

namespace skyrank::exec {

std::unique_ptr<const StateKind> kind_of(const StateContext& context) {
  if (!context.query.group) return std::make_unique<CandidateState>(context);
  return std::make_unique<GroupState>(context);
}

}  // namespace skyrank::exec
