#include "kernels/cpu/levels/levels.hpp"

namespace skyrank::kernels {

namespace {

/// Returns the number of rows up to which comparing all pairs takes less time than the algorithm for d keys, as
/// measured on uniform points of 2 to 10 keys.
std::size_t max_pair_rows(std::size_t d, std::int32_t max_levels) {
  if (d == 1) return 0;
  if (d == 2) return 128;
  return d == 3 || max_levels == 1 ? 1024 : 512;
}

}  // namespace

LevelsSolution find_levels(const LevelsProblem& problem, const Context& context) {
  if (problem.n == 0) return {};
  if (problem.n <= max_pair_rows(problem.keys.size(), problem.max_levels)) return levels::pairs(problem, context);
  switch (problem.keys.size()) {
    case 1: return levels::dense_ranks(problem, context);
    case 2: return levels::sweep(problem, context);
    case 3: return levels::staircases(problem, context);
    default: return levels::insertion(problem, context);
  }
}

std::string_view levels_algorithm(std::size_t d) {
  switch (d) {
    case 1: return "dense-ranks";
    case 2: return "sweep";
    case 3: return "staircases";
    default: return "insertion";
  }
}

}  // namespace skyrank::kernels
