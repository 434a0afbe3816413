#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <skyrank/engine.hpp>
#include <skyrank/partial.hpp>
#include <skyrank/source.hpp>

#include "engine/parts/states/query_state.hpp"
#include "engine/plan/query_plan.hpp"
#include "engine/plan/table_origin.hpp"

// Any query over a source that does not fit the engine's limit of memory, or whose partial answer is asked for: threads
// sink its units into states, as many at a time as fit, which are combined as they come.
namespace skyrank::exec {

/// Groups that went to a temporary file.
struct Spilled {
  std::uint64_t bytes;
  std::size_t partitions;
};

/// The reading for the parts of a query.
struct ReadOfParts {
  std::uint64_t bytes = 0;              ///< bytes of storage
  std::optional<Spilled> spilled = {};  ///< nothing where all groups fit memory
};

/// Says how the rows came about that parts leave, once they are there.
using OriginOfParts = std::function<std::shared_ptr<const TableOrigin>(const ReadOfParts&)>;

/// Answers a query from the columns (all that it reads) and units of its plan. Row ids and errors are those of the
/// whole table. Throws what the source, Engine::partial and Engine::merge throw, and ResourceError where a unit, or the
/// rows that are left, do not fit the limit. Groups of which the answer needs a few need not fit (spilled_groups.hpp).
/// How many units are read side by side, and which groups stay in memory, is decided as if the limit were `plan.room`
/// bytes.
Result answer_by_parts(const StateSteps& steps, const Source& source, const QueryPlan& plan,
                       const OriginOfParts& origin);

/// The same for a query with groups or partitions, of which the first units have few. Nothing where they have many.
std::optional<Result> answer_of_few_groups(const StateSteps& steps, const Source& source, const QueryPlan& plan,
                                           const OriginOfParts& origin);

/// Returns the partial answer of such units of a source that begins at row `first_row` of the whole table. It covers
/// the rows of these units alone.
Partial partial_by_units(const StateSteps& steps, const Source& source, const std::vector<int>& columns,
                         const std::vector<std::size_t>& units, RowId first_row);

}  // namespace skyrank::exec
