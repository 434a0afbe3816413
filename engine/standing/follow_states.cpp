#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/operators/gather/gather.hpp"
#include "engine/parts/run_query.hpp"
#include "engine/parts/states/global_rows.hpp"
#include "engine/parts/states/unite.hpp"
#include "engine/row_error.hpp"
#include "engine/standing/standing_query.hpp"

// Standing queries that follow their rows by states: candidates or groups.
namespace skyrank::exec {
/// Adds rows where only those are kept that can still be in the answer.
void Standing::append(Step& step, const QueryContext& context, const Table& rows) const {
  if (step.view.following == Following::front) return append_front(step, context, rows);
  const StateContext of_state{context, format_.bound(), run_table};
  const auto kind = kind_of(of_state);
  StateRows added = kind->sink(rows, step.view.next_id);
  const bool is_first = step.kept == nullptr;
  if (is_first || !added.rows.empty()) {
    StatePtr all = counted(is_first ? std::move(added) : kind->combine(joined({&step.kept->rows, &added})));
    set_answer(step, kind->finalize(all->rows));
    step.kept = std::move(all);
  }
  step.view.next_id += rows.num_rows();
  step.view.rows = static_cast<std::int64_t>(step.kept->rows.rows.size());
}

/// Changes leaves, and answers from what they have then.
void Standing::change_rows(Step& step, const QueryContext& context, const Edits& edits, const NewRows& updates,
                           const NewRows& inserted) const {
  const StateContext of_state{context, format_.bound(), run_table};
  const auto kind = kind_of(of_state);
  const auto apply = [&] {
    const bool has_front = step.view.following == Following::front;
    const bool recomputes = step.view.following == Following::all_rows;
    const bool has_states = !has_front && !recomputes;
    step.edit.emplace(tree_, has_states ? kind.get() : nullptr, step.view.following == Following::groups);
    step.edit->apply(edits, updates, inserted);
    if (has_front) return change_front(step, context, edits, updates, inserted);
    const StatePtr root = recomputes ? nullptr : step.edit->root();
    if (root == nullptr) return answer_all_rows(step, context);
    if (!step.edit->is_root_new()) return;
    Result result = kind->finalize(root->rows);
    if (step.view.following == Following::groups) {
      std::vector<RowId> ids;
      for (const RowId row : result.rows) {
        const std::vector<RowId>& of_leaf = step.edit->leaf(tree_.leaf_of(row))->ids;
        ids.push_back(of_leaf[static_cast<std::size_t>(row - of_leaf.front())]);
      }
      set_rows(format_.bound(), std::move(ids), result);
    }
    set_answer(step, std::move(result));
  };
  try {
    apply();
  } catch (const RowFailure& failure) {
    // Over all rows, the message names the one that fails first, or there is no error.
    if (step.view.following == Following::all_rows) throw;
    step.view.following = Following::all_rows;
    step.view.reason = failure.what();
    step.changes = {};
    step.front.reset();
    step.view.skyline.reset();
    apply();
    step.edit->drop_states();
  }
  for (const auto& [number, change] : edits) {
    step.view.rows += std::ssize(change.added) - std::ssize(change.erased);
  }
}

}  // namespace skyrank::exec
