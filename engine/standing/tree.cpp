#include "engine/standing/tree.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <utility>

#include "engine/operators/gather/gather.hpp"
#include "engine/parts/gpus/row_range.hpp"
#include "engine/parts/states/concatenate.hpp"
#include "engine/parts/states/unite.hpp"
#include "engine/standing/row_format.hpp"

namespace skyrank::exec {
namespace {

std::vector<RowId> range(RowId begin, RowId end) {
  std::vector<RowId> numbers(static_cast<std::size_t>(end - begin));
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

/// Returns true if two ascending lists share an id.
bool share(const std::vector<RowId>& a, const std::vector<RowId>& b) {
  return std::ranges::any_of(a, [&](RowId id) { return std::ranges::binary_search(b, id); });
}

/// Makes the rows of a leaf after a change: where each comes from, among those before, the new values, and those added.
struct LeafRows {
  std::vector<RowId> ids;
  std::vector<RowId> from;  ///< positions in the tables one after the other
  std::vector<Int128> times;

  void add(RowId id, RowId position, const std::vector<Int128>& of_table, std::int64_t row) {
    ids.push_back(id);
    from.push_back(position);
    if (!of_table.empty()) times.push_back(of_table[static_cast<std::size_t>(row)]);
  }
};

/// Returns the rows before that stay, with their new values.
LeafRows rows_left(const Leaf& before, const LeafChange& change, const NewRows& updates) {
  LeafRows rows;
  auto erased = change.erased.begin();
  auto updated = change.updated.begin();
  const auto size = static_cast<RowId>(before.ids.size());
  for (RowId i = 0; i < size; ++i) {
    const RowId id = before.ids[static_cast<std::size_t>(i)];
    if (erased != change.erased.end() && *erased == id) {
      ++erased;
    } else if (updated != change.updated.end() && updated->first == id) {
      rows.add(id, size + (updated - change.updated.begin()), updates.times, updated->second);
      ++updated;
    } else {
      rows.add(id, i, before.times, i);
    }
  }
  return rows;
}

/// Returns the rows that are added to a leaf, without copying them.
Table added_rows(const LeafChange& change, const NewRows& inserted) {
  return rows_of(inserted.rows, change.added_begin, change.added_begin + std::ssize(change.added));
}

}  // namespace

StatePtr counted(StateRows rows) {
  const std::size_t bytes = bytes_of(rows.columns) + rows.rows.size() * sizeof(RowId);
  return std::make_shared<const CountedState>(CountedState{std::move(rows), kernels::Charge(bytes)});
}

LeafPiece::LeafPiece(Table table) : rows(std::move(table)), charge(bytes_of(rows)) {}

Table Leaf::rows() const {
  if (pieces.size() == 1) return pieces.front()->rows;
  std::vector<Table> tables;
  for (const auto& piece : pieces) tables.push_back(piece->rows);
  return concatenate(tables);
}

std::vector<Table> Leaf::rows_at(const std::vector<RowId>& positions) const {
  std::vector<Table> tables;
  auto at = positions.begin();
  RowId first = 0;
  for (const auto& piece : pieces) {
    const RowId end = first + piece->rows.num_rows();
    std::vector<RowId> of_piece;
    for (; at != positions.end() && *at < end; ++at) of_piece.push_back(*at - first);
    if (!of_piece.empty()) tables.push_back(gather(piece->rows, of_piece));
    first = end;
  }
  return tables;
}

void Leaf::append(Table rows) {
  constexpr std::size_t kMaxOfOneSize = 8;
  pieces.push_back(std::make_shared<const LeafPiece>(std::move(rows)));
  const auto size_of = [](const auto& piece) {
    return std::bit_width(static_cast<std::uint64_t>(piece->rows.num_rows())) / 3;
  };
  for (;;) {
    const auto same = std::ranges::find_if(pieces.rbegin(), pieces.rend(),
                                           [&](const auto& piece) { return size_of(piece) != size_of(pieces.back()); });
    if (static_cast<std::size_t>(same - pieces.rbegin()) < kMaxOfOneSize) return;
    std::vector<Table> tables;
    for (auto piece = same.base(); piece != pieces.end(); ++piece) tables.push_back((*piece)->rows);
    auto merged = std::make_shared<const LeafPiece>(concatenate(tables));
    pieces.erase(same.base(), pieces.end());
    pieces.push_back(std::move(merged));
  }
}

const Leaf* TreeEdit::leaf(std::int64_t number) const {
  if (const auto edited = leaves_.find(number); edited != leaves_.end()) return edited->second.get();
  const auto found = tree_.leaves_.find(number);
  return found == tree_.leaves_.end() ? nullptr : found->second.get();
}

/// Returns the state of a leaf or a node if it is known, else null.
StatePtr TreeEdit::known_state(int level, std::int64_t number) const {
  if (const auto edited = states_.find({level, number}); edited != states_.end()) return edited->second;
  const auto found = tree_.states_.find({level, number});
  return found == tree_.states_.end() ? nullptr : found->second;
}

/// Returns true if there are rows below a node.
bool TreeEdit::has_rows(int level, std::int64_t number) const {
  const int bits = level * tree_.shape_.node_bits;
  const std::int64_t end = (number + 1) << bits;
  for (auto one = leaves_.lower_bound(number << bits); one != leaves_.end() && one->first < end; ++one) {
    if (one->second != nullptr) return true;
  }
  for (auto one = tree_.leaves_.lower_bound(number << bits); one != tree_.leaves_.end() && one->first < end; ++one) {
    if (!leaves_.contains(one->first)) return true;
  }
  return false;
}

/// Returns the state of a leaf or a node, which is made if it is not known; null without rows.
StatePtr TreeEdit::state(int level, std::int64_t number) {
  if (!has_rows(level, number)) return nullptr;
  if (StatePtr known = known_state(level, number)) return known;
  StatePtr made;
  if (level == 0) {
    // States of groups number the rows of a leaf from its first id on: their order is what counts.
    const Leaf& one = *leaf(number);
    made = counted(groups_ ? kind_->sink(one.rows(), one.ids.front()) : kind_->combine({one.ids, one.rows()}));
  } else {
    const int bits = tree_.shape_.node_bits;
    std::vector<StatePtr> children;
    for (std::int64_t child = number << bits; child < (number + 1) << bits; ++child) {
      if (StatePtr one = state(level - 1, child)) children.push_back(std::move(one));
    }
    std::vector<const StateRows*> rows;
    for (const StatePtr& child : children) rows.push_back(&child->rows);
    made = children.size() == 1 ? children.front() : counted(kind_->combine(joined(rows)));
  }
  states_[{level, number}] = made;
  return made;
}

void TreeEdit::apply(const Leaves& changes, const NewRows& updates, const NewRows& inserted) {
  height_ = tree_.height_;
  // High enough for the last leaf. The root is the first node of each new level.
  while (!changes.empty() && (changes.rbegin()->first >> (height_ * tree_.shape_.node_bits)) != 0) ++height_;
  for (const auto& [number, change] : changes) change_leaf(number, change, updates, inserted);
  if (kind_ == nullptr) {
    root_is_new_ = !changes.empty();
    return;
  }
  for (const auto& [number, change] : changes) forget_states(number, change);
  change_root(changes, updates, inserted);
}

void TreeEdit::change_leaf(std::int64_t number, const LeafChange& change, const NewRows& updates,
                           const NewRows& inserted) {
  const Leaf* before = leaf(number);
  auto after = std::make_shared<Leaf>();
  LeafRows rows;
  if (before != nullptr && change.erased.empty() && change.updated.empty()) {
    rows.ids.reserve(before->ids.size() + change.added.size());
    rows.ids = before->ids;
    rows.times = before->times;
    after->pieces = before->pieces;
  } else if (before != nullptr) {
    rows = rows_left(*before, change, updates);
    std::vector<Table> tables{before->rows()};
    std::vector<RowId> new_values;
    for (const auto& [id, row] : change.updated) new_values.push_back(row);
    if (!new_values.empty()) tables.push_back(gather(updates.rows, new_values));
    if (!rows.ids.empty()) after->append(gather(tables.size() > 1 ? concatenate(tables) : tables.front(), rows.from));
  }
  rows.ids.insert(rows.ids.end(), change.added.begin(), change.added.end());
  if (!change.added.empty()) {
    const std::int64_t end = change.added_begin + std::ssize(change.added);
    after->append(gather(inserted.rows, range(change.added_begin, end)));
    if (!inserted.times.empty()) {
      rows.times.insert(rows.times.end(), inserted.times.begin() + change.added_begin, inserted.times.begin() + end);
    }
  }
  if (rows.ids.empty()) {
    leaves_[number] = nullptr;
    return;
  }
  after->ids = std::move(rows.ids);
  after->times = std::move(rows.times);
  if (!after->times.empty()) after->first_time = *std::ranges::min_element(after->times);
  after->charge = kernels::Charge(after->ids.size() * sizeof(RowId) + after->times.size() * sizeof(Int128));
  leaves_[number] = std::move(after);
}

/// Forgets the states below the root that a change of a leaf may change. Rows that are no candidates go without a
/// trace.
void TreeEdit::forget_states(std::int64_t number, const LeafChange& change) {
  for (int level = 0; level < height_; ++level, number >>= tree_.shape_.node_bits) {
    const StatePtr known = known_state(level, number);
    if (known == nullptr) continue;
    const bool stays =
        !groups_ && change.added.empty() && change.updated.empty() && !share(change.erased, known->rows.rows);
    if (!stays) states_[{level, number}] = nullptr;
  }
}

/// Returns the groups of the rows that came, leaf by leaf.
StateRows TreeEdit::groups_of_new_rows(const Leaves& changes, const NewRows& inserted) const {
  std::vector<StateRows> states;
  for (const auto& [number, change] : changes) {
    if (change.added.empty()) continue;
    const std::vector<RowId>& ids = leaf(number)->ids;
    const RowId first = ids.front() + std::ssize(ids) - std::ssize(change.added);
    states.push_back(kind_->sink(added_rows(change, inserted), first));
  }
  if (states.size() > 1) return kind_->combine(joined(pointers_to(states)));
  return states.empty() ? StateRows() : std::move(states.front());
}

/// Returns the candidates of rows that came or have new values.
StateRows TreeEdit::candidates_of_new_rows(const Leaves& changes, const NewRows& updates,
                                           const NewRows& inserted) const {
  StateRows fresh;
  std::vector<RowId> new_values;
  for (const auto& [number, change] : changes) {
    for (const auto& [id, row] : change.updated) {
      fresh.rows.push_back(id);
      new_values.push_back(row);
    }
    fresh.rows.insert(fresh.rows.end(), change.added.begin(), change.added.end());
  }
  fresh.columns = new_values.empty() ? inserted.rows : gather(updates.rows, new_values);
  return fresh.rows.empty() ? fresh : kind_->combine(fresh);
}

void TreeEdit::change_root(const Leaves& changes, const NewRows& updates, const NewRows& inserted) {
  const StatePtr before = known_state(tree_.height_, 0);
  std::vector<RowId> removed;
  std::vector<RowId> updated;
  for (const auto& [number, change] : changes) {
    removed.insert(removed.end(), change.erased.begin(), change.erased.end());
    for (const auto& [id, row] : change.updated) updated.push_back(id);
  }
  const auto loses = [&](const std::vector<RowId>& ids) {
    return groups_ ? !ids.empty() : before != nullptr && share(before->rows.rows, ids);
  };
  if (changes.empty()) {
    root_ = before;
    return;
  }
  states_[{height_, 0}] = nullptr;
  if (!has_rows(height_, 0)) {
    root_ = nullptr;
  } else if ((before == nullptr && !tree_.leaves_.empty()) || loses(removed) || loses(updated)) {
    root_ = state(height_, 0);
  } else {
    StateRows fresh =
        groups_ ? groups_of_new_rows(changes, inserted) : candidates_of_new_rows(changes, updates, inserted);
    if (before == nullptr) {
      root_ = counted(std::move(fresh));
    } else {
      root_ = fresh.rows.empty() ? before : counted(kind_->combine(joined({&before->rows, &fresh})));
    }
  }
  const bool is_same = !groups_ && before != nullptr && root_ != nullptr && before->rows.rows == root_->rows.rows &&
                       !share(root_->rows.rows, updated);
  if (is_same) root_ = before;
  root_is_new_ = root_ != before;
  states_[{height_, 0}] = root_;
}

StateRows TreeEdit::all_rows() const {
  std::vector<StateRows> rows;
  for_each_leaf([&](std::int64_t, const Leaf& one) { rows.push_back({one.ids, one.rows()}); });
  return rows.empty() ? StateRows() : joined(pointers_to(rows));
}

void TreeEdit::drop_states() {
  for (const auto& [place, known] : tree_.states_) states_[place] = nullptr;
  for (auto& [place, known] : states_) known = nullptr;
}

void TreeEdit::commit(Tree& tree) && noexcept {
  const auto replace = [](auto& all, auto& changed) {
    for (auto one = changed.begin(); one != changed.end();) {
      all.erase(one->first);
      one = one->second == nullptr ? changed.erase(one) : std::next(one);
    }
    all.merge(changed);
  };
  replace(tree.leaves_, leaves_);
  replace(tree.states_, states_);
  tree.height_ = height_;
}

}  // namespace skyrank::exec
