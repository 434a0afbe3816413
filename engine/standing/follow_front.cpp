#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "engine/operators/gather/gather.hpp"
#include "engine/parts/run_query.hpp"
#include "engine/parts/states/concatenate.hpp"
#include "engine/parts/states/global_rows.hpp"
#include "engine/runtime/query_memory.hpp"
#include "engine/standing/standing_query.hpp"

// Standing queries that follow their rows by a skyline.
namespace skyrank::exec {

/// Adds the rows that pass the condition, with their keys.
void Standing::add_keys(const QueryContext& context, const Table& rows, std::span<const RowId> ids,
                        FrontInput& input) const {
  const auto make = [&] {
    return context.on_threads([&] {
      const kernels::AccountScope counted(engine_.memory.get());
      const QueryMemory columns;
      return front_keys_->of_rows(rows);
    });
  };
  const FrontKeyRows made = with_global_rows(make, [&](RowId row) { return ids[static_cast<std::size_t>(row)]; });
  const std::size_t dims = front_keys_->dims();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!made.passes[i]) continue;
    input.ids.push_back(ids[i]);
    const auto keys = made.keys.begin() + static_cast<std::ptrdiff_t>(i * dims);
    input.keys.insert(input.keys.end(), keys, keys + static_cast<std::ptrdiff_t>(dims));
  }
}

/// Plans a step of the skyline, of many rows on the engine's threads.
Front::Step Standing::plan_front(const QueryContext& context, std::span<const RowId> removed,
                                 const FrontInput& input) const {
  constexpr std::size_t kFewRows = 512;
  if (removed.size() + input.ids.size() <= kFewRows) return front_.plan(removed, input);
  return context.on_threads([&] {
    const kernels::AccountScope counted(engine_.memory.get());
    return front_.plan(removed, input);
  });
}

/// Follows a step of the skyline. `rows_of_ids` gives the rows that have come into it, in tables one after the other.
/// An answer that is the skyline itself is made when it is asked for.
void Standing::follow_skyline(Step& step, const QueryContext& context,
                              const std::function<std::vector<Table>(const std::vector<RowId>&)>& rows_of_ids) const {
  const std::vector<RowId>& entered = step.front->entered;
  const std::vector<RowId>& left = step.front->left;
  if (entered.empty() && left.empty()) return;
  StateRows rows{entered, gather(chosen_columns(format_.no_rows(), front_columns_), {})};
  std::vector<Table> tables;
  for (const Table& table : rows_of_ids(entered)) tables.push_back(chosen_columns(table, front_columns_));
  if (!entered.empty()) rows.columns = tables.size() == 1 ? tables.front() : concatenate(tables);
  step.view.skyline = SkylineRows::after(step.view.skyline, left, std::move(rows));
  if (!answers_late_) return set_answer(step, answer_of_skyline(context, step.view.skyline->rows()->rows));
  std::ranges::set_difference(entered, left, std::back_inserter(step.changes.entered));
  std::ranges::set_difference(left, entered, std::back_inserter(step.changes.left));
  step.view.answer = nullptr;
}

/// Answers from the rows of the skyline.
Result Standing::answer_of_skyline(const QueryContext& context, const StateRows& rows) const {
  Result result = with_global_rows([&] { return run_table(context, front_query_, rows.columns); },
                                   [&](RowId row) { return rows.global(row); });
  renumber(front_query_, rows, result);
  result.levels.assign(result.rows.size(), 1);
  return result;
}

void Standing::append_front(Step& step, const QueryContext& context, const Table& rows) const {
  constexpr std::int64_t kFewRows = 1 << 15;
  const RowId first_id = step.view.next_id;
  StateRows added;
  if (rows.num_rows() > kFewRows) {  // those that others of them dominate go first, on all threads
    const StateContext of_state{context, format_.bound(), run_table};
    added = kind_of(of_state)->sink(rows, first_id);
  } else {
    added.rows.resize(static_cast<std::size_t>(rows.num_rows()));
    std::iota(added.rows.begin(), added.rows.end(), first_id);
    added.columns = rows;
  }
  FrontInput input;
  add_keys(context, added.columns, added.rows, input);
  step.front = plan_front(context, {}, input);
  follow_skyline(step, context, [&](const std::vector<RowId>& entered) {
    std::vector<RowId> at;
    for (const RowId id : entered) at.push_back(std::ranges::lower_bound(added.rows, id) - added.rows.begin());
    return std::vector<Table>{gather(added.columns, at)};
  });
  step.view.next_id += rows.num_rows();
  step.view.rows = static_cast<std::int64_t>(step.front->size());
}

/// Moves the skyline after leaves have changed, and answers from it.
void Standing::change_front(Step& step, const QueryContext& context, const Edits& edits, const NewRows& updates,
                            const NewRows& inserted) const {
  std::vector<RowId> removed;
  std::vector<RowId> updated;
  std::vector<RowId> new_values;
  std::vector<RowId> added;
  for (const auto& [number, change] : edits) {
    removed.insert(removed.end(), change.erased.begin(), change.erased.end());
    for (const auto& [id, row] : change.updated) {
      updated.push_back(id);
      new_values.push_back(row);
    }
    added.insert(added.end(), change.added.begin(), change.added.end());
  }
  removed.insert(removed.end(), updated.begin(), updated.end());
  std::ranges::sort(removed);
  FrontInput input;
  if (!updated.empty()) add_keys(context, gather(updates.rows, new_values), updated, input);
  if (!added.empty()) add_keys(context, inserted.rows, added, input);
  step.front = plan_front(context, removed, input);
  follow_skyline(step, context, [&](const std::vector<RowId>& entered) {
    std::vector<Table> tables;
    for (auto id = entered.begin(); id != entered.end();) {
      const std::int64_t number = tree_.leaf_of(*id);
      const Leaf& leaf = *step.edit->leaf(number);
      std::vector<RowId> at;
      for (; id != entered.end() && tree_.leaf_of(*id) == number; ++id) {
        at.push_back(std::ranges::lower_bound(leaf.ids, *id) - leaf.ids.begin());
      }
      for (Table& table : leaf.rows_at(at)) tables.push_back(std::move(table));
    }
    return tables;
  });
}

}  // namespace skyrank::exec
