#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/common/memory.hpp"

// A front that changes: rows none of which dominates another one, in a tree of boxes. It tells whether a row is
// dominated, and which rows a row dominates. The idea is that of the ND-tree (Jaszkiewicz and Lust, "ND-Tree-Based
// Update: A Fast Algorithm for the Dynamic Nondominance Problem", IEEE TEVC 22(5), 2018): a box whose lowest corner is
// worse than a row somewhere has no row that dominates it, and one whose highest corner is better somewhere has none
// that it dominates. Here nodes hold the corners of their children column by column, so that vector instructions
// compare all of them with a row, and rows go where a box grows least, as in an R-tree (Guttman, SIGMOD 1984).
// A search takes O(log n) if boxes are small beside the front, and O(n) comparisons of vectors at worst.
namespace skyrank::kernels::fronts {

/// A key of a row; lower ones are better. Vector units before AVX-512 compare signed integers only.
using Lane = std::int64_t;

/// Returns a key as a lane of the same order.
inline Lane lane_of(std::uint64_t key) { return static_cast<Lane>(key ^ (std::uint64_t{1} << 63)); }

/// Returns the key of a lane.
inline std::uint64_t key_of(Lane lane) { return static_cast<std::uint64_t>(lane) ^ (std::uint64_t{1} << 63); }

/// Rows of keys with an id each, none of which dominates another one; several may be equal.
class FrontTree {
 public:
  explicit FrontTree(std::size_t dims);

  /// Returns a copy that may change. It shares nodes with this tree, which must not change any more but by assignment.
  FrontTree changed_copy() const;

  std::size_t dims() const { return shifts_.size(); }
  std::size_t size() const { return size_; }

  /// A row that is at least as good as another one in all keys.
  struct Cover {
    std::int64_t id;
    bool is_equal;  ///< equal in all keys; then no row dominates the other one
  };
  /// Returns a row that covers another one, if there is one.
  std::optional<Cover> find_cover(const Lane* row) const;

 private:
  struct Node;
  using NodePtr = std::shared_ptr<Node>;

 public:
  /// Rows that covered others. A search for many rows looks at these first: few rows cover most of the others.
  class Recent {
   public:
    explicit Recent(const FrontTree& tree);

   private:
    friend class FrontTree;
    NodePtr rows_;
    std::size_t next_ = 0;
  };
  /// Does the same; the tree has not changed since `recent` was made.
  std::optional<Cover> find_cover(const Lane* row, Recent& recent) const;

  /// Appends the ids of the rows that a row dominates, and their keys row by row. No row is equal to it.
  void find_dominated(const Lane* row, std::vector<std::int64_t>& ids, std::vector<Lane>& keys) const;

  /// Adds a row that no row dominates and that dominates none. Where memory is refused, nothing has changed in a tree
  /// that shares no nodes; a changed copy must then go.
  void insert(const Lane* row, std::int64_t id);

  /// Removes a row, which is there. Allocates in changed copies alone.
  void erase(const Lane* row, std::int64_t id);

  /// Appends the ids of all rows, and their keys row by row.
  void append_rows(std::vector<std::int64_t>& ids, std::vector<Lane>& keys) const;

  /// Removes all rows.
  void clear();

 private:
  static constexpr std::size_t kLeafRows = 32;  // a mask of 32 bits
  static constexpr std::size_t kChildren = 16;  // 8 took 1.5 times as long beside 10,000 rows of three keys

  /// Children from the root to a leaf.
  struct Path {
    std::array<std::uint8_t, 64> slots;
    std::size_t size = 0;
  };

  NodePtr new_node(bool is_leaf) const;
  void reserve_spares();
  NodePtr spare(bool is_leaf);
  void own(NodePtr& node) const;
  /// A row of a leaf.
  struct Found {
    const Node* leaf;
    std::size_t row;
  };
  bool cover(const Node& node, const Lane* row, Found& found) const;
  Cover cover_of(const Found& found, const Lane* row) const;
  void dominated(const Node& node, const Lane* row, std::vector<std::int64_t>& ids, std::vector<Lane>& keys) const;
  bool find_path(const Node& node, const Lane* row, std::int64_t id, Path& path) const;
  NodePtr insert(NodePtr& node, const Lane* row, std::int64_t id);
  void erase_along(NodePtr& node, std::span<const std::uint8_t> path, std::int64_t id);
  std::size_t nearest_child(const Node& node, const Lane* row) const;
  NodePtr split(Node& node, std::size_t dim);
  std::size_t widest_dim(const Node& node) const;
  Lane middle(const Node& node, std::size_t slot, std::size_t dim) const;
  void set_child(Node& node, std::size_t slot, NodePtr child) const;
  void set_bounds(Node& node, std::size_t slot) const;
  void move_child(Node& from, std::size_t slot, Node& to) const;
  void set_shifts();
  void rebuild();

  NodePtr root_;                 // null: no rows
  std::vector<int> shifts_;      // bits of each key that do not count for the width of boxes
  std::vector<NodePtr> spares_;  // for the nodes that an insertion splits
  std::size_t height_ = 0;       // levels above leaves
  std::size_t size_ = 0;
  std::size_t leaves_ = 0;
  std::uint64_t epoch_ = 0;  // nodes of this one change in place; others are shared
};

}  // namespace skyrank::kernels::fronts
