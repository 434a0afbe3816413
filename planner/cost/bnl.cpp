#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"
#include "planner/estimate.hpp"

namespace skyrank::planner::cost {

double bnl(const kernels::SkylineShape& shape, const Machine& machine) {
  constexpr double kStart = 0.2e-6;
  constexpr double kTest = 3e-9;     // one comparison of two rows,
  constexpr double kTestKey = 1e-9;  // with this for each key it looks at; most are settled by the first few
  constexpr double kCopyKey = 0.8e-9;
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double kept = expected_skyline(shape.n, shape.d);
  // A row that stays meets the whole window; for others its self-organised front is enough more often than not.
  const double tests = n + kept * kept + (n - kept) * std::sqrt(kept);
  const double keys_seen = shape.general_order ? d : std::min(d, 4.0);
  const double seconds = tests * (kTest + kTestKey * keys_seen) + kCopyKey * n * d;
  return kStart + seconds / threads_used(n, 2048, machine);
}

}  // namespace skyrank::planner::cost
