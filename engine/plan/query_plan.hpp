#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/table.hpp>

#include "engine/plan/rules.hpp"
#include "engine/query/bound.hpp"

// The plan of a query from the first byte to the answer: what is read of its input, and in which parts that is
// answered. The operators over the rows of a table or of a part have a plan of their own (physical_plan.hpp), made once
// these rows are known.
namespace skyrank::exec {

/// The ways to divide the input of a query.
enum class Division : std::uint8_t {
  whole,       ///< all rows as one table
  units,       ///< units of a source one by one, then the query over the rows that they leave (sources/by_units.hpp)
  few_groups,  ///< groups or partitions of whole units, as these have few, or codes of them (by_parts.hpp,
               ///< by_codes.hpp)
  memory,      ///< partial answers of as many units at a time as fit memory (sources/by_parts.hpp)
  turns,       ///< partial answers of parts that GPUs take one after another (gpus/by_gpus.hpp)
  shares,      ///< partial answers of one part on each GPU (gpus/by_gpus.hpp)
  team,        ///< one skyline that several GPUs find together, each from its share (gpus/team.hpp)
};

/// Describes a division that follows another one.
constexpr const char* words_of(Division division) {
  switch (division) {
    case Division::memory: return "as many units at a time as fit the limit of memory";
    case Division::shares: return "an answer of each GPU";
    default: return "all rows as one table";
  }
}

/// Returns true for the divisions of tables over GPUs.
inline bool is_on_gpus(Division division) { return division >= Division::turns; }

/// A table's rows, part by part.
struct TableParts {
  std::vector<Table> tables;  ///< views of consecutive rows, from row 0 to the last
  std::vector<int> devices;   ///< GPU of each part, by its number in the CUDA runtime
};

/// A plan of a query over a table or a source.
struct QueryPlan {
  query::BoundQuery query;  ///< bound to the input's schema
  RuleLog rules = RuleLog();
  bool lists_candidates = false;  ///< choices by price are kept for explain
  Division division = Division::whole;
  Division otherwise = Division::whole;  ///< follows where the guess behind the division is wrong
  std::string reason = {};               ///< for the division, in words; empty for `whole`

  // Columns and units that are read of a source.
  std::vector<int> columns = {};        ///< columns that decide which rows are in the answer, ascending
  std::vector<int> late = {};           ///< columns that the answer alone shows, ascending; read for its rows
  std::vector<std::size_t> units = {};  ///< units that may hold rows of the answer, ascending
  std::optional<int> coded = {};        ///< the only column of groups, where units have it as codes and nothing else
                                        ///< reads it

  // The sizes of parts.
  std::size_t room = std::numeric_limits<std::size_t>::max();  ///< bytes that `memory` is to fit
  std::int64_t rows_at_a_time = 0;                             ///< rows of a part of `turns`
  TableParts parts = {};                                       ///< parts of `shares` and `team`
};

}  // namespace skyrank::exec
