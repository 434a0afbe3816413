#pragma once

#include <vector>

#include "engine/parts/states/state_kind.hpp"

namespace skyrank::exec {

/// The state of a query with groups: the first row of each, with the states of its aggregates (aggregate_states.hpp).
class GroupState final : public StateKind {
 public:
  explicit GroupState(const StateContext& context);

  StateRows sink(const Table& part, RowId first_row) const override;
  StateRows combine(const StateRows& all) const override;
  Result finalize(const StateRows& all) const override;

  /// Finalizing in two steps, of states of which no two are of one group: the first one returns the table that
  /// `group_by` derives, with the first rows of the groups, ascending. RowError in it is about a sum, and names the
  /// first row of a group.
  StateRows finish(StateRows groups) const;
  Result answer(const StateRows& finished) const;

  /// Returns the state of rows with the columns that the query reads, which have all passed its condition.
  StateRows group(const StateRows& passing) const;

  /// Leaves the groups that can still be in the answer, whatever other groups there are. RowError names the number of a
  /// group.
  StateRows best(const StateRows& finished) const;

 private:
  const StateContext& context_;
  const query::BoundQuery over_states_;
  const query::BoundQuery over_groups_;  // of the table that `group_by` derives
};

}  // namespace skyrank::exec
