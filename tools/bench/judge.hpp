#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/common/problem.hpp"

// Checks answers by code that shares nothing with the algorithms but the problem structs.
namespace skyrank::bench {

using Answer = std::vector<kernels::RowId>;

/// Returns the fault of each of the different answers that were given to one problem; empty for a right one. Flat
/// Pareto only. An answer is right when no row of it dominates another and every other row is dominated by one of it.
/// A random sample of rows is judged if all would take more than some 10^8 comparisons of rows. Rows about
/// which answers differ (up to 1,000) are compared with all others, so of two different answers at most one passes.
std::vector<std::string> judge(const kernels::SkylineProblem& problem, std::span<const Answer> answers);

/// The same for top-k, where answers are compared with one whose last key is found byte by byte, in linear time. Under
/// TieRule::any different answers may be right.
std::vector<std::string> judge(const kernels::TopKProblem& problem, std::span<const Answer> answers);

/// The rows of a right answer to a top-k problem under TieRule::first or any, kept for problems of the same keys that
/// ask for fewer of them.
struct KeptReference {
  Answer rows;  ///< in the order of an answer, so that its first rows are the answer for a lesser k
  bool by_first = false;
  Answer set;  ///< the best rows, as `as_set` returns them
  std::size_t set_k = 0;
};

/// The same with a reference that is kept between calls.
std::vector<std::string> judge(const kernels::TopKProblem& problem, std::span<const Answer> answers,
                               KeptReference& kept);

/// Returns an answer without its order: a bit for each of n rows in words of 64, then the number of its rows and how
/// many of them are no rows of the problem. So answers of the same rows are equal.
Answer as_set(std::span<const kernels::RowId> answer, std::size_t n);

/// Judges answers without order, as `as_set` returns them. Not under TieRule::all or last.
std::vector<std::string> judge_sets(const kernels::TopKProblem& problem, std::span<const Answer> sets,
                                    KeptReference& kept);

}  // namespace skyrank::bench
