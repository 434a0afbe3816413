#pragma once

#include "engine/parts/states/state_kind.hpp"

namespace skyrank::exec {

/// The state of a query with groups: the first row of each, with the states of its aggregates (aggregate_states.hpp).
class GroupState final : public StateKind {
 public:
  explicit GroupState(const StateContext& context) : context_(context) {}

  StateRows sink(const Table& part, RowId first_row) const override;
  StateRows combine(const StateRows& all) const override;
  Result finalize(const StateRows& all) const override;

 private:
  const StateContext& context_;
};

}  // namespace skyrank::exec
