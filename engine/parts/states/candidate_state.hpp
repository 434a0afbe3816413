#pragma once

#include <vector>

#include "engine/parts/states/state_kind.hpp"

namespace skyrank::exec {

/// Returns the positions of the candidates that a query has in a table to which it is bound (candidates.hpp),
/// ascending.
std::vector<RowId> candidates_of(const StateContext& context, const query::BoundQuery& query, const Table& table);

/// The state of a query without groups: its candidates, with the columns that the query reads.
class CandidateState final : public StateKind {
 public:
  explicit CandidateState(const StateContext& context);

  StateRows sink(const Table& part, RowId first_row) const override;
  StateRows combine(const StateRows& all) const override;
  Result finalize(const StateRows& all) const override;

 private:
  const StateContext& context_;
  const query::BoundQuery over_states_;
};

}  // namespace skyrank::exec
