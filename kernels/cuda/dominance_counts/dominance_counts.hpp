#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/common/problem.hpp"

// Numbers of rows that rows dominate, or that dominate them, counted by the selected GPU. Plain C++; the numbers are
// those of kernels/cpu/dominance_counts. All functions throw Failure, OutOfMemory and Cancelled.
namespace skyrank::kernels::cuda {

/// The rows that a row counts.
enum class Counted : std::uint8_t { dominators, dominated };

/// Flat Pareto order over columns of one width, 4 or 8 bytes.
struct CountProblem {
  std::size_t n = 0;  ///< below 2^31
  std::span<const KeyColumn> keys;
  Memory memory = Memory::host;  ///< place of `keys`
};

/// Returns, for each row of `asking`, the number of all rows that it dominates, or that dominate it.
std::vector<std::int64_t> count_dominance(const CountProblem& problem, std::span<const std::int64_t> asking,
                                          Counted counted, const Context& context);

/// Returns the same for all rows.
std::vector<std::int64_t> count_dominance(const CountProblem& problem, Counted counted, const Context& context);

/// Returns the rows that fewer than `enough` rows dominate, ascending.
std::vector<std::int64_t> find_skyband(const CountProblem& problem, std::int64_t enough, const Context& context);

}  // namespace skyrank::kernels::cuda
