#include "kernels/common/problem.hpp"

#include "kernels/common/order.hpp"

namespace skyrank::kernels {

SkylineShape shape_of(const SkylineProblem& problem) {
  const std::size_t d = problem.keys.size();
  return {.n = problem.n,
          .d = d,
          .width = problem.keys.empty() ? KeyWidth::bytes4 : problem.keys.front().width,
          .general_order = !problem.order.empty() && !Order(problem.order, d).is_flat_pareto()};
}

TopKShape shape_of(const TopKProblem& problem) {
  TopKShape shape{
      .n = problem.n, .k = problem.k, .widths = {}, .ties = problem.ties, .fused = problem.source != nullptr};
  if (shape.fused) shape.widths.push_back(problem.source->width());
  for (const KeyColumn& column : problem.keys) shape.widths.push_back(column.width);
  return shape;
}

}  // namespace skyrank::kernels
