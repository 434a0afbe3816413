#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/problem.hpp"
#include "planner/facts/cardinality.hpp"

// Knowledge of the rows of a problem, and what follows of it.
namespace skyrank::planner {

/// The growth of a skyline with the number of rows, estimated from the skylines of nested samples. The skyline is as
/// large as that of independent data of `dims` dimensions, a real number: less than the number of columns for
/// correlated data, more for anticorrelated data.
struct SkylineGrowth {
  double sample = 0;  ///< rows of the largest sample
  double dims = 1;    ///< its effective number of dimensions, at least 1
  double drift = 0;   ///< change of `dims` when the number of rows grows by a factor of e

  // Errors at 95 %.
  double dims_doubt = 0;   ///< error of `dims` at the size of the sample
  double drift_doubt = 0;  ///< error of `drift`, which counts the more the further the sample is extrapolated

  /// Returns the expected number of skyline rows among n.
  double rows(double n) const;
  /// Returns the same with its bounds.
  Cardinality bounded_rows(double n) const;
  /// Returns the exponent p of the growth around n: the skyline is proportional to n^p.
  double exponent(double n) const;

  bool operator==(const SkylineGrowth&) const = default;
};

/// The properties of a problem's rows besides their shape. The defaults hold where nothing is known: independent values
/// without ties in random order.
struct Statistics {
  std::size_t sample = 0;                          ///< rows sampled; 0: none, the other members are assumptions
  kernels::Memory memory = kernels::Memory::host;  ///< place of the keys
  double unsent = 0;   ///< bytes of the table's columns that have to go to a GPU before keys can be made of them there
  double scanned = 0;  ///< bytes of a row in the columns that a scan on a GPU reads in place of keys; 0: there are keys
  double scored = 0;   ///< the columns of the score among them. A ranking in one pass reads these of all rows, and the
                       ///< others only for rows whose score can be among the best; 0: all belong to the score
  double selectivity = 1;  ///< share of rows that pass the filter of a fused problem, or passed one before

  // The ranking, by its first key column.
  double distinct = 1;                   ///< different keys over rows of the sample
  double order = 0;                      ///< rank correlation of key and row number: 1 ascending, -1 descending
  double ascending = 0.5;                ///< share of neighbours in the sample of which the second is no less
  double best_ascending = 0.5;           ///< the same share among the sample's best rows, as many as the answer's
  double ties = 0;                       ///< share of rows that have the key of the k-th place
  double worst = 0;                      ///< share of rows with the two last keys of the width: NULL, and floats' NaN
  double ahead = 0;                      ///< share of rows up to the k-th place, whether they pass the filter or not;
                                         ///< 0: as many as a filter apart from the ranking leaves there
  bool zone_map = false;                 ///< a zone map of a fused problem's keys is kept from an earlier query
  std::vector<std::uint64_t> quantiles;  ///< keys at 0, 1/8, ..., 8/8 of the sorted sample; none without a sample

  // The preference.
  SkylineGrowth growth;
  double survivors = 1;    ///< share of rows that the sample's few strongest rows do not dominate
  double correlation = 0;  ///< mean rank correlation of two dimensions
  double together = 0;     ///< share of neighbours in the first dimension that are so in all, as rows of a curve
  double level_rows = 0;   ///< rows of the Pareto level that is looked for; 0: that of the growth above
  bool at_high = false;    ///< problems are priced at the upper bound of their skyline, not at the expected size
};

/// Returns the statistics as they are where the sample was misleading, within its doubt: paths are priced by them at
/// high.
Statistics at_high(Statistics statistics);

/// Returns the expected skyline rows of a problem, by its statistics or, without any, for independent values. The size
/// of a deeper Pareto level is given in the statistics, as samples only describe the first one.
double skyline_rows(const kernels::SkylineShape& shape, const Statistics& statistics);

/// Returns the same with its bounds. Without a sample any row may be in the skyline.
Cardinality bounded_skyline_rows(const kernels::SkylineShape& shape, const Statistics& statistics);

/// Returns the expected rows of a Pareto level below one of `level_above` rows, for `Statistics::level_rows`. Returns 0
/// if the path of the first level, which `first` describes, is good enough: the levels are hardly larger, or the rows
/// so few that any path takes less time than choosing one.
double level_rows_below(const kernels::SkylineShape& shape, const Statistics& first, double level_above);

/// Returns the share of rows that a prefilter leaves; without statistics a guess for independent values.
double surviving_share(const kernels::SkylineShape& shape, const Statistics& statistics);

}  // namespace skyrank::planner
