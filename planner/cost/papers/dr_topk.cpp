#include <algorithm>
#include <cmath>

#include "kernels/papers/common/subrange.hpp"
#include "planner/cost/common.hpp"
#include "planner/cost/papers/models.hpp"

namespace skyrank::planner::cost {

Cost dr_topk(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
             const Values& values) {
  const double n = static_cast<double>(shape.n);
  const double k = std::min(n, static_cast<double>(shape.k));
  const auto beta = static_cast<int>(value_or(values, "beta", 2));
  const auto exponent = static_cast<int>(value_or(values, "alpha", 0));
  const auto subranges = kernels::cuda::topk::delegate::subranges_for(
      std::max<std::size_t>(1, shape.n), std::clamp<std::size_t>(shape.k, 1, std::max<std::size_t>(1, shape.n)), beta,
      exponent);
  const double threads = threads_used(n, 32768, machine);
  const double rows = rows_of_thread(n, 32768, machine);
  // All rows for their delegates, then a selection among these, and the rows of the k subranges that may qualify again.
  const double delegates = static_cast<double>(subranges.count) * beta;
  const double again = std::min(n, k * std::exp2(subranges.exponent) / beta);
  Cost cost{{{"start", 1, 1.5e-6},
             {"threads", threads - 1, 5e-6},
             {"scan", passes(shape) * scan_weight(shape) * rows, 1e-9},
             {"delegates", rank_weight(shape) * rows, 2.5e-9},
             {"first-selection", rank_weight(shape) * (subranges.useful ? std::min(n, delegates) : n), 8e-9},
             {"again", rank_weight(shape) * (subranges.useful ? again / threads : 0), 1.5e-9}},
            (subranges.useful ? 2 * delegates + 2 * k : n) * rank_bytes(shape)};
  add_order(cost.terms, shape, k, statistics, machine);
  return cost;
}

}  // namespace skyrank::planner::cost
