#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <skyrank/source.hpp>

#include "engine/query/bound.hpp"

// Numbers of rows that statistics of units tell before any is read.
namespace skyrank::exec {

/// Returns a number that grows with the values of one column; nothing for NULL and for types without numbers.
std::optional<double> number_of_bound(const Value& value);

/// Returns the number of rows of these units that are expected to pass the query's condition: values of a column spread
/// evenly between the least and the greatest of their unit (Selinger et al., "Access Path Selection in a Relational
/// Database Management System", SIGMOD 1979, Table 1), and conditions that statistics do not tell of pass by guesses.
double rows_passing(const query::BoundQuery& query, const Source& source, const std::vector<std::size_t>& units);

}  // namespace skyrank::exec
