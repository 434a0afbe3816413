#pragma once

#include <tbb/task_arena.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "kernels/registry.hpp"
#include "tests/kernels/problems.hpp"

// Runs of single skyline algorithms, for tests of the work that these do.
namespace skyrank::kernels::tests {

inline const SkylineAlgorithm& algorithm(std::string_view name) {
  return **std::ranges::find_if(skyline_algorithms(), [&](const auto* it) { return it->name == name; });
}

inline SkylineSolution run(const SkylineAlgorithm& algorithm, const SkylineProblem& problem,
                           const Context& context = {}) {
  return algorithm.run(problem, ParameterValues(algorithm.parameters, {}), context);
}

/// The work of one thread.
inline Work work_of(std::string_view name, const SkylineCase& data) {
  tbb::task_arena arena(1);
  return arena.execute([&] { return run(algorithm(name), data.problem(), {.count_work = true, .stop = {}}).work; });
}

/// By definition 3 of Bøgh, Chester, Assent, VLDB 2015.
inline std::uint64_t total(const Work& work, std::size_t d) {
  return 3 * work.mask_tests + (6 * d + 4) * work.dominance_tests;
}

inline SkylineCase make_case(Distribution distribution, std::size_t n, std::size_t d,
                             KeyWidth width = KeyWidth::bytes4) {
  return {n, make_columns(distribution, n, d, width, 17 * n + d), width};
}

}  // namespace skyrank::kernels::tests
