#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

Cost sort(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
          const Values& /*values*/) {
  const double n = static_cast<double>(shape.n);
  const double threads = threads_used(n, 16384, machine);
  // It looks for runs first: what ascends is done, what descends is turned round.
  const double ascends = statistics.ascending > 0.5 ? std::pow(2 * statistics.ascending - 1, 8) : 0;
  const double descends = statistics.ascending < 0.5 ? std::pow(1 - 2 * statistics.ascending, 8) : 0;
  // A sample cannot tell that no row of all is out of order, and one would be enough. Least of all can one whose keys
  // are equal, as only different ones show an order: by the rule of succession, u of them leave a doubt of 1 / u.
  constexpr double kDoubt = 0.1;
  const double different = std::max(1.0, statistics.distinct * static_cast<double>(statistics.sample));
  const double doubt = std::max(kDoubt, 1 / different);
  const double steps = rank_weight(shape) * sort_steps(n) * std::max(doubt, 1 - ascends - descends);
  return {{{"start", 1, 0.3e-6},
           {"ranks", scan_weight(shape) * n / threads, 1e-9},
           {"ranks-far", scan_weight(shape) * n * beyond(n * rank_bytes(shape), kSharedCache), 3e-9},
           {"run", ascends * n, 0.3e-9},
           {"run-backwards", descends * n, 2.5e-9},
           {"sort", steps, 0.5e-9},
           {"sort-shared", steps / threads, 4e-9}},
          n * rank_bytes(shape)};
}

}  // namespace skyrank::planner::cost
