#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <skyrank/table.hpp>

#include "engine/operators/group/slots/slot_states.hpp"
#include "engine/query/bound.hpp"

namespace skyrank::exec {

/// The states of an aggregate of values, one for each group, that take in rows and groups in any order.
class GrowingAggregate {
 public:
  /// Returns true for counts, sums and averages of values, and for the least and greatest of numbers, dates and times
  /// of up to 64 bits.
  static bool is_possible(const query::BoundAggregate& aggregate);

  /// Makes the states of an aggregate for which is_possible() is true. It outlives them.
  static std::unique_ptr<GrowingAggregate> of(const query::BoundAggregate& aggregate);

  virtual ~GrowingAggregate() = default;

  /// Makes states for so many groups, no fewer than there are.
  virtual void resize(std::size_t groups) = 0;
  /// Takes in the rows of a unit that begins at row `first_row` of the whole table; row i is of group `groups[i]`.
  /// RowError names a row of the unit.
  virtual void sink(const Table& unit, std::span<const std::uint32_t> groups, RowId first_row) = 0;
  /// Takes in other states of the same aggregate, of which group i is group `to[i]` here.
  virtual void combine(const GrowingAggregate& other, std::span<const std::uint32_t> to) = 0;
  /// Returns the values of groups in an order that has their first rows. `aggregate` is the states' own, or one that
  /// has the same states (share_states). RowError for a sum that overflows names the group's first row.
  virtual Column finish(const query::BoundAggregate& aggregate, const SlotOrder& order) const = 0;
};

/// Returns true if two aggregates have the same states: a sum and an average of the same values.
bool share_states(const query::BoundAggregate& a, const query::BoundAggregate& b);

}  // namespace skyrank::exec
