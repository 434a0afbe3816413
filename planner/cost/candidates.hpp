#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/common/problem.hpp"
#include "planner/facts/statistics.hpp"

// Estimates the rows that a sampled bound leaves to a top-k.
namespace skyrank::planner::cost {

/// The facts that sampled-threshold knows before its pass over the rows.
struct Candidates {
  bool zones = false;    ///< true if its bound comes from zones
  bool kept = false;     ///< and a map of them is kept from an earlier query
  double looked_at = 0;  ///< rows of the sample, or of the zones' map
  double rows = 0;       ///< rows that pass the filter and are not above the bound
  double tested = 0;     ///< rows up to the bound, before the filter
  bool late = false;     ///< true if only these meet the filter
};

/// The place in a sample whose row's rank is taken for a bound; of the k best rows so many are expected in the sample.
inline double bound_place(double expected) { return std::ceil(expected + 3.2 * std::sqrt(expected) + 1); }

/// Returns the candidates of a bound from the minima of zones: of a sample of them, or nearly exact from a map of all.
inline double candidates_of_zones(double n, double k) {
  constexpr double kSampledZones = 512;
  constexpr double kZonesPerSampled = 8;
  const double zones = n / kernels::kZoneRows;
  if (zones < kZonesPerSampled * kSampledZones) return k + 1;
  const double share = kSampledZones / zones;
  return std::max(k, bound_place(k * share) / share);
}

/// Returns the expected candidates. There is no bound for few rows, or if too few of the sample pass the filter: then
/// all rows that pass are candidates. The filter runs last, on rows up to the bound only, if these are few.
inline Candidates candidates_of(const kernels::TopKShape& shape, const Statistics& statistics) {
  constexpr double kMinZonedRows = 1 << 17;
  constexpr double kRowsPerZonedPlace = 8;
  constexpr double kRun = 5;      // a place beyond one run of sampled rows
  constexpr double kDearer = 16;  // a filter of single rows
  const double n = static_cast<double>(shape.n);
  const double passing = n * statistics.selectivity;
  const double k = std::min(passing, static_cast<double>(shape.k));
  const double first_bytes = shape.widths.empty() ? 0 : kernels::bits(shape.widths.front()) / 8.0;
  const bool bounded = n >= kMinZonedRows && k <= n / (kernels::kZoneRows * kRowsPerZonedPlace);
  Candidates result;
  result.kept = shape.fused && statistics.zone_map && bounded;
  result.zones = result.kept || (bounded && !shape.fused && shape.widths.size() == 1 && first_bytes >= 4);
  const double searched = result.zones ? n / kernels::kZoneRows : n;
  result.looked_at = std::min(searched, std::sqrt(3 * searched) + std::cbrt(4 * searched * k));
  const double share = n > 0 ? result.looked_at / searched : 1;
  const double place = std::min(k, std::max(shape.fused ? 1 : kRun, bound_place(k * share)));
  const bool found = share < 0.25 && 2 * k < n && 2 * place <= result.looked_at * statistics.selectivity;
  result.rows = result.zones ? candidates_of_zones(n, k) : found ? std::max(k, place / share) : passing;
  result.rows = std::min(result.rows, passing);
  const double selectivity = std::max(statistics.selectivity, 1 / std::max(n, 1.0));
  const double ahead = statistics.ahead > 0 ? statistics.ahead * n : result.rows / selectivity;
  result.tested = std::clamp(ahead, result.rows, n);
  result.late = shape.fused && statistics.selectivity < 1 && found && kDearer * result.tested < n;
  return result;
}

}  // namespace skyrank::planner::cost
