#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/source.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/plan/query_plan.hpp"

// Decides what a query reads of a source and how it is answered. Nothing is read but statistics that the source has.
namespace skyrank::exec {

/// Plans a query, bound to the schema of a source. Choices by price are kept if `lists_candidates`.
QueryPlan plan_source(const EngineState& engine, const query::BoundQuery& query, const Source& source,
                      bool lists_candidates);

/// Returns the expected number of units of a plan that are read: fewer than it has where they are answered one by one,
/// as the first leave out others.
double expected_units(const QueryPlan& plan, const Source& source);

/// Returns true if a plan does not look at some rows, or at all columns of a row.
bool leaves_out_rows(const QueryPlan& plan, const Source& source);

/// Returns the plan that leaves out no row and no column; `why` says what went wrong where they were.
QueryPlan plan_all_rows(const EngineState& engine, const QueryPlan& plan, const Source& source, const std::string& why);

/// Returns the plan that follows one whose guess was wrong; `why` says how.
QueryPlan plan_otherwise(const EngineState& engine, const QueryPlan& plan, const std::string& why);

/// Returns the plan for less memory than one that did not fit; nothing where there is none.
std::optional<QueryPlan> smaller_plan(const EngineState& engine, const QueryPlan& plan);

/// Returns the units that may have rows for which the query's condition is true.
std::vector<std::size_t> units_to_read(const query::BoundQuery& query, const Source& source);

/// Returns "1 unit", "2 units".
std::string words_of_units(std::size_t units);

/// Returns the outcomes of the rules that decide about sources.
std::vector<RuleOutcome> source_outcomes(const RuleLog& rules);

/// Returns the names of columns, separated by commas.
std::string names_of(const Source& source, const std::vector<int>& columns);

}  // namespace skyrank::exec
