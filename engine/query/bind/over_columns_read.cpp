#include <algorithm>
#include <memory>
#include <vector>

#include "engine/query/bound.hpp"

namespace skyrank::query {
namespace {

/// Gives columns their places among those that a query reads.
class ColumnPlaces {
 public:
  explicit ColumnPlaces(std::vector<int> read) : read_(std::move(read)) {}

  void renumber(int& column) const {
    if (column >= 0) column = static_cast<int>(std::ranges::lower_bound(read_, column) - read_.begin());
  }
  void renumber(std::vector<int>& columns) const {
    for (int& column : columns) renumber(column);
  }
  void renumber(BoundPtr& node) const {
    if (node == nullptr) return;
    auto copy = std::make_shared<BoundNode>(*node);
    renumber(copy->column);
    for (BoundPtr& child : copy->children) renumber(child);
    node = std::move(copy);
  }
  void renumber(BoundExpression& expression) const {
    renumber(expression.root);
    renumber(expression.column);
  }
  void renumber(BoundPreference& preference) const {
    renumber(preference.expression);
    for (BoundPreference& child : preference.children) renumber(child);
  }
  void renumber(BoundGroup& group) const {
    renumber(group.columns);
    for (BoundAggregate& aggregate : group.aggregates) {
      if (aggregate.argument) renumber(*aggregate.argument);
    }
  }

 private:
  std::vector<int> read_;  // ascending
};

}  // namespace

BoundQuery over_columns_read(const BoundQuery& query) {
  const ColumnPlaces places(columns_read(query));
  BoundQuery over = query;
  if (over.condition) places.renumber(*over.condition);
  if (over.group) {
    places.renumber(*over.group);
    return over;  // all else is bound to the grouped table
  }
  places.renumber(over.partition_columns);
  if (over.preference) places.renumber(*over.preference);
  for (BoundRankTerm& term : over.ranking) places.renumber(term.expression);
  for (BoundOutput& output : over.outputs) places.renumber(output.expression);
  return over;
}

}  // namespace skyrank::query
