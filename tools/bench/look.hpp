#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/common/problem.hpp"
#include "planner/choose.hpp"
#include "planner/sampling.hpp"

// Samples a problem for the statistics that a planner has of it.
namespace skyrank::bench {

/// Returns the keys of some rows.
template <class Key>
std::vector<std::uint64_t> gathered(const kernels::KeyColumn& column, const std::vector<kernels::RowId>& rows) {
  std::vector<std::uint64_t> memory(rows.size());
  auto* keys = reinterpret_cast<Key*>(memory.data());
  for (std::size_t i = 0; i < rows.size(); ++i) keys[i] = column.as<Key>()[rows[i]];
  return memory;
}

inline std::vector<std::uint64_t> gathered_keys(const kernels::KeyColumn& column,
                                                const std::vector<kernels::RowId>& rows) {
  switch (column.width) {
    case kernels::KeyWidth::bytes1: return gathered<std::uint8_t>(column, rows);
    case kernels::KeyWidth::bytes2: return gathered<std::uint16_t>(column, rows);
    case kernels::KeyWidth::bytes4: return gathered<std::uint32_t>(column, rows);
    case kernels::KeyWidth::bytes8: break;
  }
  return gathered<std::uint64_t>(column, rows);
}

/// Returns the statistics of about m rows of a problem whose filter leaves a share of the rows. `keys`: its columns in
/// the host's memory.
template <class Problem>
planner::Statistics look_at(const Problem& problem, std::span<const kernels::KeyColumn> keys, double share,
                            std::size_t m) {
  const std::vector<kernels::RowId> rows = planner::sample_rows(problem.n, m);
  std::vector<std::vector<std::uint64_t>> memory;
  std::vector<kernels::KeyColumn> columns;
  for (const kernels::KeyColumn& column : keys) {
    memory.push_back(gathered_keys(column, rows));
    columns.push_back({memory.back().data(), column.width});
  }
  Problem sample = problem;
  sample.memory = kernels::Memory::host;
  sample.n = rows.size();
  sample.keys = columns;
  if constexpr (requires { problem.k; }) {
    const double passing = share * static_cast<double>(problem.n);
    return planner::describe_ranking(sample, static_cast<std::size_t>(passing), problem.k);
  } else {
    return planner::describe_preference(sample, problem.n);
  }
}

/// The same of as many rows as the planner would look at.
template <class Problem>
planner::Statistics look_at(const Problem& problem, std::span<const kernels::KeyColumn> keys, double share,
                            const planner::Machine& machine) {
  const auto shape = shape_of(problem);
  planner::Statistics statistics;
  std::size_t m = planner::worthwhile_sample(shape, machine);
  if (m > 0) statistics = look_at(problem, keys, share, m);
  if constexpr (!requires { problem.k; }) {
    while (m > 0) {
      m = planner::worthwhile_sample(shape, machine, statistics);
      if (m > 0) statistics = look_at(problem, keys, share, m);
    }
  }
  return statistics;
}

}  // namespace skyrank::bench
