#pragma once

#include <vector>

#include "engine/query/bound.hpp"

// Guesses for plans, made from sizes and types alone.
namespace skyrank::exec {

/// Share of rows, in [0, 1], for which a condition is true: the constants of System R's optimiser (Selinger et al.,
/// "Access Path Selection in a Relational Database Management System", SIGMOD 1979, Table 1), independence assumed.
double guess_selectivity(const query::BoundExpression& condition);

/// Number of distinct values of columns of these types among n rows: all values of booleans, the square root of n for
/// every other column.
double guess_groups(double n, const std::vector<DataType>& types);

/// Number of groups among n rows, of which a sample has `distinct`, `once` of them with one row and `twice` with two
/// (Chao, "Nonparametric Estimation of the Number of Classes in a Population", Scandinavian Journal of Statistics
/// 1984).
double estimate_groups(double n, double distinct, double once, double twice);

}  // namespace skyrank::exec
