#pragma once

#include <algorithm>
#include <cmath>

#include "planner/cost/common.hpp"

namespace skyrank::planner::cost {

/// The rows that the prefilters of blocked-bitmap leave, which sweep uses, too.
struct PrefilteredRows {
  static constexpr double kElite = 4096;  ///< rows that the strongest are looked for among; of four times as many
  static constexpr double kSampleRows = 4096;

  double sample = 0;     ///< rows of the sample
  double spared = 0;     ///< rows that the first prefilter leaves
  double again = 0;      ///< share of the second prefilter's fixed work that is done
  double survivors = 0;  ///< rows that both leave
};

/// A few strong rows of a sample, larger than the one of the statistics and so with stronger rows, spare some; if these
/// are many, a block of the strongest among them spares the fewer.
inline PrefilteredRows prefiltered_rows(const kernels::SkylineShape& shape, const Statistics& statistics) {
  const double n = static_cast<double>(shape.n);
  const double kept = skyline_rows(shape, statistics);
  PrefilteredRows rows{.sample = std::min(n, PrefilteredRows::kSampleRows)};
  const double seen = statistics.sample > 0 ? static_cast<double>(statistics.sample) : rows.sample;
  const double dims = statistics.sample > 0 ? statistics.growth.dims : static_cast<double>(shape.d);
  const double stronger = std::pow(std::min(1.0, seen / rows.sample), 1 / dims);
  rows.spared = std::max(kept, n * surviving_share(shape, statistics) * stronger);
  rows.again = std::clamp(rows.spared / PrefilteredRows::kElite - 3, 0.0, 1.0);
  rows.survivors = std::max(kept, std::min(rows.spared, std::max(4 * PrefilteredRows::kElite, std::sqrt(kept * n))));
  return rows;
}

/// Returns the terms of the prefilters for rows of `words` words a key, on `threads` threads.
inline Terms prefilter_terms(const kernels::SkylineShape& shape, const PrefilteredRows& rows, double words,
                             double threads) {
  const double d = static_cast<double>(shape.d);
  const double elite = rows.again * PrefilteredRows::kElite;
  const double rows_weight = (1 + words) / 2;  // of a row, whose other half is its places and sets
  return {{"sample-rows", rows.sample, 2e-9},
          {"sample-keys", words * rows.sample * d, 4e-9},
          {"row-threads", threads - 1, 8e-6},
          {"keys", words * static_cast<double>(shape.n) * d / threads, 0.5e-9},
          {"spared", rows_weight * rows.spared / threads, 10e-9},
          {"elite", elite, 40e-9},
          {"elite-keys", words * elite * d, 20e-9}};
}

}  // namespace skyrank::planner::cost
