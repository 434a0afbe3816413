#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <skyrank/table.hpp>

#include "engine/query/bound.hpp"

namespace skyrank::exec {

/// A column by which rows are compared, as it is.
struct Order {
  const query::BoundExpression* expression = nullptr;
  bool high = false;
  bool nulls_first = false;
};

/// A few rows of the skyline of what has been read of a source, chosen to dominate as many as possible of the rows that
/// are still to be read, so that a skyline is computed of the others alone. (The filtering tuples of Huang, Jensen, Lu,
/// Ooi: Skyline Queries Against Mobile Lightweight Devices in MANETs, ICDE 2006, are the same idea for answers that
/// cross a network.)
///
/// Values are compared as floats: a float less than another one is so only if the values are. Rows with a NULL or NaN
/// dominate none here, and none dominates them.
class Dominators {
 public:
  /// Compares by `orders`, all columns of a Pareto order.
  explicit Dominators(std::vector<Order> orders);

  bool empty() const { return known_.empty(); }

  /// Returns the rows of a table, ascending, that no known row is better than in every column.
  std::vector<RowId> not_dominated(const Table& table) const;
  /// Does the same for a few rows, by more known ones: corners of boxes, each better than all rows of the box. They
  /// have a column for each of the orders, of which there is one at least.
  std::vector<RowId> corners_left(std::span<const Column> by_order) const;

  /// Chooses the known rows anew, among them and rows of `skyline`, which are of `table`, by how many rows of a sample
  /// they dominate together. Adds rows of `unit`, which were read last, to the sample.
  void learn(const Table& unit, const Table& table, std::span<const RowId> skyline);

 private:
  std::size_t width() const { return orders_.size(); }
  std::vector<RowId> find_left(std::span<const Column> by_order, std::span<const float> known) const;
  void add_for_corners(std::span<const float> rows);
  void add_row(const Table& table, RowId row, std::vector<float>& to) const;
  void add_to_sample(const Table& unit);

  std::vector<Order> orders_;
  bool are_numbers_;
  std::vector<float> known_;        // one row after the other; of all values less is better
  std::vector<float> for_corners_;  // the same
  std::vector<float> sample_;       // the same
  std::size_t oldest_ = 0;          // row of the sample that is replaced next
};

}  // namespace skyrank::exec
