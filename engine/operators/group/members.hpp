#pragma once

#include <cstdint>

#include "engine/operators/group/slots/slot_states.hpp"

namespace skyrank::exec {

/// The rows of a group.
struct GroupMembers {
  std::int64_t first = -1;
  std::int64_t count = 0;
};

/// Counts the positions of each slot, and finds the first one.
SlotStates<GroupMembers> find_members(const RowSlots& slots);

}  // namespace skyrank::exec
