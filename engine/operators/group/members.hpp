#pragma once

#include <cstdint>
#include <span>

#include "engine/operators/group/slots/classes.hpp"
#include "engine/operators/group/slots/slot_states.hpp"

// Counts the rows of each group and finds the first one.
namespace skyrank::exec {

/// The rows of a group.
struct GroupMembers {
  std::int64_t first = -1;
  std::int64_t count = 0;
};

/// Counts the positions of each slot, and finds the first one.
SlotStates<GroupMembers> find_members(const RowSlots& slots);

/// Counts the values of each slot that are not NULL.
SlotStates<std::int64_t> count_values(const RowSlots& slots, const Column& values);

/// Rows with equal values in some columns.
struct RowGroups {
  RowSlots slots;
  SlotStates<GroupMembers> members;
  SlotOrder order;           ///< by their first rows
  Vector<RowId> first_rows;  ///< per group of the order: its first row in the table
};

/// Finds the groups of rows that are equal in `columns`.
RowGroups find_groups(const Table& table, std::span<const int> columns, const Rows& rows,
                      Numbering numbering = Numbering::by_values);

}  // namespace skyrank::exec
