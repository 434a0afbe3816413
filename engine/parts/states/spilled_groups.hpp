#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <skyrank/partial.hpp>

#include "engine/parts/states/group_state.hpp"
#include "engine/parts/states/query_state.hpp"
#include "engine/parts/states/spilled_tables.hpp"

// Groups that do not fit memory all together: the partial answers of the parts go to a temporary file, spread over
// partitions by the hashes of their keys, so that all states of a group are in one partition. The rows of a part with
// almost as many groups go there as they are, as grouping them twice would leave hardly fewer. The partitions are then
// combined and finished one at a time, and of each only the groups stay that can be in the answer (as in Graefe, "Query
// Evaluation Techniques for Large Databases", ACM Computing Surveys 1993, section 4.2).
namespace skyrank::exec {

/// Returns true if few of a query's groups are in its answer, as a rule, so that spilling the others bounds memory.
bool may_spill_groups(const query::BoundQuery& query);

/// The spilled groups of a query.
class SpilledGroups {
 public:
  /// Groups of up to `rows` rows are expected, and partial answers such as `sample`. There are so many partitions that
  /// each fits its share of `room` bytes. `steps` outlive the object.
  SpilledGroups(const StateSteps& steps, std::int64_t rows, const Partial& sample, std::size_t room);

  /// Takes in the rows of a part that begins at row `first_row` of the whole table: their groups, or the rows
  /// themselves. Several threads may at once. Throws what partial_of throws, and ResourceError.
  void sink(const Table& part, RowId first_row);

  /// Takes in a partial answer of rows that have not been seen. Several threads may at once. Throws ResourceError.
  void sink(const Partial& groups);

  /// Answers the query, whose plan shows `origin` below the groups; there is a group. Throws what Engine::merge throws.
  Result finalize(std::shared_ptr<const TableOrigin> origin = nullptr) const;

  std::size_t partitions() const { return groups_.partitions(); }
  std::uint64_t bytes() const { return groups_.bytes() + rows_.bytes(); }

 private:
  class Finish;

  /// Returns true if the rows of a part had better be spilled as they are.
  bool has_many_groups(const Table& part) const;
  void append(const StateRows& rows, std::span<const int> keys, SpilledTables& tables) const;

  const EngineState& state_;
  const StateSteps& steps_;
  const query::BoundQuery over_states_;
  const std::size_t room_;
  SpilledTables groups_;  // states
  SpilledTables rows_;    // rows that are not grouped
};

}  // namespace skyrank::exec
