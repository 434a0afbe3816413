#include "planner/cost/models.hpp"
#include "planner/cost/prefilter.hpp"

namespace skyrank::planner::cost {

Cost sweep(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
           const Values& /*values*/) {
  constexpr double kSampledRows = 8192;  // from here on a sample is taken
  constexpr double kSlabRows = 8192;
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double words = static_cast<double>(shape.width) / 4;
  const bool sampled = n >= kSampledRows;
  const double kept = skyline_rows(shape, statistics);
  PrefilteredRows rows = prefiltered_rows(shape, statistics);
  // A single row drops fewer than the strongest of a sample.
  if (!sampled) rows = {.survivors = std::max(kept, n * std::sqrt(surviving_share(shape, statistics)))};
  const double row_threads = sampled ? threads_used(n, 16384, machine) : 1;
  const double threads = threads_used(rows.survivors, kSlabRows, machine);
  // The survivors are put in order of the first key. Of three columns each slab of a thread is also put in order of the
  // second, and each row looks for its place in a staircase.
  const double stairs = d > 2 ? rows.survivors : 0;
  Cost cost{{{"start", 1, 1e-6}, {"few-keys", sampled ? 0 : n * d, 2e-9}, {"samples", sampled ? 1.0 : 0, 50e-6}},
            4 * n + rows.survivors * (25 + d * static_cast<double>(shape.width)) +
                stairs * (28 + 2 * static_cast<double>(shape.width))};
  Terms prefilters = prefilter_terms(shape, rows, words, row_threads);
  if (!sampled) {
    for (Term& term : prefilters) term.count = 0;
  }
  cost.terms.append(prefilters);
  cost.terms.append(Terms{{"threads", threads - 1, 15e-6},
                          {"sorted", rows.survivors / threads, 50e-9},
                          {"staircase", stairs / threads, 110e-9}});
  return cost;
}

}  // namespace skyrank::planner::cost
