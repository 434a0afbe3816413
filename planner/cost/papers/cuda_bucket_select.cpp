#include <span>
#include <vector>

#include "planner/cost/papers/cuda_selection.hpp"
#include "planner/cost/papers/models.hpp"

namespace skyrank::planner::cost {

std::span<const Values> cuda_bucket_select_candidates(const kernels::TopKShape& /*shape*/) {
  static const std::vector<Values> kValues = {{{"buckets", 256}}, {{"buckets", 2048}}};
  return kValues;
}

Cost cuda_bucket_select(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/,
                        const Values& values) {
  const double n = static_cast<double>(shape.n);
  if (shape.k == 1) {
    return cuda_cost(shape, statistics,
                     {.launches = 1, .bytes = n * packed_bytes(shape), .other = {{"counters", 0, kCudaCounter}}});
  }
  // All keys are read for their ends, for the first buckets, and to cut one of these out.
  const double buckets = value_or(values, "buckets", 256);
  const double left = 4 * n / buckets + wanted(shape);
  const double rounds = packed_bytes(shape) * 8 / std::log2(buckets);
  const double moved = 3.3 * n * packed_bytes(shape) + left * element_bytes(shape);
  return cuda_cost(shape, statistics,
                   {.launches = rounds + 6,
                    .bytes = moved + taking_bytes(shape),
                    .elements = left,
                    .other = {{"counters", rounds * buckets, kCudaCounter}}});
}

}  // namespace skyrank::planner::cost
