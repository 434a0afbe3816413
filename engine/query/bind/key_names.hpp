#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include <skyrank/query.hpp>

#include "engine/query/ast.hpp"

namespace skyrank::query {

/// Replaces expressions that equal a key by the key's column, for clauses that see groups.
class KeyNames {
 public:
  /// A column that is a key itself means itself, whatever other names it has.
  explicit KeyNames(const std::vector<GroupKey>& keys);

  Expression of(const Expression& expression) const;

 private:
  /// An expression with columns in place of keys, null where nothing is to be replaced, and the hash of what it was:
  /// all keys are found in one walk, however many there are.
  struct Replaced {
    NodePtr node;
    std::size_t hash = 0;
  };

  Replaced replaced(const Node& node) const;
  const GroupKey* key_of(const Node& node, std::size_t hash) const;

  std::unordered_map<std::size_t, std::vector<GroupKey>> keys_;  // by the hashes of their expressions
};

}  // namespace skyrank::query
