#include "engine/parts/states/group_state.hpp"

#include <utility>
#include <vector>

#include "engine/operators/gather/gather.hpp"
#include "engine/operators/group/group.hpp"
#include "engine/parts/states/aggregate_states.hpp"
#include "engine/parts/states/candidate_state.hpp"
#include "engine/parts/states/candidates.hpp"
#include "engine/parts/states/global_rows.hpp"

namespace skyrank::exec {

GroupState::GroupState(const StateContext& context)
    : context_(context),
      over_states_(query::over_columns_read(context.query)),
      over_groups_(query_of_groups(context.query)) {}

StateRows GroupState::sink(const Table& part, RowId first_row) const {
  const auto states = [&] {
    std::vector<RowId> passing;
    Rows rows{part.num_rows(), nullptr};
    if (context_.query.condition) {
      passing = candidates_of(context_, context_.query, part);
      rows = {static_cast<std::int64_t>(passing.size()), passing.data()};
    }
    return group_states(context_.query, part, rows, first_row);
  };
  return with_global_rows(states, [&](RowId row) { return first_row + row; });
}

StateRows GroupState::combine(const StateRows& all) const { return merge_states(over_states_, all); }

Result GroupState::finalize(const StateRows& all) const { return answer(finish(combine(all))); }

StateRows GroupState::group(const StateRows& passing) const {
  return with_global_rows(
      [&] {
        StateRows states = group_states(over_states_, passing.columns, {passing.columns.num_rows(), nullptr}, 0);
        states.columns = placed_states(over_states_, states.columns, passing.rows);
        for (RowId& row : states.rows) row = passing.global(row);
        return states;
      },
      [&](RowId row) { return passing.global(row); });
}

StateRows GroupState::finish(StateRows groups) const {
  Table finished = finish_states(over_states_, groups);
  if (over_states_.group->columns.empty() && groups.rows.empty()) {
    return {{kNoRow}, group_without_rows(*over_states_.group, finished)};
  }
  return {std::move(groups.rows), std::move(finished)};
}

Result GroupState::answer(const StateRows& finished) const {
  Result result = context_.run(context_.context, over_groups_, finished.columns);
  renumber(over_groups_, finished, result);
  return result;
}

StateRows GroupState::best(const StateRows& finished) const {
  const std::vector<RowId> chosen = candidates_of(context_, over_groups_, finished.columns);
  StateRows best{{}, gather(finished.columns, chosen)};
  for (const RowId group : chosen) best.rows.push_back(finished.global(group));
  return best;
}

}  // namespace skyrank::exec
