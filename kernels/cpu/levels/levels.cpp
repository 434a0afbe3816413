#include "kernels/cpu/levels/levels.hpp"

namespace skyrank::kernels {

LevelsSolution find_levels(const LevelsProblem& problem, const Context& context) {
  if (problem.n == 0) return {};
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
