#include <cmath>

#include "planner/cost/cuda_common.hpp"
#include "planner/cost/papers/models.hpp"

// The baselines of randomized selection. Their costs are counted, and not yet fitted: no run of theirs has been timed.
namespace skyrank::planner::cost {
namespace {

constexpr double kWait = 15e-6;  // of the host for the outcome of a pass

}  // namespace

Cost cuda_thrust_sort(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/,
                      const Values& /*values*/) {
  const double n = static_cast<double>(shape.n);
  const double digits = packed_bytes(shape);
  return cuda_cost(shape, statistics,
                   {.launches = 4 * digits + 2,
                    .bytes = 2 * n * (digits + 1) * element_bytes(shape),
                    .elements = 2 * n,
                    .other = {}});
}

Cost cuda_bit_by_bit(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/,
                     const Values& /*values*/) {
  const double n = static_cast<double>(shape.n);
  // Bits of the key; where rows tie, those of the row ids follow.
  const double passes = 8 * packed_bytes(shape) + 1 + statistics.ties * std::log2(n + 2);
  return cuda_cost(shape, statistics,
                   {.launches = 2 * passes + 2,
                    .bytes = (passes + 1) * n * packed_bytes(shape),
                    .elements = wanted(shape),
                    .other = {{"waits", passes, kWait}}});
}

Cost cuda_cutting_plane(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/,
                        const Values& /*values*/) {
  constexpr double kFew = 16384;  // keys that are left to a sort
  const double n = static_cast<double>(shape.n);
  // Each cut leaves a third of the keys, or fewer, where they are spread.
  const double passes = 2 + std::log(std::max(1.0, n / kFew)) / std::log(3.0);
  return cuda_cost(shape, statistics,
                   {.launches = 2 * passes + 16,
                    .bytes = (passes + 2) * n * packed_bytes(shape),
                    .elements = wanted(shape) + kFew,
                    .other = {{"waits", passes, kWait}}});
}

}  // namespace skyrank::planner::cost
