#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <skyrank/source.hpp>

#include "engine/operators/group/group.hpp"
#include "engine/operators/group/growing_aggregate.hpp"
#include "engine/operators/group/members.hpp"
#include "engine/query/bound.hpp"

namespace skyrank::exec {

class CodedKeys;

/// Groups by one column that units have as codes, with their aggregates. Rows are counted and added up by their codes;
/// only the values that codes stand for, far fewer than rows as a rule, are looked up in a hash table. Groups grow unit
/// by unit, in any order of units. Not thread-safe: threads have groups each, and these are combined.
class CodedGroups {
 public:
  /// Returns true if groups of columns of a schema can be made so: of one column of numbers, dates, times or strings,
  /// and with aggregates that GrowingAggregate has.
  static bool are_possible(const query::BoundGroup& group, const Table& schema);

  /// `group` outlives the groups.
  CodedGroups(const query::BoundGroup& group, const Table& schema);
  CodedGroups(CodedGroups&&) noexcept;
  ~CodedGroups();

  /// Takes in the rows of a unit, fewer than 2^32, that begins at row `first_row` of the whole table; of the column of
  /// groups, `unit` has no values. Returns the number of the unit's groups. RowError names a row of the unit.
  std::int64_t sink(const UnitCodes& codes, const Table& unit, RowId first_row);

  /// Takes in what others have seen.
  void combine(const CodedGroups& other);

  /// Returns the number of groups so far.
  std::size_t size() const { return members_.size(); }

  /// Returns the groups of a table of `rows` rows. RowError for a sum that overflows names the first row of the group.
  Grouped finish(std::int64_t rows) const;

 private:
  std::vector<std::int64_t> counts_in_order(std::span<const std::int64_t> groups) const;
  Vector<std::uint32_t> add(const Column& values, std::span<const std::int64_t> entries,
                            std::span<const GroupMembers> members);

  const query::BoundGroup& group_;
  std::unique_ptr<CodedKeys> keys_;
  Vector<GroupMembers> members_;  // by group: rows of the whole table
  // By aggregate; null for counts of rows, and where another one has the same states.
  std::vector<std::unique_ptr<GrowingAggregate>> aggregates_;
};

}  // namespace skyrank::exec
