#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/problem.hpp"

namespace skyrank::planner {

struct Machine;

/// How the skyline of a preference's rows grows with their number, from the skylines of nested samples. Its size is
/// that of independent data of `dims` dimensions, a real number: correlated data have fewer than their columns,
/// anticorrelated data more.
struct SkylineGrowth {
  double sample = 0;  ///< rows of the largest sample
  double dims = 1;    ///< its effective number of dimensions, at least 1
  double drift = 0;   ///< by which that changes when the rows become e times as many

  /// Expected number of skyline rows among n.
  double rows(double n) const;
  /// By which power of the number of rows the skyline grows around n.
  double exponent(double n) const;

  bool operator==(const SkylineGrowth&) const = default;
};

/// The properties of a problem's rows besides their shape. The defaults hold where nothing is known: independent values
/// without ties in random order.
struct Statistics {
  std::size_t sample = 0;                          ///< rows that were looked at; 0: none, the rest is assumed
  kernels::Memory memory = kernels::Memory::host;  ///< place of the keys
  double unsent = 0;   ///< bytes of the table's columns that have to go to a GPU before keys can be made of them there
  double scanned = 0;  ///< bytes of a row in the columns that a scan on a GPU reads in place of keys; 0: there are keys
  double scored = 0;   ///< the columns of the score among them. A ranking in one pass reads these of all rows, and the
                       ///< others only for rows whose score is in the running; 0: all belong to the score
  double selectivity = 1;  ///< share of rows that pass the filter of a fused problem, or passed one before

  // Of a ranking, by its first key column.
  double distinct = 1;                   ///< different keys over rows of the sample
  double order = 0;                      ///< rank correlation of key and row number: 1 ascending, -1 descending
  double ascending = 0.5;                ///< share of neighbours in the sample of which the second is no less
  double best_ascending = 0.5;           ///< the same share among the sample's best rows, as many as the answer's
  double ties = 0;                       ///< share of rows that have the key of the k-th place
  double worst = 0;                      ///< share of rows with the two last keys of the width: NULL, and floats' NaN
  bool zone_map = false;                 ///< a zone map of a fused problem's keys is kept from an earlier query
  std::vector<std::uint64_t> quantiles;  ///< keys at 0, 1/8, ..., 8/8 of the sorted sample; none without a sample

  // Of a preference.
  SkylineGrowth growth;
  double survivors = 1;    ///< share of rows that the sample's few strongest rows do not dominate
  double correlation = 0;  ///< mean rank correlation of two dimensions
  double level_rows = 0;   ///< rows of the Pareto level that is looked for; 0: that of the growth above
};

/// Expected skyline rows of a problem, by its statistics or, without any, for independent values. Deeper Pareto levels
/// have more rows than the first one, which samples tell about: their size is given.
double skyline_rows(const kernels::SkylineShape& shape, const Statistics& statistics);

/// Returns how many rows to expect in a Pareto level below one of `level_above` rows, for `Statistics::level_rows`; 0
/// where the path of the first level, of which `first` tells, serves as well: the levels are hardly larger, or the rows
/// so few that any path takes less time than a choice among them.
double level_rows_below(const kernels::SkylineShape& shape, const Statistics& first, double level_above);

/// Share of rows that a prefilter leaves; without statistics a guess for independent values.
double surviving_share(const kernels::SkylineShape& shape, const Statistics& statistics);

/// Looks at the rows of a skyline problem's sample: `sample` holds m rows, drawn from n at random or evenly, in the
/// order of rows. Skylines are taken of it and of its quarters.
Statistics describe_preference(const kernels::SkylineProblem& sample, std::size_t n);

/// The same for a ranking of n rows whose answer is k long.
Statistics describe_ranking(const kernels::TopKProblem& sample, std::size_t n, std::size_t k);

/// Positions of a sample of about m of n rows, ascending: runs of four neighbours, evenly spread, from a place in each
/// stretch that a fixed hash picks, so that periods in the data do not matter.
std::vector<kernels::RowId> sample_rows(std::size_t n, std::size_t m);

/// How many rows of a problem are worth looking at before a path is chosen: such that this takes no more than half a
/// hundredth of what the problem is expected to take, or 20 us (10 of a ranking), which is spent once a table and
/// query. 0 where there are too few rows for a sample. Of a preference a small sample comes first, and then perhaps a
/// larger one instead: `seen` is what the small one told; 0 then says that it is enough.
std::size_t worthwhile_sample(const kernels::SkylineShape& shape, const Machine& machine, const Statistics& seen = {});
std::size_t worthwhile_sample(const kernels::TopKShape& shape, const Machine& machine);

}  // namespace skyrank::planner
