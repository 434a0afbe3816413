#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <skyrank/types.hpp>

#include "engine/expression/ir.hpp"
#include "planner/facts/cardinality.hpp"

// Guesses for plans, made from sizes and types alone.
namespace skyrank::exec {

/// Returns the share of rows for which a part of a condition is true, as far as it is known.
using KnownShare = std::function<std::optional<double>(const Operation& part)>;

/// Share of rows, in [0, 1], for which a condition is true: the constants of System R's optimiser (Selinger et al.,
/// "Access Path Selection in a Relational Database Management System", SIGMOD 1979, Table 1), independence assumed.
double guess_selectivity(const Ir& condition);
double guess_selectivity(const Ir& ir, const Operation& condition);
/// The same with shares that are known of parts of the condition: `known(part)` returns nothing of others.
double guess_selectivity(const Ir& ir, const Operation& condition, const KnownShare& known);

/// Number of distinct values of columns of these types among n rows: all values of booleans, the square root of n for
/// every other column.
double guess_groups(double n, const std::vector<DataType>& types);

/// The same with its bounds: one group, and as many as there are rows or values.
planner::Cardinality bounded_guess_of_groups(const planner::Cardinality& rows, const std::vector<DataType>& types);

/// The groups of a sample of rows, by how many of its rows they have.
struct SampledGroups {
  double rows = 0;
  double distinct = 0;
  double once = 0;    ///< groups of one row
  double twice = 0;   ///< groups of two rows
  double thrice = 0;  ///< groups of three rows
};

/// Number of groups among n rows, from those of a sample. Rows come to groups at rates of a gamma distribution, whose
/// shape tells groups of equal size (a large shape) from those of a power law, such as Zipf's (a negative one); Engen,
/// "On Species Frequency Models", Biometrika 1974. Groups of two and three rows tell the shape. Where they do not
/// differ from groups of equal size, this is the estimator of Chao, "Nonparametric Estimation of the Number of Classes
/// in a Population", Scandinavian Journal of Statistics 1984, for a sample of more than all groups. Where next to no
/// row repeats a group, the sample leaves open how many there are, and this is the mean of what is likely.
double estimate_groups(double n, const SampledGroups& sample);

/// The same with its bounds, at 95 %: those of the numbers of groups of one, two and three rows, as counts of so many.
planner::Cardinality bounded_groups(const planner::Cardinality& rows, const SampledGroups& sample);

}  // namespace skyrank::exec
