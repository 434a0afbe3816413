#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/common/dominance.hpp"
#include "kernels/common/problem.hpp"

namespace skyrank::kernels {

/// An order tree made ready for comparing rows without walking it. A node finds two rows equal exactly when all keys
/// below it are equal. So a key decides unless, at some prior node above it, an earlier child has a difference; and the
/// outcome is better if a deciding key is better, worse if one is worse, incomparable if both.
class Order {
 public:
  /// Throws std::invalid_argument unless `nodes` is a tree with 1 to kMaxDims leaves, all of them columns below `d`.
  Order(std::span<const OrderNode> nodes, std::size_t d);

  /// Returns true if the tree says the same as Pareto over all `d` columns.
  bool is_flat_pareto() const;

  /// Compares row a with row b; each has its d keys side by side.
  template <class Key>
  Outcome compare(const Key* a, const Key* b) const {
    std::uint64_t less = 0;
    std::uint64_t greater = 0;
    for (std::size_t leaf = 0; leaf < columns_.size(); ++leaf) {
      const Key x = a[columns_[leaf]];
      const Key y = b[columns_[leaf]];
      less |= std::uint64_t{x < y} << leaf;
      greater |= std::uint64_t{x > y} << leaf;
    }
    const std::uint64_t different = less | greater;
    std::uint64_t deciding = different;
    for (const Rule& rule : rules_) {
      if (different & rule.earlier) deciding &= ~rule.later;
    }
    return outcome((less & deciding) != 0, (greater & deciding) != 0);
  }

 private:
  /// The rule of one prior node: a difference in the leaves of one child silences those of the children after it.
  struct Rule {
    std::uint64_t earlier;
    std::uint64_t later;
  };

  std::size_t d_;
  std::vector<std::uint32_t> columns_;  ///< columns of the leaves, at most 64
  std::vector<Rule> rules_;
};

/// Returns the columns of the leaves of an order tree, from left to right. Rows in lexicographic order of these columns
/// are in an order in which none is preferred to one before it: the first difference, from the left, decides a prior
/// node, and a Pareto node gives no other way to be the better row.
std::vector<std::uint32_t> columns_from_left(std::span<const OrderNode> nodes);

}  // namespace skyrank::kernels
