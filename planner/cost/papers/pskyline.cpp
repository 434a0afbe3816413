#include <algorithm>
#include <cmath>

#include "planner/cost/common.hpp"
#include "planner/cost/papers/models.hpp"

namespace skyrank::planner::cost {

Cost pskyline(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
              const Values& values) {
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double threads = std::max(1.0, static_cast<double>(machine.threads));
  const double wanted = value_or(values, "parts", 0);
  const double parts = std::clamp(wanted > 0 ? wanted : threads, 1.0, std::max(1.0, n));
  kernels::SkylineShape part = shape;
  part.n = static_cast<std::size_t>(n / parts);
  const double kept = skyline_rows(shape, statistics);
  const double kept_of_part = std::min(kept, skyline_rows(part, statistics));
  const double parts_of_thread = std::max(1.0, parts / threads);
  // SSkyline compares each row that stays with all behind it, and the others until one row dominates them. A merge
  // compares all rows of the skyline so far with those of one part. Most tests are settled by the first few keys.
  const double seen = std::min(d, 4.0);
  const double dropped = std::max(0.0, n / parts - kept_of_part) * std::sqrt(kept_of_part);
  return {{{"start", 1, 2e-6},
           {"threads", threads - 1, 6e-6},
           {"keys", n * d / threads, 4e-9},
           {"tests", parts_of_thread * kept_of_part * kept_of_part / 2 * seen, 2e-9},
           {"front-tests", parts_of_thread * dropped, 3e-9},
           {"merges", parts - 1, 10e-6},
           {"merge-tests", (parts - 1) * kept * kept_of_part * seen / threads, 1.5e-9}},
          n * (4 + d * static_cast<double>(shape.width))};
}

}  // namespace skyrank::planner::cost
