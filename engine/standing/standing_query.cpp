#include "engine/standing/standing_query.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/operators/gather/gather.hpp"
#include "engine/parts/memory/parts_memory.hpp"
#include "engine/parts/run_query.hpp"
#include "engine/parts/states/candidates.hpp"
#include "engine/parts/states/global_rows.hpp"
#include "engine/query/locations.hpp"
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

/// Returns true if a query gives all rows in their order, with columns as they are. Then it fails for no row.
bool gives_rows_as_they_are(const query::BoundQuery& query) {
  if (!query.ranking.empty() || query.limit || query.offset != 0) return false;
  return std::ranges::all_of(query.outputs, [](const query::BoundOutput& output) {
    using Kind = query::BoundOutput::Kind;
    return output.kind == Kind::row || (output.kind == Kind::expression && output.expression.column >= 0);
  });
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
    answers_late_ = gives_rows_as_they_are(front_query_);
  }
  view_.following = following_of(format_.bound(), front_keys_.has_value());
  view_.reason = reason_for_all_rows(format_.bound());
  view_.answer = std::make_shared<const Result>();
  step({}, [&](Step& step, const QueryContext& context) {
    answer_all_rows(step, context);  // refuses a forced path that the query has no use for
    if (front_keys_) {
      const Table columns = chosen_columns(format_.no_rows(), front_columns_);
      step.view.skyline = std::make_shared<const SkylineRows>(counted({{}, gather(columns, {})}));
    }
    if (keeps_candidates_alone()) append(step, context, format_.no_rows());
  });
}

Standing::View Standing::view() const {
  const std::scoped_lock lock(reader_);
  return view_;
}

RowId Standing::next_id() const { return view().next_id; }
std::int64_t Standing::num_rows() const { return view().rows; }

PlanNode Standing::explain() const {
  const View seen = view();
  PlanNode node;
  node.op = "standing";
  node.detail = words_of(seen.following, keeps_candidates_alone());
  node.reason = seen.reason;
  node.measured_rows = seen.rows;
  node.children.push_back(answer()->plan);
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
  const bool all_stay = std::holds_alternative<std::monostate>(options_.window);
  std::vector<RowId> staying;
  for (RowId row = 0; row < checked.num_rows() && !all_stay; ++row) {
    if (!is_out(step, first + row, time_of(row))) staying.push_back(row);
  }
  Edits edits;
  leave_window(step, edits);
  const std::int64_t size = all_stay ? checked.num_rows() : std::ssize(staying);
  const auto id_at = [&](std::int64_t i) { return first + (all_stay ? i : staying[static_cast<std::size_t>(i)]); };
  for (std::int64_t i = 0; i < size;) {
    const std::int64_t number = tree_.leaf_of(id_at(i));
    LeafChange& change = edits[number];
    change.added_begin = i;
    for (; i < size && tree_.leaf_of(id_at(i)) == number; ++i) change.added.push_back(id_at(i));
  }
  if (size < checked.num_rows()) {
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
