#include "planner/cost/candidates.hpp"
#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

// A zone map that this run makes, or an earlier one, takes the place of the sample, and leaves the zones of the k best
// to be read again.
Cost sampled_threshold(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
                       const Values& /*values*/) {
  constexpr double kFewRows = 4096;  // are all selected among, without a sample
  constexpr double kZone = kernels::kZoneRows;
  constexpr double kFewOrdered = 16384;
  constexpr double kSparse = 4;
  const double n = static_cast<double>(shape.n);
  const Candidates found = candidates_of(shape, statistics);
  const double k = std::min(n * statistics.selectivity, static_cast<double>(shape.k));
  const bool few = n <= kFewRows;
  const double candidates = few ? 0 : found.rows;
  const double sample = found.looked_at;
  const double first_bytes = shape.widths.empty() ? 0 : kernels::bits(shape.widths.front()) / 8.0;
  const bool filters = shape.fused && statistics.selectivity < 1 && !found.late;
  const double tested_late = found.late ? found.tested : 0;
  const double threads = threads_used(n, 32768, machine);
  const double read = passes(shape) * bytes_of_thread(first_bytes * (found.kept ? n / kZone : n), threads, machine);
  const double wide = rank_weight(shape);
  const double of_thread = candidates / threads_used(candidates, 32768, machine);
  const double mixed = disorder(statistics);
  Cost cost{{{"start", 1, 0.5e-6},
             {"threads", threads - 1, 1e-6},
             {"sample-rows", wide * sample, 8e-9},
             {"few-rows", few ? wide * n : 0, 1e-9},
             {"few-rows-mixed", few ? mixed * wide * n : 0, 8e-9},
             {"sample-mixed", mixed * wide * sample, 20e-9},
             {"bytes", read, 0.04e-9},
             {"bytes-far", read * beyond(first_bytes * n, kSharedCache), 0.04e-9},
             {"keys-made", shape.fused ? passes(shape) * n / threads : 0, 0.5e-9},
             {"rows-filtered", filters ? passes(shape) * n / threads : 0, 0.5e-9},
             {"rows-tested-late", tested_late / threads, 10e-9},
             {"zone-rows", found.zones ? std::min(n, k * kZone) / threads : 0, 1e-9},
             {"candidates", wide * of_thread, 8e-9},
             {"candidates-mixed", disorder_of_best(statistics, true) * of_thread, 4e-9},
             {"candidates-far", of_thread * beyond(candidates * rank_bytes(shape), kOwnCache), 4e-9}},
            2 * (few ? n * statistics.selectivity : candidates) * rank_bytes(shape)};
  // Many candidates, unless they are many times as many as the answer, are all put in order digit by digit.
  const bool all = candidates > kFewOrdered && candidates <= kSparse * k;
  add_order(cost.terms, shape, all ? candidates : k, statistics, machine);
  return cost;
}

}  // namespace skyrank::planner::cost
