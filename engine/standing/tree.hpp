#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <skyrank/table.hpp>
#include <skyrank/types.hpp>

#include "engine/decimal.hpp"
#include "engine/parts/states/state_kind.hpp"
#include "kernels/common/memory.hpp"

// The rows of a standing query, and the states (parts/states/state_kind.hpp) of ever more of them:
//
//   level 2                 [0 ... 262,143]                      a node: the state of its children
//   level 1       [0 ... 32,767]  [32,768 ... 65,535]  ...
//   leaves     [0 ... 4,095]  [4,096 ... 8,191]  ...             a leaf: its rows by ascending id, and their state
//
// A leaf has the ids [i * 2^12, (i + 1) * 2^12), a node eight children. The root is node 0 of the top level. A change
// of a leaf makes new states on its path to the root, each of the states of a few children, and ends where the
// candidates stay the same.
namespace skyrank::exec {

/// Returns the rows of states whose rows ascend from one to the next.
StateRows joined(const std::vector<const StateRows*>& states);

/// A state that counts as memory for as long as it lives.
struct CountedState {
  StateRows rows;
  kernels::Charge charge;
};
using StatePtr = std::shared_ptr<const CountedState>;

/// Returns a state that counts on the account of the thread. Throws kernels::OverLimit.
StatePtr counted(StateRows rows);

/// The rows whose ids are in the range of a leaf; at least one.
struct Leaf {
  std::vector<RowId> ids;     ///< ascending
  Table rows;                 ///< the columns that are kept
  std::vector<Int128> times;  ///< with a window by time, else empty
  Int128 first_time = 0;      ///< the least of the times
  StatePtr state;             ///< null where the query runs over all rows
  kernels::Charge charge;
};

/// The numbers of rows in the ranges of leaves, and of children in nodes, as powers of two.
struct TreeShape {
  int leaf_bits = 12;
  int node_bits = 3;
};

/// A change of the rows in one leaf. Positions are those in the tables of a call.
struct LeafChange {
  std::vector<RowId> erased;                              ///< ids, ascending
  std::vector<std::pair<RowId, std::int64_t>> updated{};  ///< ids, ascending, and positions of their new values
  std::vector<RowId> added{};                             ///< ids, ascending, above all that were there
  std::int64_t added_begin = 0;                           ///< position of the first of the rows that are added
};

/// All leaves and nodes. A value that changes by TreeEdit alone.
class Tree {
 public:
  explicit Tree(TreeShape shape) : shape_(shape) {}

  std::int64_t leaf_of(RowId id) const { return id >> shape_.leaf_bits; }

 private:
  friend class TreeEdit;
  using Place = std::pair<int, std::int64_t>;  // level from 1, number in it

  TreeShape shape_;
  int height_ = 0;
  std::map<std::int64_t, std::shared_ptr<const Leaf>> leaves_;
  std::map<Place, StatePtr> nodes_;
};

/// The rows that a call brings: the columns that are kept, and their times.
struct NewRows {
  Table rows;
  std::vector<Int128> times;  ///< empty without a window by time
};

/// A change of a tree that is made beside it. Nothing of the tree changes before commit().
class TreeEdit {
 public:
  /// `kind` is the query's kind of state, null where the query runs over all rows; `groups` says that states are those
  /// of groups. The tree and the kind outlive the edit.
  TreeEdit(const Tree& tree, const StateKind* kind, bool groups) : tree_(tree), kind_(kind), groups_(groups) {}

  /// Changes leaves, by their numbers, and the nodes above them. Called once.
  void apply(const std::map<std::int64_t, LeafChange>& changes, const NewRows& updates, const NewRows& inserted);

  /// Returns the state of all rows; null where there are none.
  StatePtr root() const;
  /// Returns true if root() may have another answer than that of the tree.
  bool is_root_new() const { return root_is_new_; }

  /// Returns the ids and the columns of all rows.
  StateRows all_rows() const;
  /// Returns the leaf of a number, or null.
  const Leaf* leaf(std::int64_t number) const;
  /// Calls f(number, leaf) for all leaves by ascending number.
  template <class F>
  void for_each_leaf(const F& f) const;

  /// Drops the states, as the query runs over all rows from now on.
  void drop_states();

  /// Makes the change. Does not throw.
  void commit(Tree& tree) && noexcept;

 private:
  /// A change of a state, for the state above it.
  struct Change {
    bool rebuild = false;         ///< rows went or changed
    std::vector<StatePtr> added;  ///< rows that came, as states whose rows ascend from one to the next
  };
  using Changes = std::map<std::int64_t, Change>;

  StatePtr state(int level, std::int64_t number) const;
  void grow(std::int64_t last_leaf);
  void change_leaf(std::int64_t number, const LeafChange& change, const NewRows& updates, const NewRows& inserted,
                   Changes& above);
  StatePtr leaf_state(const Leaf* before, const Leaf& leaf, const LeafChange& change, const NewRows& inserted,
                      Change& above) const;
  void change_node(int level, std::int64_t number, const Change& change, Changes& above);
  StatePtr of_children(int level, std::int64_t number) const;
  std::vector<const StateRows*> with(const StatePtr& before, const std::vector<StatePtr>& added) const;
  bool is_fresh(RowId id) const;
  bool is_same(const StatePtr& before, const StatePtr& after) const;
  StatePtr fresh_rows(const StatePtr& state) const;

  const Tree& tree_;
  const StateKind* kind_;
  bool groups_;
  int height_ = 0;
  bool root_is_new_ = false;
  RowId first_added_ = 0;
  std::vector<RowId> updated_;                                  // ascending
  std::map<std::int64_t, std::shared_ptr<const Leaf>> leaves_;  // null: gone
  std::map<Tree::Place, StatePtr> nodes_;                       // null: gone
};

template <class F>
void TreeEdit::for_each_leaf(const F& f) const {
  auto edited = leaves_.begin();
  const auto visit = [&](std::int64_t number, const std::shared_ptr<const Leaf>& leaf) {
    if (leaf != nullptr) f(number, *leaf);
  };
  for (const auto& [number, leaf] : tree_.leaves_) {
    for (; edited != leaves_.end() && edited->first < number; ++edited) visit(edited->first, edited->second);
    const bool is_edited = edited != leaves_.end() && edited->first == number;
    visit(number, is_edited ? edited->second : leaf);
    if (is_edited) ++edited;
  }
  for (; edited != leaves_.end(); ++edited) visit(edited->first, edited->second);
}

}  // namespace skyrank::exec
