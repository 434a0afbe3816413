#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/topk/ranks.hpp"

// Makes the rows of an answer from the ranks of the best, by the rules for ties.
namespace skyrank::kernels::topk {

inline constexpr std::size_t kCheckRows = 1 << 16;  ///< rows that a loop passes between two looks at the stop token

/// The rows of the k best ranks, given in order: equal keys by ascending row id.
template <class Ranks>
Vector<RowId> rows_in_order(const Ranks& ranks, std::span<const typename Ranks::Rank> best, TieRule ties) {
  Vector<RowId> rows(best.size());
  parallel_for(best.size(), kCheckRows, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) rows[i] = ranks.row_of(best[i]);
  });
  if (ties != TieRule::last) return rows;
  // Among equal keys the highest row ids came first.
  for (std::size_t begin = 0; begin < best.size();) {
    std::size_t end = begin + 1;
    while (end < best.size() && ranks.same_key(best[begin], best[end])) ++end;
    std::reverse(rows.begin() + static_cast<RowId>(begin), rows.begin() + static_cast<RowId>(end));
    begin = end;
  }
  return rows;
}

/// Leaves out the rows with the keys of the last of the best.
template <class Ranks>
void drop_last_ties(const Ranks& ranks, std::span<const typename Ranks::Rank> best, Vector<RowId>& rows) {
  while (!rows.empty() && ranks.same_key(best[rows.size() - 1], best.back())) rows.pop_back();
}

/// Puts all rows with the keys of the last of the best in place of those that are among the best. A reader of the
/// source appends the rows of a range that have the keys of a rank.
template <class Source, class Ranks>
void take_all_ties(const Source& source, const Ranks& ranks, std::span<const typename Ranks::Rank> best, std::size_t n,
                   Vector<RowId>& rows, const Context& context) {
  Vector<Vector<RowId>> ties((n + kCheckRows - 1) / kCheckRows);
  parallel_for(ties.size(), 1, [&](std::size_t begin, std::size_t end) {
    auto&& reader = source.reader();
    for (std::size_t block = begin; block < end; ++block) {
      context.check();
      reader.append_equal(block * kCheckRows, std::min(n, (block + 1) * kCheckRows), best.back(), ties[block]);
    }
  });
  drop_last_ties(ranks, best, rows);
  for (const Vector<RowId>& some : ties) rows.insert(rows.end(), some.begin(), some.end());
}

/// Makes the answer of the k best ranks, given in order, of a problem whose keys are in memory, and ends the count of
/// its work.
template <class Ranks, class Counters>
TopKSolution solution_of_best(const TopKProblem& problem, const Ranks& ranks,
                              std::span<const typename Ranks::Rank> best, Counters& counters, const Context& context) {
  TopKSolution solution{rows_in_order(ranks, best, problem.ties), {}};
  if (problem.ties == TieRule::all && best.size() < problem.n) {
    take_all_ties(RanksInMemory(ranks), ranks, best, problem.n, solution.rows, context);
    counters.bytes_read(problem.n * key_bytes(problem));
  }
  solution.work = counters.total();
  return solution;
}

}  // namespace skyrank::kernels::topk
