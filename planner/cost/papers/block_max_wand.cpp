#include <algorithm>
#include <cmath>

#include "kernels/papers/common/subrange.hpp"
#include "planner/cost/common.hpp"
#include "planner/cost/papers/models.hpp"

namespace skyrank::planner::cost {

Cost block_max_wand(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
                    const Values& values) {
  const double n = static_cast<double>(shape.n);
  const double k = std::min(n, static_cast<double>(shape.k));
  const auto exponent = static_cast<int>(value_or(values, "alpha", 0));
  const auto blocks = kernels::cuda::topk::delegate::subranges_for(
      std::max<std::size_t>(1, shape.n), std::clamp<std::size_t>(shape.k, 1, std::max<std::size_t>(1, shape.n)), 2,
      exponent);
  const double length = std::exp2(blocks.exponent);
  // In random order row i is in a block that has one of the k best so far with a probability of k length / i.
  const double random = k * length * (1 + std::log(std::max(1.0, n / std::max(1.0, k * length))));
  const HeapWork heap = heap_work(shape, statistics, Machine{.threads = 1});
  Cost cost{{{"start", 1, 1.5e-6},
             {"threads", threads_used(n, 32768, machine) - 1, 5e-6},
             {"scan", passes(shape) * scan_weight(shape) * rows_of_thread(n, 32768, machine), 1e-9},
             {"block-maxima", rank_weight(shape) * rows_of_thread(n, 32768, machine), 1e-9},
             {"blocks", n / length, 1e-9},
             {"evaluated", rank_weight(shape) * std::min(n, std::max(random, heap.inserts)), 1.5e-9},
             {"heap-steps", rank_weight(shape) * (heap.inserts + k) * heap.levels, 4e-9}},
            (n / length + 2 * k) * rank_bytes(shape)};
  add_order(cost.terms, shape, k, statistics, machine);
  return cost;
}

}  // namespace skyrank::planner::cost
