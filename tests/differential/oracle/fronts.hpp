#pragma once

#include <cstdint>
#include <vector>

#include "tests/differential/oracle/places.hpp"
#include "tests/differential/oracle/query.hpp"

// Rows that a preference keeps, their measures, and the picks of them, straight from engine/docs/meaning.md.
namespace skyrank::differential {

struct Candidate {
  std::size_t row;
  std::int32_t level = 0;
  std::int64_t dominated_by = 0;
  std::int64_t dominates = 0;
};
using Candidates = std::vector<Candidate>;

/// Rows of one partition, ascending.
struct Front {
  Candidates kept;
  Candidates leveled;  ///< whole levels, with all that the kept rows are of
  Candidates pool;     ///< all that reach the preference, equal ones too
};

Front preferred(const Query& query, const Placed& preference, Candidates rows);

/// Returns the functions of rows by which a query ranks, or which it selects.
std::vector<Measure> measures_of(const Query& query);

/// Returns true if the answer tells levels: those of all rows only where the query asks for them.
bool tells_levels(const Query& query);

/// Returns the value of a measure for each row that is kept. Throws Undefined where rounding is not defined.
std::vector<Cell> measured(const Measure& measure, const Query& query, const Relation& relation, const Front& front);

/// Returns the rows that `pick` keeps. Throws Undefined where rounding may decide between rows.
Candidates picked(const Query& query, const Relation& relation, const Placed& preference, const Front& front);

/// A `low` or `high` term whose values are computed with.
struct ValueTerm {
  ExpressionPtr expression;
  bool high = false;
};

/// Returns the terms of a flat preference; of a `prior`, those of its last part.
std::vector<ValueTerm> value_terms(const Preference& preference);

/// Returns the value of a term as a float64; NaN where it is missing. Throws Undefined for values that conversions and
/// differences round or that are next to the ends of their range.
double number_of(const ValueTerm& term, const Row& row);

}  // namespace skyrank::differential
