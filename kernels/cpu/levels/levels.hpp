#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "kernels/common/problem.hpp"

// Pareto levels of all rows at once (non-dominated sorting), on the CPU.
namespace skyrank::kernels {

/// Row ids and levels are kept in 32 bits.
inline constexpr std::size_t kMaxLevelRows = std::numeric_limits<std::int32_t>::max();

/// Flat Pareto order over d key columns of one width, 4 or 8 bytes, in the host's memory. The level of a row is the
/// greatest `level + height` of the rows that dominate it, 0 where there are none. With heights of 1 level 0 is the
/// skyline, and level i + 1 the skyline of what is left without the levels up to i.
struct LevelsProblem {
  std::size_t n = 0;  ///< at most kMaxLevelRows
  std::span<const KeyColumn> keys;
  std::span<const std::int32_t> heights = {};  ///< levels that each row takes up, at least 1; empty: one
  std::int32_t max_levels = std::numeric_limits<std::int32_t>::max();  ///< rows beyond them all get this level
};

struct LevelsSolution {
  Vector<std::int32_t> levels;  ///< level of each row
  Work work;
};

/// Runs the algorithm for the number of keys. Deterministic for every number of threads.
LevelsSolution find_levels(const LevelsProblem& problem, const Context& context);

/// Name of the algorithm that `find_levels` runs for d keys of more than a thousand rows.
std::string_view levels_algorithm(std::size_t d);

namespace levels {

/// The algorithms; each file says how it works and what it costs.
LevelsSolution dense_ranks(const LevelsProblem& problem, const Context& context);  ///< one key
LevelsSolution sweep(const LevelsProblem& problem, const Context& context);        ///< two keys
LevelsSolution staircases(const LevelsProblem& problem, const Context& context);   ///< three keys
LevelsSolution pairs(const LevelsProblem& problem, const Context& context);        ///< few rows, two keys or more
LevelsSolution insertion(const LevelsProblem& problem, const Context& context);    ///< three keys or more

}  // namespace levels
}  // namespace skyrank::kernels
