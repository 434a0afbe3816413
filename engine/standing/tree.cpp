#include "engine/standing/tree.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/operators/gather/gather.hpp"
#include "engine/parts/gpus/row_range.hpp"
#include "engine/parts/states/concatenate.hpp"
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

StateRows joined(const std::vector<const StateRows*>& states) {
  if (states.size() == 1) return *states.front();
  StateRows all;
  std::vector<Table> tables;
  for (const StateRows* state : states) {
    all.rows.insert(all.rows.end(), state->rows.begin(), state->rows.end());
    tables.push_back(state->columns);
  }
  all.columns = concatenate(tables);
  return all;
}

StatePtr counted(StateRows rows) {
  const std::size_t bytes = bytes_of(rows.columns) + rows.rows.size() * sizeof(RowId);
  return std::make_shared<const CountedState>(CountedState{std::move(rows), kernels::Charge(bytes)});
}

const Leaf* TreeEdit::leaf(std::int64_t number) const {
  if (const auto edited = leaves_.find(number); edited != leaves_.end()) return edited->second.get();
  const auto found = tree_.leaves_.find(number);
  return found == tree_.leaves_.end() ? nullptr : found->second.get();
}

StatePtr TreeEdit::state(int level, std::int64_t number) const {
  if (level == 0) {
    const Leaf* found = leaf(number);
    return found == nullptr ? nullptr : found->state;
  }
  if (const auto edited = nodes_.find({level, number}); edited != nodes_.end()) return edited->second;
  const auto found = tree_.nodes_.find({level, number});
  return found == tree_.nodes_.end() ? nullptr : found->second;
}

StatePtr TreeEdit::root() const { return state(height_, 0); }

bool TreeEdit::is_fresh(RowId id) const { return id >= first_added_ || std::ranges::binary_search(updated_, id); }

bool TreeEdit::is_same(const StatePtr& before, const StatePtr& after) const {
  if (groups_ || before == nullptr || after == nullptr) return before == after;
  return before->rows.rows == after->rows.rows &&
         std::ranges::none_of(after->rows.rows, [&](RowId id) { return is_fresh(id); });
}

std::vector<const StateRows*> TreeEdit::with(const StatePtr& before, const std::vector<StatePtr>& added) const {
  std::vector<const StateRows*> all;
  if (before != nullptr) all.push_back(&before->rows);
  for (const StatePtr& one : added) all.push_back(&one->rows);
  return all;
}

/// Returns the rows of a state that this edit has added, which are its last; null for none.
StatePtr TreeEdit::fresh_rows(const StatePtr& state) const {
  const std::vector<RowId>& rows = state->rows.rows;
  const RowId begin = std::ranges::lower_bound(rows, first_added_) - rows.begin();
  const auto end = static_cast<RowId>(rows.size());
  if (begin == end) return nullptr;
  if (begin == 0) return state;
  const std::vector<RowId> last = range(begin, end);
  return counted({{rows.begin() + begin, rows.end()}, gather(state->rows.columns, last)});
}

/// Makes the tree high enough. Its root is the first node of each new level.
void TreeEdit::grow(std::int64_t last_leaf) {
  height_ = tree_.height_;
  while ((last_leaf >> (height_ * tree_.shape_.node_bits)) != 0) {
    if (StatePtr before = state(height_, 0)) nodes_[{height_ + 1, 0}] = std::move(before);
    ++height_;
  }
}

void TreeEdit::apply(const std::map<std::int64_t, LeafChange>& changes, const NewRows& updates,
                     const NewRows& inserted) {
  first_added_ = std::numeric_limits<RowId>::max();
  for (const auto& [number, change] : changes) {
    for (const auto& [id, row] : change.updated) updated_.push_back(id);
    if (!change.added.empty()) first_added_ = std::min(first_added_, change.added.front());
  }
  height_ = tree_.height_;
  if (!changes.empty()) grow(changes.rbegin()->first);
  Changes of_level;
  for (const auto& [number, change] : changes) change_leaf(number, change, updates, inserted, of_level);
  if (kind_ == nullptr) {
    root_is_new_ = !changes.empty();
    return;
  }
  for (int level = 1; level <= height_; ++level) {
    Changes by_node;
    for (auto& [number, change] : of_level) {
      Change& node = by_node[number >> tree_.shape_.node_bits];
      node.rebuild = node.rebuild || change.rebuild;
      node.added.insert(node.added.end(), change.added.begin(), change.added.end());
    }
    of_level.clear();
    for (const auto& [number, change] : by_node) change_node(level, number, change, of_level);
  }
  root_is_new_ = !of_level.empty();
}

void TreeEdit::change_leaf(std::int64_t number, const LeafChange& change, const NewRows& updates,
                           const NewRows& inserted, Changes& above) {
  const Leaf* before = leaf(number);
  LeafRows rows;
  std::vector<Table> tables;
  if (before != nullptr) {
    rows = rows_left(*before, change, updates);
    tables.push_back(before->rows);
    std::vector<RowId> new_values;
    for (const auto& [id, row] : change.updated) new_values.push_back(row);
    if (!new_values.empty()) tables.push_back(gather(updates.rows, new_values));
  }
  const auto first = before == nullptr ? 0 : static_cast<RowId>(before->ids.size() + change.updated.size());
  for (std::size_t i = 0; i < change.added.size(); ++i) {
    const auto row = static_cast<RowId>(i);
    rows.add(change.added[i], first + row, inserted.times, change.added_begin + row);
  }
  if (!change.added.empty()) tables.push_back(added_rows(change, inserted));
  Change next;
  if (rows.ids.empty()) {
    leaves_[number] = nullptr;
    next.rebuild = true;
  } else {
    auto after = std::make_shared<Leaf>();
    after->rows = tables.size() > 1 ? concatenate(tables) : tables.front();
    const bool all_stay = change.erased.empty() && change.updated.empty();
    if (!all_stay || tables.size() == 1) after->rows = gather(after->rows, rows.from);
    after->ids = std::move(rows.ids);
    after->times = std::move(rows.times);
    if (!after->times.empty()) after->first_time = *std::ranges::min_element(after->times);
    after->charge = kernels::Charge(bytes_of(after->rows) + after->ids.size() * sizeof(RowId) +
                                    after->times.size() * sizeof(Int128));
    if (kind_ != nullptr) after->state = leaf_state(before, *after, change, inserted, next);
    leaves_[number] = std::move(after);
  }
  if (next.rebuild || !next.added.empty()) above[number] = std::move(next);
}

/// Returns the state of a leaf after a change, and in `above` what it means for the nodes above.
StatePtr TreeEdit::leaf_state(const Leaf* before, const Leaf& leaf, const LeafChange& change, const NewRows& inserted,
                              Change& above) const {
  StatePtr old = before == nullptr ? nullptr : before->state;
  const auto goes = [&] {
    if (groups_) return !change.erased.empty();
    return old != nullptr && share(change.erased, old->rows.rows);
  };
  // States of groups number the rows of a leaf from its first id on: their order is what counts.
  if (old == nullptr || !change.updated.empty() || goes()) {
    StatePtr all = counted(groups_ ? kind_->sink(leaf.rows, leaf.ids.front()) : kind_->combine({leaf.ids, leaf.rows}));
    if (old == nullptr && !all->rows.rows.empty()) above.added = {all};
    above.rebuild = old != nullptr && !is_same(old, all);
    return all;
  }
  if (change.added.empty()) return old;
  const Table added = added_rows(change, inserted);
  const RowId next = leaf.ids.front() + static_cast<RowId>(before->ids.size());
  const StatePtr fresh = counted(groups_ ? kind_->sink(added, next) : kind_->combine({change.added, added}));
  if (fresh->rows.rows.empty()) return old;
  StatePtr both = counted(kind_->combine(joined(with(old, {fresh}))));
  const StatePtr come = groups_ ? fresh : fresh_rows(both);
  if (come == nullptr) return old;
  above.added = {come};
  return both;
}

/// Returns the state of a node's children; null where none has rows.
StatePtr TreeEdit::of_children(int level, std::int64_t number) const {
  const int bits = tree_.shape_.node_bits;
  std::vector<StatePtr> children;
  for (std::int64_t child = number << bits; child < (number + 1) << bits; ++child) {
    if (StatePtr one = state(level - 1, child)) children.push_back(std::move(one));
  }
  if (children.size() < 2) return children.empty() ? nullptr : children.front();
  return counted(kind_->combine(joined(with(nullptr, children))));
}

void TreeEdit::change_node(int level, std::int64_t number, const Change& change, Changes& above) {
  const StatePtr before = state(level, number);
  Change next;
  StatePtr after;
  if (change.rebuild || before == nullptr) {
    after = of_children(level, number);
    // Rows that changed may lie below those of other nodes, and do not follow on them as new rows do.
    next.rebuild = change.rebuild && !is_same(before, after);
    if (change.rebuild && !next.rebuild) return;
    if (!change.rebuild && after != nullptr) next.added = {after};
  } else {
    after = counted(kind_->combine(joined(with(before, change.added))));
    if (groups_) {
      next.added = change.added;
    } else if (StatePtr come = fresh_rows(after)) {
      next.added = {std::move(come)};
    } else {
      return;
    }
  }
  nodes_[{level, number}] = std::move(after);
  if (next.rebuild || !next.added.empty()) above[number] = std::move(next);
}

StateRows TreeEdit::all_rows() const {
  std::vector<StateRows> rows;
  for_each_leaf([&](std::int64_t, const Leaf& one) { rows.push_back({one.ids, one.rows}); });
  std::vector<const StateRows*> pointers;
  for (const StateRows& one : rows) pointers.push_back(&one);
  return pointers.empty() ? StateRows() : joined(pointers);
}

void TreeEdit::drop_states() {
  for (const auto& [place, node] : tree_.nodes_) nodes_[place] = nullptr;
  for (auto& [place, node] : nodes_) node = nullptr;
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
  replace(tree.nodes_, nodes_);
  tree.height_ = height_;
}

}  // namespace skyrank::exec
