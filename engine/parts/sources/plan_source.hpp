#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <skyrank/source.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/plan/rules.hpp"
#include "engine/query/bound.hpp"

// Decides what a query reads of a source and how it is answered. Nothing is read but statistics that the source has.
namespace skyrank::exec {

/// Ways to answer a query over a source.
enum class SourceWay : std::uint8_t {
  units,       ///< units one by one, then the query over the rows that they leave (by_units.hpp)
  few_groups,  ///< partial answers of whole units, as these have few groups or partitions (by_parts.hpp)
  parts,       ///< partial answers of as many units at a time as fit the limit of memory (by_parts.hpp)
  whole,       ///< the columns of all units as one table
};

/// A plan of a query over a source.
struct SourcePlan {
  query::BoundQuery query;         ///< bound to the source's schema
  std::vector<int> columns;        ///< columns that decide which rows are in the answer, ascending
  std::vector<int> late;           ///< columns that the answer alone shows, ascending; read for its rows
  std::vector<std::size_t> units;  ///< units that may hold rows of the answer, ascending
  SourceWay way = SourceWay::whole;
  SourceWay otherwise = SourceWay::whole;  ///< the way where the guess behind the first one turns out wrong
  RuleLog rules = RuleLog();

  /// Returns true if partial answers of units may be merged.
  bool may_use_parts() const;

  /// Returns true if some rows are not looked at, or not all columns of a row.
  bool leaves_out_rows(const Source& source) const;
};

/// Plans a query, bound to the schema of a source.
SourcePlan plan_source(const EngineState& engine, const query::BoundQuery& query, const Source& source);

/// The same where no row and no column may be left out; `why` says what went wrong where they were.
SourcePlan plan_all_rows(const EngineState& engine, const SourcePlan& plan, const Source& source,
                         const std::string& why);

/// Reads no column late.
void read_all_columns(SourcePlan& plan);

/// Returns the units that may have rows for which the query's condition is true.
std::vector<std::size_t> units_to_read(const query::BoundQuery& query, const Source& source);

/// The reason for partial answers of few groups, in words.
inline constexpr const char* kFewGroups = "partial answers, as groups are few";

/// Returns the reason for partial answers of parts, in words.
std::string reason_for_parts(const query::BoundQuery& query);

/// Returns true for the rules that decide about sources.
bool is_rule_of_sources(const std::string& rule);

}  // namespace skyrank::exec
