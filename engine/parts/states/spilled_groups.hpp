#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <skyrank/partial.hpp>

#include "engine/parts/states/group_state.hpp"
#include "engine/parts/states/query_state.hpp"
#include "engine/parts/states/spilled_tables.hpp"

// Groups that do not fit memory all together: the partial answers of the parts go to a temporary file, spread over
// partitions by the hashes of their keys, so that all states of a group are in one partition. The partitions are then
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

  /// Takes in a partial answer of rows that have not been seen. Several threads may at once. Throws ResourceError.
  void sink(const Partial& groups);

  /// Answers the query, whose plan shows `origin` below the groups; there is a group. Throws what Engine::merge throws.
  Result finalize(std::shared_ptr<const TableOrigin> origin = nullptr) const;

  std::size_t partitions() const { return tables_.partitions(); }
  std::uint64_t bytes() const { return tables_.bytes(); }

 private:
  class Finish;

  const EngineState& state_;
  const StateSteps& steps_;
  const std::size_t room_;
  SpilledTables tables_;
};

}  // namespace skyrank::exec
