#pragma once

#include <cstddef>
#include <functional>
#include <numeric>
#include <vector>

#include "kernels/common/problem.hpp"

// Answers by brute force, straight from the definitions. Independent of all product code but the problem structs: what
// is tested against this must not share a line with it.
namespace skyrank::oracle {

using kernels::RowId;

/// Returns a function that says whether row j dominates row i, by the problem's order tree or flat Pareto. It keeps a
/// copy of the keys, but refers to the order tree.
std::function<bool(std::size_t j, std::size_t i)> dominance(const kernels::SkylineProblem& problem);

/// Rows that no other row dominates, ascending.
std::vector<RowId> skyline(const kernels::SkylineProblem& problem);

/// The k best rows under the problem's tie rule, best first, equal keys by ascending row id. `any` gives what `first`
/// gives: any other choice among rows equal to the last is as right.
std::vector<RowId> topk(const kernels::TopKProblem& problem);

/// The key of a row in one column, whatever its width.
std::uint64_t key_at(const kernels::KeyColumn& column, std::size_t row);

/// Rows in [0, n) that no other dominates, ascending, by any strict partial order: dominates(j, i) says whether j is
/// better than i.
template <class Dominates>
std::vector<RowId> skyline(std::size_t n, const Dominates& dominates) {
  std::vector<RowId> rows;
  for (std::size_t i = 0; i < n; ++i) {
    bool stays = true;
    for (std::size_t j = 0; j < n && stays; ++j) stays = !dominates(j, i);
    if (stays) rows.push_back(static_cast<RowId>(i));
  }
  return rows;
}

/// The level of each row in [0, n): 1 for the skyline, i + 1 for the skyline of the rows on no level up to i.
template <class Dominates>
std::vector<int> levels(std::size_t n, const Dominates& dominates) {
  std::vector<int> level(n, 0);
  std::vector<std::size_t> rest(n);
  std::iota(rest.begin(), rest.end(), std::size_t{0});
  for (int current = 1; !rest.empty(); ++current) {
    const auto best = skyline(rest.size(), [&](std::size_t j, std::size_t i) { return dominates(rest[j], rest[i]); });
    for (const RowId position : best) level[rest[position]] = current;
    std::erase_if(rest, [&](std::size_t row) { return level[row] != 0; });
  }
  return level;
}

}  // namespace skyrank::oracle
