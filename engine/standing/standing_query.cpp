#include "engine/standing/standing_query.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/operators/gather/gather.hpp"
#include "engine/parts/memory/parts_memory.hpp"
#include "engine/parts/run_query.hpp"
#include "engine/parts/states/candidate_state.hpp"
#include "engine/parts/states/candidates.hpp"
#include "engine/parts/states/concatenate.hpp"
#include "engine/parts/states/global_rows.hpp"
#include "engine/query/locations.hpp"
#include "engine/row_error.hpp"
#include "engine/stop.hpp"

namespace skyrank::exec {
namespace {

/// Returns why a query runs over all rows after each call; nothing where it does not.
std::string reason_for_all_rows(const query::BoundQuery& query) {
  if (query.group) return "";
  if (query.measures_all_rows()) return "a function of rows, such as dominated_by(), counts all rows";
  if (query.counts_dominated_rows()) return "'pick' by coverage counts all rows";
  if (query.skyband == kAllRows) return "'skyband: all' keeps all rows";
  if (keeps_all(query)) return "without a limit the ranking has all rows";
  return "";
}

Following following_of(const query::BoundQuery& query, bool has_front) {
  if (has_front) return Following::front;
  if (query.group) return Following::groups;
  return reason_for_all_rows(query).empty() ? Following::candidates : Following::all_rows;
}

std::vector<RowId> ascending(std::vector<RowId> ids) {
  if (!std::ranges::is_sorted(ids)) std::ranges::sort(ids);
  return ids;
}

/// Sets the ids of an answer's rows, also in its columns of them.
void set_rows(const query::BoundQuery& query, std::vector<RowId> rows, Result& result) {
  result.rows = std::move(rows);
  std::vector<Column> columns = result.table.columns();
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (query.outputs[c].kind == query::BoundOutput::Kind::row) {
      columns[c] = row_column(result.rows, columns[c].name());
    }
  }
  if (!columns.empty()) result.table = Table(std::move(columns));
}

/// An answer that counts as memory for as long as it is held.
struct CountedResult {
  Result result;
  kernels::Charge charge;
};

/// Returns the rest of a query over the rows of its skyline.
query::BoundQuery query_of_front(const query::BoundQuery& query) {
  query::BoundQuery rest = query;
  rest.condition.reset();
  rest.preference.reset();
  rest.levels.reset();
  rest.skyband.reset();
  rest.path = {.algorithms = {}, .device = query.path.device, .parameters = {}, .without = query.path.without};
  return rest;
}

std::string words_of(Following following, bool keeps_candidates_alone) {
  if (following == Following::all_rows) return "the query runs over all rows after each call";
  if (following == Following::front) {
    return keeps_candidates_alone ? "incremental: the skyline alone is kept"
                                  : "incremental: the skyline, and a dominator of each other row";
  }
  const std::string what = following == Following::groups ? "groups" : "candidates";
  return "incremental: " + what + (keeps_candidates_alone ? " alone are kept" : " of ever more rows, in a tree");
}

}  // namespace

Standing::Standing(const EngineState& engine, const Query& query, const Table& schema, const StandingOptions& options,
                   TreeShape shape)
    : engine_(engine),
      format_(query, schema, options.window),
      options_(options),
      front_keys_(FrontKeys::of(format_.bound())),
      front_(front_keys_ ? front_keys_->dims() : 0, shape.leaf_bits, !keeps_candidates_alone()),
      tree_(shape) {
  if (front_keys_) {
    const query::BoundQuery rest = query_of_front(format_.bound());
    front_columns_ = query::columns_read(rest);
    front_query_ = query::over_columns_read(rest);
  }
  view_.following = following_of(format_.bound(), front_keys_.has_value());
  view_.reason = reason_for_all_rows(format_.bound());
  view_.answer = std::make_shared<const Result>();
  step({}, [&](Step& step, const QueryContext& context) {
    answer_all_rows(step, context);  // refuses a forced path that the query has no use for
    if (keeps_candidates_alone()) append(step, context, format_.no_rows());
  });
}

Standing::View Standing::view() const {
  const std::scoped_lock lock(reader_);
  return view_;
}

std::shared_ptr<const Result> Standing::answer() const { return view().answer; }
RowId Standing::next_id() const { return view().next_id; }
std::int64_t Standing::num_rows() const { return view().rows; }

PlanNode Standing::explain() const {
  const View seen = view();
  PlanNode node;
  node.op = "standing";
  node.detail = words_of(seen.following, keeps_candidates_alone());
  node.reason = seen.reason;
  node.measured_rows = seen.rows;
  node.children.push_back(seen.answer->plan);
  return node;
}

/// Calls make(step, context), which makes all that changes, and then changes it, without an error.
template <class Make>
skyrank::Changes Standing::step(const RunOptions& options, const Make& make) {
  const std::scoped_lock lock(writer_);
  Step next;
  next.view = view_;
  next.greatest_time = greatest_time_;
  next.kept = kept_;
  with_context(engine_, format_.query(), options, [&](const QueryContext& context) {
    check(context.stop());
    with_counted_copies(engine_, format_.bound().location, [&] { make(next, context); });
  });
  if (next.edit) std::move(*next.edit).commit(tree_);
  if (next.front) front_.commit(std::move(*next.front));
  kept_ = std::move(next.kept);
  greatest_time_ = next.greatest_time;
  {
    const std::scoped_lock seen(reader_);
    std::swap(view_, next.view);  // what goes is freed after the lock
  }
  return std::move(next.changes);
}

void Standing::set_answer(Step& step, Result result) const {
  const std::vector<RowId> before = ascending(step.view.answer->rows);
  const std::vector<RowId> after = ascending(result.rows);
  std::ranges::set_difference(after, before, std::back_inserter(step.changes.entered));
  std::ranges::set_difference(before, after, std::back_inserter(step.changes.left));
  const std::size_t bytes =
      bytes_of(result.table) + result.rows.size() * sizeof(RowId) + result.levels.size() * sizeof(std::int32_t);
  auto counted = std::make_shared<const CountedResult>(CountedResult{std::move(result), kernels::Charge(bytes)});
  step.view.answer = {counted, &counted->result};
}

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

void Standing::answer_all_rows(Step& step, const QueryContext& context) const {
  StateRows all = step.edit ? step.edit->all_rows() : StateRows();
  if (all.rows.empty()) all.columns = format_.no_rows();
  // A state that answers from rows as they are, whatever the query.
  set_answer(step, CandidateState({context, format_.bound(), run_table}).finalize(all));
}

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

/// Answers from the skyline after a step of it. `rows_of_ids` gives the rows that have come into it, in tables one
/// after the other.
void Standing::answer_front(Step& step, const QueryContext& context,
                            const std::function<std::vector<Table>(const std::vector<RowId>&)>& rows_of_ids) const {
  if (step.front->entered.empty() && step.front->left.empty() && step.kept != nullptr) return;
  StateRows rows;
  std::vector<Table> tables;
  if (step.kept != nullptr) {
    std::vector<RowId> stay;
    const std::vector<RowId>& before = step.kept->rows.rows;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (std::ranges::binary_search(step.front->left, before[i])) continue;
      stay.push_back(static_cast<RowId>(i));
      rows.rows.push_back(before[i]);
    }
    const Table& columns = step.kept->rows.columns;
    tables.push_back(stay.size() == before.size() ? columns : gather(columns, stay));
  } else {
    tables.push_back(gather(chosen_columns(format_.no_rows(), front_columns_), {}));
  }
  rows.rows.insert(rows.rows.end(), step.front->entered.begin(), step.front->entered.end());
  for (const Table& table : rows_of_ids(step.front->entered)) tables.push_back(chosen_columns(table, front_columns_));
  rows.columns = tables.size() == 1 ? tables.front() : concatenate(tables);
  const auto order = ascending_order(rows.rows);
  if (!order.empty()) {
    rows.columns = gather(rows.columns, order);
    std::ranges::sort(rows.rows);
  }
  Result result = with_global_rows([&] { return run_table(context, front_query_, rows.columns); },
                                   [&](RowId row) { return rows.global(row); });
  renumber(front_query_, rows, result);
  result.levels.assign(result.rows.size(), 1);
  step.kept = counted(std::move(rows));
  set_answer(step, std::move(result));
}

void Standing::append_front(Step& step, const QueryContext& context, const Table& rows) const {
  constexpr std::int64_t kFewRows = 1024;
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
  step.front = front_.plan({}, input);
  answer_front(step, context, [&](const std::vector<RowId>& entered) {
    std::vector<RowId> at;
    for (const RowId id : entered) at.push_back(std::ranges::lower_bound(added.rows, id) - added.rows.begin());
    return std::vector<Table>{gather(added.columns, at)};
  });
  step.view.next_id += rows.num_rows();
  step.view.rows = std::ssize(step.kept->rows.rows);
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
  step.front = front_.plan(removed, input);
  answer_front(step, context, [&](const std::vector<RowId>& entered) {
    std::vector<Table> tables;
    for (auto id = entered.begin(); id != entered.end();) {
      const std::int64_t number = tree_.leaf_of(*id);
      const Leaf& leaf = *step.edit->leaf(number);
      std::vector<RowId> at;
      for (; id != entered.end() && tree_.leaf_of(*id) == number; ++id) {
        at.push_back(std::ranges::lower_bound(leaf.ids, *id) - leaf.ids.begin());
      }
      tables.push_back(gather(leaf.rows, at));
    }
    return tables;
  });
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
    step.kept.reset();
    apply();
    step.edit->drop_states();
  }
  std::int64_t rows = 0;
  step.edit->for_each_leaf([&](std::int64_t, const Leaf& leaf) { rows += std::ssize(leaf.ids); });
  step.view.rows = rows;
}

skyrank::Changes Standing::insert(const Table& rows, const RunOptions& options) {
  return step(options, [&](Step& step, const QueryContext& context) { insert_rows(step, context, rows); });
}

void Standing::insert_rows(Step& step, const QueryContext& context, const Table& rows) const {
  const Table checked = format_.checked(rows);
  const RowId first = step.view.next_id;
  check_place(format_.bound().location, checked.num_rows(), first);
  NewRows inserted{format_.kept(checked, [&](RowId row) { return first + row; }), format_.times(checked)};
  if (keeps_candidates_alone()) return append(step, context, inserted.rows);
  step.view.next_id += checked.num_rows();
  for (const Int128 time : inserted.times) step.greatest_time = std::max(step.greatest_time, time);
  const auto time_of = [&](RowId row) {
    return inserted.times.empty() ? kNoTime : inserted.times[static_cast<std::size_t>(row)];
  };
  std::vector<RowId> staying;
  for (RowId row = 0; row < checked.num_rows(); ++row) {
    if (!is_out(step, first + row, time_of(row))) staying.push_back(row);
  }
  Edits edits;
  leave_window(step, edits);
  for (std::size_t i = 0; i < staying.size(); ++i) {
    const RowId id = first + staying[i];
    LeafChange& change = edits[tree_.leaf_of(id)];
    if (change.added.empty()) change.added_begin = static_cast<std::int64_t>(i);
    change.added.push_back(id);
  }
  if (std::ssize(staying) < checked.num_rows()) {
    std::vector<Int128> times;
    for (const RowId row : staying) {
      if (format_.has_times()) times.push_back(time_of(row));
    }
    inserted = {gather(inserted.rows, staying), std::move(times)};
  }
  change_rows(step, context, edits, {format_.no_rows(), {}}, inserted);
}

skyrank::Changes Standing::erase(std::span<const RowId> ids, const RunOptions& options) {
  check_may_change("erase");
  return step(options, [&](Step& step, const QueryContext& context) {
    Edits edits;
    for (const std::size_t i : checked_ids(ids)) edits[tree_.leaf_of(ids[i])].erased.push_back(ids[i]);
    change_rows(step, context, edits, {format_.no_rows(), {}}, {format_.no_rows(), {}});
  });
}

skyrank::Changes Standing::update(std::span<const RowId> ids, const Table& rows, const RunOptions& options) {
  check_may_change("update");
  return step(options, [&](Step& step, const QueryContext& context) { update_rows(step, context, ids, rows); });
}

void Standing::update_rows(Step& step, const QueryContext& context, std::span<const RowId> ids,
                           const Table& rows) const {
  const std::vector<std::size_t> order = checked_ids(ids);
  const Table checked = format_.checked(rows);
  if (checked.num_rows() != std::ssize(ids)) {
    throw DataError("an update has " + std::to_string(ids.size()) + " ids and " + std::to_string(checked.num_rows()) +
                        " rows; it needs a row for each id",
                    format_.bound().location);
  }
  const auto id_of = [&](RowId row) { return ids[static_cast<std::size_t>(row)]; };
  const NewRows updates{format_.kept(checked, id_of), format_.times(checked)};
  for (const Int128 time : updates.times) step.greatest_time = std::max(step.greatest_time, time);
  Edits edits;
  for (const std::size_t i : order) {
    LeafChange& change = edits[tree_.leaf_of(ids[i])];
    if (is_out(step, ids[i], updates.times.empty() ? kNoTime : updates.times[i])) {
      change.erased.push_back(ids[i]);
    } else {
      change.updated.emplace_back(ids[i], static_cast<std::int64_t>(i));
    }
  }
  leave_window(step, edits);
  change_rows(step, context, edits, updates, {format_.no_rows(), {}});
}

/// Returns true if a row is out of the window after the step.
bool Standing::is_out(const Step& step, RowId id, Int128 time) const {
  if (const auto* window = std::get_if<RowWindow>(&options_.window)) return id < step.view.next_id - window->rows;
  const auto* window = std::get_if<TimeWindow>(&options_.window);
  return window != nullptr && time <= step.greatest_time - window->last.count();
}

/// Adds the rows to erase that fall out of the window, but for those with new values.
void Standing::leave_window(const Step& step, Edits& edits) const {
  if (std::holds_alternative<std::monostate>(options_.window)) return;
  TreeEdit(tree_, nullptr, false).for_each_leaf([&](std::int64_t number, const Leaf& leaf) {
    if (!is_out(step, leaf.ids.front(), leaf.first_time)) return;
    std::vector<RowId> out;
    for (std::size_t i = 0; i < leaf.ids.size(); ++i) {
      if (is_out(step, leaf.ids[i], leaf.times.empty() ? kNoTime : leaf.times[i])) out.push_back(leaf.ids[i]);
    }
    if (out.empty()) return;
    LeafChange& change = edits[number];
    std::erase_if(out, [&](RowId id) {
      return std::ranges::binary_search(change.updated, id, {}, &std::pair<RowId, std::int64_t>::first);
    });
    std::vector<RowId> both;
    std::ranges::set_union(change.erased, out, std::back_inserter(both));
    change.erased = std::move(both);
  });
}

/// Returns the positions of ids by ascending id. DataError where one is unknown, or comes twice.
std::vector<std::size_t> Standing::checked_ids(std::span<const RowId> ids) const {
  const TreeEdit now(tree_, nullptr, false);
  std::vector<std::size_t> order(ids.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return ids[i]; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const RowId id = ids[order[i]];
    if (i > 0 && ids[order[i - 1]] == id) {
      throw DataError("the id " + std::to_string(id) + " comes twice", format_.bound().location);
    }
    const Leaf* leaf = id < 0 ? nullptr : now.leaf(tree_.leaf_of(id));
    if (leaf == nullptr || !std::ranges::binary_search(leaf->ids, id)) {
      throw DataError("no row has the id " + std::to_string(id), format_.bound().location);
    }
  }
  return order;
}

void Standing::restore(const std::filesystem::path& file, const RunOptions& options) {
  step(options, [&](Step& step, const QueryContext& context) { restore_rows(step, context, file); });
}

void Standing::check_may_change(const char* call) const {
  if (!options_.append_only) return;
  throw QueryError(std::string("'") + call + "' needs a standing query without 'append_only'",
                   format_.bound().location);
}

}  // namespace skyrank::exec
