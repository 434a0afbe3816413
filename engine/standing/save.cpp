#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/operators/gather/gather.hpp"
#include "engine/parts/gpus/row_range.hpp"
#include "engine/parts/memory/parts_memory.hpp"
#include "engine/parts/run_query.hpp"
#include "engine/placeholder_column.hpp"
#include "engine/query/locations.hpp"
#include "engine/standing/standing_query.hpp"

// Saves the rows of a standing query, and makes all else of them when it is loaded.
namespace skyrank::exec {
namespace {

constexpr std::int64_t kRowsOfPiece = std::int64_t{1} << 16;

/// Returns the keys of a skyline by ascending id.
std::vector<std::uint64_t> keys_by_id(const FrontInput& rows, std::size_t dims) {
  std::vector<std::size_t> order(rows.ids.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return rows.ids[i]; });
  std::vector<std::uint64_t> keys;
  keys.reserve(rows.keys.size());
  for (const std::size_t i : order) {
    const auto first = rows.keys.begin() + static_cast<std::ptrdiff_t>(i * dims);
    keys.insert(keys.end(), first, first + static_cast<std::ptrdiff_t>(dims));
  }
  return keys;
}

/// Returns the rows of a state in pieces.
std::vector<SavedPiece> pieces_of(const StateRows& state) {
  std::vector<SavedPiece> pieces;
  const auto rows = static_cast<std::int64_t>(state.rows.size());
  for (std::int64_t begin = 0; begin < rows; begin += kRowsOfPiece) {
    const std::int64_t end = std::min(begin + kRowsOfPiece, rows);
    pieces.push_back(
        {std::span(state.rows).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)),
         rows_of(state.columns, begin, end),
         {}});
  }
  return pieces;
}

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& why) {
  throw DataError(file.string() + ": is damaged: " + why);
}

}  // namespace

SavedKind Standing::saved_kind() const {
  if (!keeps_candidates_alone()) return SavedKind::rows;
  return front_keys_ ? SavedKind::skyline : SavedKind::state;
}

void Standing::save(const std::filesystem::path& file) const {
  const std::scoped_lock lock(writer_);
  const SavedKind kind = saved_kind();
  with_counted_copies(engine_, format_.bound().location, [&] {
    std::vector<SavedPiece> pieces;
    std::vector<std::uint64_t> keys;
    StatePtr state = kept_;
    if (kind == SavedKind::skyline) {
      state = view_.skyline->rows();
      keys = keys_by_id(front_.rows(), front_keys_->dims());
    }
    if (kind == SavedKind::rows) {
      TreeEdit(tree_, nullptr, false).for_each_leaf([&](std::int64_t, const Leaf& leaf) {
        pieces.push_back({leaf.ids, leaf.rows(), leaf.times});
      });
    } else {
      pieces = pieces_of(state->rows);
    }
    write_rows(file, identity_of(format_.query(), format_.schema(), options_, kind),
               {.next_id = view_.next_id, .greatest_time = greatest_time_}, pieces,
               front_keys_ ? front_keys_->dims() : 0, keys);
  });
}

/// Returns a table without rows that has the columns of saved rows.
Table Standing::saved_columns(SavedKind kind) const {
  switch (kind) {
    case SavedKind::state: return kept_->rows.columns;
    case SavedKind::skyline: return gather(chosen_columns(format_.no_rows(), front_columns_), {});
    case SavedKind::rows: break;
  }
  return format_.no_rows();
}

void Standing::restore_rows(Step& step, const QueryContext& context, const std::filesystem::path& file) const {
  const SavedKind kind = saved_kind();
  const Table columns = saved_columns(kind);
  SavedRows rows =
      read_rows(file, identity_of(format_.query(), format_.schema(), options_, kind),
                {.columns = columns, .has_times = format_.has_times(), .dims = front_keys_ ? front_keys_->dims() : 0});
  step.view.next_id = rows.numbers.next_id;
  step.greatest_time = rows.numbers.greatest_time;
  for (std::size_t i = 0; i < rows.ids.size(); ++i) {
    if (is_out(step, rows.ids[i], rows.times.empty() ? kNoTime : rows.times[i])) {
      refuse(file, "row " + std::to_string(rows.ids[i]) + " is out of the window");
    }
  }
  if (kind == SavedKind::rows) return restore_leaves(step, context, std::move(rows));
  const std::vector<RowId> ids = rows.ids;
  if (kind == SavedKind::state) {
    restore_state(step, context, std::move(rows));
  } else {
    restore_skyline(step, context, std::move(rows));
  }
  const std::vector<RowId>& left = kind == SavedKind::state ? step.kept->rows.rows : step.front->entered;
  if (left != ids) refuse(file, "it has rows that cannot be in the answer any more");
  step.view.rows = std::ssize(ids);
}

void Standing::restore_leaves(Step& step, const QueryContext& context, SavedRows rows) const {
  Edits edits;
  for (std::size_t i = 0; i < rows.ids.size(); ++i) {
    LeafChange& change = edits[tree_.leaf_of(rows.ids[i])];
    if (change.added.empty()) change.added_begin = static_cast<std::int64_t>(i);
    change.added.push_back(rows.ids[i]);
  }
  change_rows(step, context, edits, {format_.no_rows(), {}}, {std::move(rows.columns), std::move(rows.times)});
}

void Standing::restore_state(Step& step, const QueryContext& context, SavedRows rows) const {
  const StateContext of_state{context, format_.bound(), run_table};
  const auto kind = kind_of(of_state);
  StatePtr all = counted(kind->combine({std::move(rows.ids), std::move(rows.columns)}));
  set_answer(step, kind->finalize(all->rows));
  step.kept = std::move(all);
}

void Standing::restore_skyline(Step& step, const QueryContext& context, SavedRows rows) const {
  // The rest of the query reads some of the columns that rows come with.
  const Table all = in_schema(format_.no_rows(), rows.columns, front_columns_);
  step.front = plan_front(context, {}, {rows.ids, std::move(rows.keys)});
  follow_skyline(step, context, [&](const std::vector<RowId>& entered) {
    std::vector<RowId> at;
    for (const RowId id : entered) at.push_back(std::ranges::lower_bound(rows.ids, id) - rows.ids.begin());
    return std::vector<Table>{gather(all, at)};
  });
}

}  // namespace skyrank::exec
