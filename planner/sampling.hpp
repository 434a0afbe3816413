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

/// Returns the positions of a sample of about m of n rows, ascending: runs of four neighbours, one in each of evenly
/// spaced intervals. A fixed hash picks the place in the interval, so that periods in the data do not matter.
std::vector<kernels::RowId> sample_rows(std::size_t n, std::size_t m);

/// Returns how many rows to sample before a path is chosen. Sampling takes at most 0.5 % of the expected time of the
/// problem, or 20 us (10 us for a ranking), once for each table and query. Returns 0 for too few rows. For a preference
/// a small sample comes first; `seen` describes it, and the result is the size of a larger one, or 0 if it is enough.
std::size_t worthwhile_sample(const kernels::SkylineShape& shape, const Machine& machine, const Statistics& seen = {});
std::size_t worthwhile_sample(const kernels::TopKShape& shape, const Machine& machine);

}  // namespace skyrank::planner
