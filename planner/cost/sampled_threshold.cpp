#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

Cost sampled_threshold(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
                       const Values& /*values*/) {
  constexpr double kPlaces = 2;  // of the sample that the bound is set too high, and its square roots
  constexpr double kSpread = 3.2;
  constexpr double kFewRows = 4096;  // are all candidates, without a sample
  const double n = static_cast<double>(shape.n);
  const double k = std::min(n, static_cast<double>(shape.k));
  const double sample = std::sqrt(3 * n) + std::cbrt(4 * n * k);
  const double every = n / std::max(sample, 1.0);
  const bool sampled = k < n / 2;
  const double candidates = sampled ? std::min(n, k + kSpread * std::sqrt(k * every) + kPlaces * every) : n;
  const double bytes = shape.widths.empty() ? 0 : kernels::bits(shape.widths.front()) / 8.0;
  const double threads = threads_used(n, 32768, machine);
  Cost cost{{{"start", 1, 0.5e-6},
             {"threads", threads - 1, 1e-6},
             {"sample-rows", rank_weight(shape) * std::min(sample, n), 8e-9},
             {"first-rows", std::min(n, kFewRows), 2e-9},
             {"first-rows-mixed", disorder(statistics) * std::min(n, kFewRows), 5e-9},
             {"sample-mixed", disorder(statistics) * rank_weight(shape) * std::min(sample, n), 20e-9},
             {"candidates-mixed", disorder(statistics) * candidates / threads_used(candidates, 32768, machine), 4e-9},
             {"bytes", passes(shape) * bytes * n / threads, 0.04e-9},
             {"keys-made", shape.fused ? passes(shape) * n / threads : 0, 0.5e-9},
             {"candidates", rank_weight(shape) * candidates / threads_used(candidates, 32768, machine), 8e-9}},
            2 * candidates * rank_bytes(shape)};
  add_order(cost.terms, shape, sampled ? std::min(k, statistics.selectivity * n) : n, statistics, machine);
  return cost;
}

}  // namespace skyrank::planner::cost
