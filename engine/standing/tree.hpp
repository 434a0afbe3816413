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
// A leaf has the ids [i * 2^12, (i + 1) * 2^12), a node eight children. The root is node 0 of the top level. Its state
// is always there: rows that come are combined with it. Those of leaves and nodes below are made when they are needed:
// where a row goes that was in the root's state, this is made anew from those of its children. They go where a change
// of rows may change them.
namespace skyrank::exec {

/// A state that counts as memory for as long as it lives.
struct CountedState {
  StateRows rows;
  kernels::Charge charge;
};
using StatePtr = std::shared_ptr<const CountedState>;

/// Returns a state that counts on the account of the thread. Throws kernels::OverLimit.
StatePtr counted(StateRows rows);

/// Rows that came into a leaf together.
struct LeafPiece {
  explicit LeafPiece(Table table);
  Table rows;  ///< the columns that are kept
  kernels::Charge charge;
};

/// The rows whose ids are in the range of a leaf; at least one.
struct Leaf {
  std::vector<RowId> ids;                                ///< ascending
  std::vector<std::shared_ptr<const LeafPiece>> pieces;  ///< their rows, one piece after the other
  std::vector<Int128> times;                             ///< with a window by time, else empty
  Int128 first_time = 0;                                 ///< the least of the times
  kernels::Charge charge;                                ///< for ids and times

  /// Returns all rows, as a copy if there are several pieces.
  Table rows() const;
  /// Returns the rows at ascending positions, in tables one after the other.
  std::vector<Table> rows_at(const std::vector<RowId>& positions) const;
  /// Adds rows behind those that are there. Pieces of about one size become one where there are many, so that a row is
  /// copied a few times, however many come one by one.
  void append(Table rows);
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
  std::map<Place, StatePtr> states_;  // of leaves and nodes, as far as they are known
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
  const StatePtr& root() const { return root_; }
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
  using Leaves = std::map<std::int64_t, LeafChange>;

  StatePtr known_state(int level, std::int64_t number) const;
  StatePtr state(int level, std::int64_t number);
  bool has_rows(int level, std::int64_t number) const;
  void change_leaf(std::int64_t number, const LeafChange& change, const NewRows& updates, const NewRows& inserted);
  void forget_states(std::int64_t number, const LeafChange& change);
  void change_root(const Leaves& changes, const NewRows& updates, const NewRows& inserted);
  StateRows groups_of_new_rows(const Leaves& changes, const NewRows& inserted) const;
  StateRows candidates_of_new_rows(const Leaves& changes, const NewRows& updates, const NewRows& inserted) const;

  const Tree& tree_;
  const StateKind* kind_;
  bool groups_;
  int height_ = 0;
  StatePtr root_;
  bool root_is_new_ = false;
  std::map<std::int64_t, std::shared_ptr<const Leaf>> leaves_;  // null: gone
  std::map<Tree::Place, StatePtr> states_;                      // null: not known
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
