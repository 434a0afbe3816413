#include "planner/cost/models.hpp"
#include "planner/cost/prefilter.hpp"

namespace skyrank::planner::cost {

Cost blocked_bitmap(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
                    const Values& /*values*/) {
  constexpr double kFirstRows = 8192;  // that meet each other before there are blocks enough for all threads
  constexpr double kBlockRows = 512;
  constexpr double kLevels = 256;  // of a dimension
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double kept = skyline_rows(shape, statistics);
  const PrefilteredRows rows = prefiltered_rows(shape, statistics);
  const double row_threads = threads_used(n, 16384, machine);
  const double threads = threads_used(rows.survivors, 512, machine);
  // A row meets the blocks before it until one holds its dominator, after about a square root of the skyline's rows. A
  // row that stays meets all of them: some are closed by their corner, the others take an intersection a dimension.
  // Rows of the same levels meet one by one: these are many where all rows lie on a curve.
  const double words = static_cast<double>(shape.width) / 4;
  const double rows_weight = (1 + words) / 2;
  const double met = d == 2 ? 0 : kept;  // two columns are swept: no row meets others
  Cost cost{{{"start", 1, 30e-6}}, rows.survivors * (48 + d * (4 + static_cast<double>(shape.width)))};
  cost.terms.append(prefilter_terms(shape, rows, words, row_threads));
  cost.terms.append(Terms{{"threads", threads - 1, 18e-6},
                          {"survivors", rows_weight * rows.survivors / threads, 40e-9},
                          {"survivor-keys", words * rows.survivors * d / threads, 1e-9},
                          {"dominators", rows_weight * n * std::sqrt(met) / row_threads, 0.5e-9},
                          {"first-keys", words * std::min(met, kFirstRows) * d, 20e-9},
                          {"corners", met * std::sqrt(met) / threads, 1e-9},
                          {"block-keys", met * met / 2 / kBlockRows * d / threads, 0.1e-9},
                          {"level-mates", met * met / kLevels * statistics.together / threads, 20e-9}});
  return cost;
}

}  // namespace skyrank::planner::cost
