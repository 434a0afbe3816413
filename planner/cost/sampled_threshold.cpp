#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {
namespace {

// Where the kernel takes its bound from zones.
constexpr double kLeastZonedRows = 1 << 17;
constexpr double kRowsPerZonedPlace = 8;

}  // namespace

// With a filter, places count among the rows that pass. A filter is looked at last, for candidates only, where these
// are few beside the rows that pass. A zone map that this run makes, or an earlier one, takes the place of the sample,
// and leaves the zones of the k best to be read again.
Cost sampled_threshold(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
                       const Values& /*values*/) {
  constexpr double kPlaces = 2;  // of the sample that the bound is set too high, and its square roots
  constexpr double kSpread = 3.2;
  constexpr double kFewRows = 4096;  // are all candidates, without a sample
  constexpr double kZone = kernels::kZoneRows;
  constexpr double kDearer = 16;  // a filter of single rows
  constexpr double kFewOrdered = 16384;
  constexpr double kSparse = 4;
  const double n = static_cast<double>(shape.n);
  const double passing = n * statistics.selectivity;
  const double k = std::min(passing, static_cast<double>(shape.k));
  const double first_bytes = shape.widths.empty() ? 0 : kernels::bits(shape.widths.front()) / 8.0;
  const bool bounded = n >= kLeastZonedRows && k <= n / (kZone * kRowsPerZonedPlace);
  const bool kept = shape.fused && statistics.zone_map && bounded;
  const bool zones = kept || (bounded && shape.widths.size() == 1 && first_bytes >= 4 && statistics.selectivity == 1);
  const double searched = zones ? n / kZone : n;
  const double sample = std::sqrt(3 * searched) + std::cbrt(4 * searched * k);
  const double every = searched / std::max(sample, 1.0);
  const bool sampled = k < passing / 2;
  const double spare = kSpread * std::sqrt(k * every) + kPlaces * every;
  const double candidates = sampled ? std::min(passing, k + spare) : passing;
  const bool fused_filter = shape.fused && statistics.selectivity < 1;
  const bool late = fused_filter && sampled && kDearer * (k + 2 * every) < passing;
  const bool filters = fused_filter && !late;
  const double tested_late = late ? std::min(n, candidates / statistics.selectivity) : 0;
  const double threads = threads_used(n, 32768, machine);
  const double read = passes(shape) * first_bytes * (kept ? searched : n) / threads;
  const double wide = rank_weight(shape);
  const double of_thread = candidates / threads_used(candidates, 32768, machine);
  const double mixed = disorder(statistics);
  Cost cost{{{"start", 1, 0.5e-6},
             {"threads", threads - 1, 1e-6},
             {"sample-rows", wide * std::min(sample, n), 8e-9},
             {"first-rows", std::min(n, kFewRows), 2e-9},
             {"first-rows-mixed", mixed * std::min(n, kFewRows / 4), 30e-9},
             {"sample-mixed", mixed * wide * std::min(sample, n), 20e-9},
             {"bytes", read, 0.04e-9},
             {"bytes-far", read * beyond(first_bytes * n, kSharedCache), 0.04e-9},
             {"keys-made", shape.fused ? passes(shape) * n / threads : 0, 0.5e-9},
             {"rows-filtered", filters ? passes(shape) * n / threads : 0, 0.5e-9},
             {"rows-tested-late", tested_late / threads, 10e-9},
             {"zone-rows", zones ? std::min(n, k * kZone) / threads : 0, 1e-9},
             {"candidates", wide * of_thread, 8e-9},
             {"candidates-mixed", disorder_of_best(statistics, true) * of_thread, 4e-9},
             {"candidates-far", of_thread * beyond(candidates * rank_bytes(shape), kOwnCache), 4e-9}},
            2 * candidates * rank_bytes(shape)};
  // Many candidates, unless they are many times as many as the answer, are all put in order digit by digit.
  const bool all = candidates > kFewOrdered && candidates <= kSparse * k;
  add_order(cost.terms, shape, all ? candidates : k, statistics, machine);
  return cost;
}

}  // namespace skyrank::planner::cost
