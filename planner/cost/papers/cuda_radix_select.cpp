#include <span>
#include <vector>

#include "planner/cost/papers/cuda_selection.hpp"
#include "planner/cost/papers/models.hpp"

namespace skyrank::planner::cost {

// The paper has 8 bits; 11 are the most whose counters fit beside each other, and save a pass over the keys.
std::span<const Values> cuda_radix_select_candidates(const kernels::TopKShape& /*shape*/) {
  static const std::vector<Values> kValues = {{{"digit_bits", 11}}, {{"digit_bits", 8}}};
  return kValues;
}

Cost cuda_radix_select(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/,
                       const Values& values) {
  const double n = static_cast<double>(shape.n);
  // All keys are counted by their leading digit, and once more by the next one, as the bucket with the k-th is cut out;
  // what is left by then is a small part of them. Digits that all keys share leave them all.
  const double bits = value_or(values, "digit_bits", 11);
  const double rounds = 1 + packed_bytes(shape) * 8 / bits + 3;  // digits of a key and of a row id
  const double left = n / 64 + wanted(shape);
  const double shared = std::floor(shared_bits(shape, statistics) / bits);
  const double moved = (2.2 + shared) * n * packed_bytes(shape) + left * element_bytes(shape);
  return cuda_cost(shape, statistics,
                   {.launches = rounds,
                    .bytes = moved + taking_bytes(shape),
                    .elements = left,
                    .other = {{"counters", rounds * std::exp2(bits), kCudaCounter}}});
}

}  // namespace skyrank::planner::cost
