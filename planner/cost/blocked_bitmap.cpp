#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

Cost blocked_bitmap(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
                    const Values& /*values*/) {
  constexpr double kSampleRows = 4096;
  constexpr double kFirstRows = 8192;  // that meet each other before there are blocks enough for all threads
  constexpr double kBlockRows = 512;
  constexpr double kElite = 4096;  // rows that the strongest are looked for among; of four times as many
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double sample = std::min(n, kSampleRows);
  const double kept = skyline_rows(shape, statistics);
  // A few strong rows of a sample, larger than the one of the statistics and so with stronger rows, spare some; if
  // these are many, a block of the strongest among them spares the fewer.
  const double seen = statistics.sample > 0 ? static_cast<double>(statistics.sample) : sample;
  const double dims = statistics.sample > 0 ? statistics.growth.dims : d;
  const double spared =
      std::max(kept, n * surviving_share(shape, statistics) * std::pow(std::min(1.0, seen / sample), 1 / dims));
  const double again = std::clamp(spared / kElite - 3, 0.0, 1.0);
  const double survivors = std::max(kept, std::min(spared, std::max(4 * kElite, std::sqrt(kept * n))));
  const double row_threads = threads_used(n, 16384, machine);
  const double threads = threads_used(survivors, 512, machine);
  // A row meets the blocks before it until one holds its dominator, after about a square root of the skyline's rows. A
  // row that stays meets all of them: some are closed by their corner, the others take an intersection a dimension.
  const double words = static_cast<double>(shape.width) / 4;
  const double rows_weight = (1 + words) / 2;  // of a row, whose other half is its places and sets
  const double met = d == 2 ? 0 : kept;        // two columns are swept: no row meets others
  return {{{"start", 1, 30e-6},
           {"sample-rows", sample, 2e-9},
           {"sample-keys", words * sample * d, 4e-9},
           {"row-threads", row_threads - 1, 8e-6},
           {"threads", threads - 1, 18e-6},
           {"keys", words * n * d / row_threads, 0.5e-9},
           {"spared", rows_weight * spared / row_threads, 10e-9},
           {"elite", again * kElite, 40e-9},
           {"elite-keys", words * again * kElite * d, 20e-9},
           {"survivors", rows_weight * survivors / threads, 40e-9},
           {"survivor-keys", words * survivors * d / threads, 1e-9},
           {"dominators", rows_weight * n * std::sqrt(met) / row_threads, 0.5e-9},
           {"first-keys", words * std::min(met, kFirstRows) * d, 20e-9},
           {"corners", met * std::sqrt(met) / threads, 1e-9},
           {"block-keys", met * met / 2 / kBlockRows * d / threads, 0.1e-9}},
          survivors * (48 + d * (4 + static_cast<double>(shape.width)))};
}

}  // namespace skyrank::planner::cost
