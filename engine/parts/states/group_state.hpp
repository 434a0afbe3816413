#pragma once

#include <vector>

#include "engine/parts/states/state_kind.hpp"

namespace skyrank::exec {

/// Groups with the values of their aggregates.
struct FinishedGroups {
  Table table;              ///< a row a group, as `group_by` derives it
  std::vector<RowId> rows;  ///< first rows of the groups in the whole table, ascending
};

/// The state of a query with groups: the first row of each, with the states of its aggregates (aggregate_states.hpp).
class GroupState final : public StateKind {
 public:
  explicit GroupState(const StateContext& context);

  StateRows sink(const Table& part, RowId first_row) const override;
  StateRows combine(const StateRows& all) const override;
  Result finalize(const StateRows& all) const override;

  /// Finalizing in two steps. RowError in the first one is about a sum, and names the first row of a group.
  FinishedGroups finish(const StateRows& all) const;
  /// Does the first one for states of which no two are of one group.
  FinishedGroups finish_combined(StateRows groups) const;
  Result answer(FinishedGroups groups) const;

  /// Returns the state of rows with the columns that the query reads, which have all passed its condition.
  StateRows group(const StateRows& passing) const;

  /// Leaves the groups that can still be in the answer, whatever other groups there are. RowError names the number of a
  /// group.
  FinishedGroups best(const FinishedGroups& groups) const;

 private:
  const StateContext& context_;
  const query::BoundQuery over_states_;
  const query::BoundQuery over_groups_;  // of the table that `group_by` derives
};

}  // namespace skyrank::exec
