#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "kernels/common/problem.hpp"
#include "kernels/cpu/levels/levels.hpp"

// Numbers of rows that dominate each row, and that each row dominates, on the CPU. Rows that fewer than k others
// dominate are the k-skyband (Papadias et al., ACM TODS 30(1), 2005, section 5.4); those that dominate most are the
// top-k dominating ones (Yiu and Mamoulis, VLDB 2007).
namespace skyrank::kernels {

/// Flat Pareto order over d key columns of one width, 4 or 8 bytes, in the host's memory.
struct DominanceCountsProblem {
  std::size_t n = 0;  ///< at most kMaxLevelRows
  std::span<const KeyColumn> keys;
  /// Numbers of dominators are exact below it, and it stands for all that are not less.
  std::int64_t enough = std::numeric_limits<std::int64_t>::max();
  bool distinct = false;  ///< equal rows count as one
  /// One byte a row, 0 for those whose numbers are not asked for; empty: all are. Such numbers mean nothing.
  std::span<const std::uint8_t> wanted = {};
};

struct DominanceCounts {
  Vector<std::int64_t> counts;  ///< one for each row
  Work work;
};

/// Counts the rows that dominate each row, at most `enough`. Deterministic for every number of threads. O(n log n) for
/// up to two keys, O(n log^(d-1) n) for more; with a limit, and where few rows are wanted, a comparison for each pair
/// of a wanted row and a row that fewer than `enough` dominate.
DominanceCounts count_dominators(const DominanceCountsProblem& problem, const Context& context);

/// Counts the rows that each row dominates. `enough` does not apply.
DominanceCounts count_dominated(const DominanceCountsProblem& problem, const Context& context);

/// Counts the rows that each of `rows` dominates, in the order of these.
DominanceCounts count_dominated_by(const DominanceCountsProblem& problem, std::span<const std::int64_t> rows,
                                   const Context& context);

/// Name of the algorithm for d keys.
std::string_view dominance_counts_algorithm(std::size_t d);

namespace dominance_counts {

/// The order in which rows count each other.
enum class Direction : std::uint8_t { dominators, dominated };

/// Different points, and how many rows each stands for.
struct WeightedPoints {
  std::size_t size = 0;
  std::size_t dims = 0;
  const std::int32_t* codes = nullptr;    ///< point by point, in lexicographic order
  const std::int32_t* weights = nullptr;  ///< their sum is at most kMaxLevelRows
  const std::uint8_t* wanted = nullptr;   ///< 1 for points whose numbers are asked for
};

/// The algorithms; each file says how it works. They write a number for each point, at most `enough`.
void sweep(const WeightedPoints& points, Direction direction, std::int64_t* counts, const Context& context);
void pairs(const WeightedPoints& points, Direction direction, std::int64_t enough, std::int64_t* counts, Work& work,
           const Context& context);

/// Counts by three keys or more without a limit.
void halves(const WeightedPoints& points, Direction direction, std::int64_t* counts, Work& work,
            const Context& context);

/// Returns true if halves() is faster than pairs() for some wanted ones of the points.
bool are_halved(std::size_t points, std::size_t wanted);

inline constexpr std::size_t kFewTile = 255;                    ///< wanted rows that the others meet at a time
inline constexpr std::size_t kMaxFew = 128 * kFewTile;          ///< wanted rows for which the others are not sorted
inline constexpr std::size_t kMinFewOf = std::size_t{1} << 14;  ///< rows of which they are the few

inline constexpr std::size_t kMaxHandful = 32;  ///< wanted rows that all others are compared with

/// Returns true if so few rows of many are wanted that the others need not be sorted.
bool are_few(const DominanceCountsProblem& problem, std::size_t wanted);

/// Counts the rows that each wanted row dominates; equal rows do not count as one.
DominanceCounts count_dominated_by_few(const DominanceCountsProblem& problem, std::span<const std::int64_t> wanted,
                                       const Context& context);

/// Does the same for at most kMaxHandful wanted rows, sooner.
Vector<std::int64_t> count_dominated_by_handful(const DominanceCountsProblem& problem,
                                                std::span<const std::int64_t> wanted, const Context& context);

/// Returns true if the problem has many rows, of which few may be left.
bool may_prefilter(const DominanceCountsProblem& problem);

/// Returns rows, ascending, among which all that fewer than `enough` rows dominate are, and their dominators.
Vector<std::uint32_t> rows_left(const DominanceCountsProblem& problem, const Context& context);

}  // namespace dominance_counts
}  // namespace skyrank::kernels
