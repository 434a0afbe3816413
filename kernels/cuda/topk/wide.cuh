#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/topk/keys.hpp"

// Top-k of keys that do not fit 64 bits together, by an algorithm for those that do: first by the columns that fit,
// then among the rows that tie at the k-th place by the next ones, and so on. Rows that differ before are never looked
// at again, except to put the answer in order.
namespace skyrank::kernels::cuda::topk {

/// Cuts columns into parts, each the longest prefix of what is left that has at most 64 bits.
std::vector<std::span<const KeyColumn>> parts_of(std::span<const KeyColumn> columns);

/// Rows of a table, by ascending row id.
struct RowList {
  std::size_t count = 0;
  Buffer<RowId> ids;  ///< empty: all rows
};

/// One part's keys of the listed rows, in their order.
ResidentKeys pack_listed(std::span<const KeyColumn> part, const RowList& rows, DeviceContext& device);

/// The point where a part leaves the answer open: too many of its rows tie at the k-th place.
struct TieCut {
  std::size_t before = 0;  ///< chosen rows that come before those that tie
  RowList ties;            ///< the rows that tie, if more of them than are chosen; otherwise none
};

/// Cuts `wanted` chosen places among the listed rows, by ascending key, given the keys of all listed rows. Waits for
/// the device, which alone knows how many rows tie.
TieCut cut_at_kth(const RowList& rows, const ResidentKeys& keys, const Buffer<RowId>& chosen, DeviceContext& device);

/// The rows that an answer is made of, while it grows.
class FoundRows {
 public:
  explicit FoundRows(DeviceContext& device) : device_(device) {}

  /// Adds the rows at the first `count` places of a list.
  void add(const RowList& rows, const Buffer<RowId>& places, std::size_t count);
  /// All that were added, in the order of all parts' keys, then by ascending row id.
  Buffer<RowId> in_order(std::span<const std::span<const KeyColumn>> parts, std::size_t n) &&;

 private:
  DeviceContext& device_;
  Buffer<RowId> ids_;
};

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
