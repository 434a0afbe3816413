#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/expression/evaluate.hpp"
#include "engine/operators/group/slots/row_slots.hpp"
#include "engine/plan/numbering.hpp"

// Numbers rows by equal values, in order of their first rows: the groups and partitions of a query.
namespace skyrank::exec {

/// Equivalence classes of the positions [0, n) of a row set, numbered in order of their first position.
struct Classes {
  Vector<std::int64_t> of;     ///< per position: its class
  Vector<std::int64_t> first;  ///< per class: its first position; ascending

  std::int64_t count() const { return static_cast<std::int64_t>(first.size()); }
};

/// Returns the numbering for `n` rows of which some are sampled: by hashing where the sampled values are already too
/// far apart for numbers of their own, or of a type that has none.
Numbering choose_numbering(const Table& table, std::span<const int> columns, const Rows& sampled, std::int64_t n);

/// Classes of equal values in all the columns (of any type). NULLs are equal to each other, NaNs too, and -0.0 to 0.0.
Classes classify(const Table& table, std::span<const int> columns, const Rows& rows,
                 Numbering numbering = Numbering::by_values);

/// Classes of equal slots.
Classes classify(const RowSlots& slots);

/// The same classes as slots, in no order. `rows` has to outlive their use.
RowSlots slots_of(const Table& table, std::span<const int> columns, const Rows& rows,
                  Numbering numbering = Numbering::by_values);

/// A column of a table as a bound expression.
query::BoundExpression column_expression(const Table& table, int column);

}  // namespace skyrank::exec
