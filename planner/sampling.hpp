#pragma once

#include <cstddef>
#include <vector>

#include "kernels/common/problem.hpp"
#include "planner/facts/machine.hpp"
#include "planner/facts/statistics.hpp"

// Statistics by samples of rows.
namespace skyrank::planner {

/// Describes n rows of a skyline problem by a sample: rows drawn at random or evenly, in the order of row ids. Computes
/// the skylines of the sample and of its quarters.
Statistics describe_preference(const kernels::SkylineProblem& sample, std::size_t n);

/// Describes n rows of a ranking by a sample, for an answer of k rows.
Statistics describe_ranking(const kernels::TopKProblem& sample, std::size_t n, std::size_t k);

/// Returns the share of `all` rows of a sample that rank up to the place of the k-th best of n rows among those
/// `passing` a filter, by the first key columns of both; 0 where it is what a filter apart from the ranking leaves.
double share_ahead(const kernels::TopKProblem& passing, std::size_t n, const kernels::TopKProblem& all);

/// Returns the positions of a sample of about m of n rows, ascending: runs of four neighbours, one in each of evenly
/// spaced intervals. A fixed hash picks the place in the interval, so that periods in the data do not matter.
std::vector<kernels::RowId> sample_rows(std::size_t n, std::size_t m);

/// Returns how many rows to sample before a path is chosen, once for each table and query; 0 for too few rows. Sampling
/// takes at most 2 % of the expected time of a preference, or 20 us. A small sample comes first; `seen` describes it,
/// and the result is the size of a larger one, of at most 16,384 rows that pass a filter, or 0 if it is enough.
std::size_t worthwhile_sample(const kernels::SkylineShape& shape, const Machine& machine, const Statistics& seen = {});

/// The same for a ranking of the rows of a table that pass a filter, which takes `filter_seconds`: at most 2 % of what
/// both take, or 10 us.
std::size_t worthwhile_sample(const kernels::TopKShape& shape, const Machine& machine, double filter_seconds = 0);

}  // namespace skyrank::planner
