#pragma once

#include <algorithm>

#include "kernels/cuda/topk/wide.hpp"

// Top-k of keys that do not fit 64 bits together, by an algorithm for those that do: first by the columns that fit,
// then among the rows that tie at the k-th place by the next ones, and so on. Rows that differ before are never looked
// at again, except to put the answer in order.
namespace skyrank::kernels::cuda::topk {

/// `select` answers a problem of `n` keys: the chosen rows in ascending order of keys.
template <class Select>
Buffer<RowId> solve_wide(const TopKProblem& problem, std::span<const KeyColumn> columns, DeviceContext& device,
                         const Select& select) {
  const std::vector<std::span<const KeyColumn>> parts = parts_of(columns);
  FoundRows found(device);
  RowList rows{.count = problem.n, .ids = {}};
  TopKProblem level = problem;
  for (const std::span<const KeyColumn>& part : parts) {
    const bool last = &part == &parts.back();
    const ResidentKeys keys = pack_listed(part, rows, device);
    level.n = rows.count;
    // The last part alone tells which of the rows that tie are chosen.
    level.ties = last ? problem.ties : TieRule::first;
    const Buffer<RowId> chosen = select(level, keys);
    TieCut cut;
    if (!last && level.k < level.n) cut = cut_at_kth(rows, keys, chosen, device);
    if (cut.ties.count == 0) {
      found.add(rows, chosen, chosen.size());
      break;
    }
    found.add(rows, chosen, cut.before);
    level.k -= cut.before;
    rows = std::move(cut.ties);
  }
  return std::move(found).in_order(parts, problem.n);
}

}  // namespace skyrank::kernels::cuda::topk
