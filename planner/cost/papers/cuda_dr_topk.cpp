#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "kernels/papers/common/subrange.hpp"
#include "planner/cost/cuda_common.hpp"
#include "planner/cost/papers/models.hpp"

namespace skyrank::planner::cost {
namespace dr = kernels::cuda::topk::delegate;

constexpr std::int64_t kGreatestAlpha = 13;

// Rule 4 is where equation 6 is least; with the machine's own factors that may be a little further. Two delegates a
// subrange (section 4.3) and radix as assistant are not priced: no runs compare their values with each other.
std::span<const Values> cuda_dr_topk_candidates(const kernels::TopKShape& shape) {
  static const std::vector<Values> kValues = [] {
    std::vector<Values> values;
    for (std::int64_t alpha = dr::kMinExponent; alpha <= kGreatestAlpha; ++alpha) {
      values.push_back({{"alpha", alpha}});
    }
    return values;
  }();
  const double n = std::max(1.0, static_cast<double>(shape.n));
  const double k = std::clamp(static_cast<double>(shape.k), 1.0, n);
  const auto rule = static_cast<std::int64_t>(dr::best_exponent(n, k));
  const auto allowed = [](std::int64_t alpha) {
    return std::clamp<std::int64_t>(alpha, dr::kMinExponent, kGreatestAlpha);
  };
  const std::int64_t first = allowed(rule - 1);
  return std::span(kValues).subspan(static_cast<std::size_t>(first - dr::kMinExponent),
                                    static_cast<std::size_t>(allowed(rule + 1) - first + 1));
}

// Equation 6 of Gaihre et al., SC 2021 at its best subrange size, in bytes: its first term reads the keys, the others
// move elements, which are twice as large. Its factors are those of an H200: what finding a subrange's delegates costs
// beside reading its keys, and each element of the subranges that are read again, and each that is chosen.
Cost cuda_dr_topk(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/,
                  const Values& values) {
  constexpr double kLaunches = 14;
  constexpr double kOfSubrange = 10;
  constexpr double kOfChosen = 27;
  const double n = std::max(1.0, static_cast<double>(shape.n));
  const double k = std::clamp(static_cast<double>(shape.k), 1.0, n);
  const double given = value_or(values, "alpha", 0);
  const double rule = std::clamp<double>(dr::best_exponent(n, k), dr::kMinExponent, dr::kGreatestExponent);
  const double length = std::exp2(given > 0 ? given : rule);
  const double bytes = element_bytes(shape);
  const bool useful = k <= n / 16;
  const double read = useful ? n : dr::radix_cost(n, k) + n;
  return cuda_cost(shape, statistics,
                   {.launches = kLaunches,
                    .bytes = read * packed_bytes(shape),
                    .elements = 2 * n / length + k,
                    .other = {{"delegates", useful ? n / length * bytes : 0, kOfSubrange * kCudaByte},
                              {"concatenated", useful ? k * length * bytes : 0, kCudaByte},
                              {"chosen", useful ? k * bytes : 0, kOfChosen * kCudaByte}}});
}

}  // namespace skyrank::planner::cost
