#include "planner/cost/correction.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "planner/cost/candidates.hpp"
#include "planner/cost/common.hpp"
#include "planner/cost/rbf_kernel.hpp"

namespace skyrank::planner::cost {
namespace {

/// A logarithm about 0 and within [-2, 2], for sizes from `least` to `most`.
double scaled(double size, double least, double most) {
  const double middle = std::log(least * most) / 2;
  const double quarter = std::log(most / least) / 4;
  return std::clamp((std::log(std::max(size, 1e-9)) - middle) / quarter, -2.0, 2.0);
}

constexpr std::string_view kSkylineNames[] = {
    "n",      "d",    "kept",  "spared",   "wide",   "threads", "rank-correlation",
    "sample", "dims", "drift", "resident", "seconds"};
constexpr std::string_view kRankingNames[] = {
    "n",    "k",     "candidates", "mixed", "best",  "sorted",  "distinct", "equal",    "crowded", "worst",  "zoned",
    "some", "width", "columns",    "ties",  "fused", "passing", "late",     "resident", "threads", "seconds"};

constexpr std::size_t place_of(std::span<const std::string_view> names, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
}

/// Keys that lie on a GPU, beside those that are sent there.
constexpr double kResident = 0.75;

/// Returns the logarithm of seconds, clamped to between a microsecond and ten seconds.
double scaled_seconds(double seconds) { return std::log(std::clamp(seconds, 1e-6, 10.0) / 1e-4); }

double scaled_threads(int threads) { return std::log2(std::max(1.0, static_cast<double>(threads))); }

}  // namespace

std::span<const std::string_view> correction_names(bool ranking) {
  return ranking ? std::span<const std::string_view>(kRankingNames) : std::span<const std::string_view>(kSkylineNames);
}

Features::Features(std::span<const std::string_view> names, double of_threads)
    : values_(),
      count_(names.size()),
      threads_at_(place_of(names, "threads")),
      seconds_at_(place_of(names, "seconds")),
      of_threads_(of_threads) {
  static_assert(std::size(kRankingNames) <= kMax && std::size(kSkylineNames) <= kMax);
}

// Scales are those at which each run of planner/data was best predicted by all others.
Features::Features(const kernels::SkylineShape& shape, const Statistics& statistics) : Features(kSkylineNames, 0.1) {
  const bool seen = statistics.sample > 0;
  values_ = {0.375 * scaled(static_cast<double>(shape.n), 300, 1e6),
             0.25 * scaled(static_cast<double>(shape.d), 2, 12),
             0.56 * scaled(skyline_rows(shape, statistics), 1, 3e5),
             0.56 * scaled(surviving_share(shape, statistics), 0.003, 1),
             shape.width == kernels::KeyWidth::bytes8 ? 0.75 : 0,
             0,  // threads
             statistics.correlation,
             seen ? 0.375 * std::log2(static_cast<double>(statistics.sample) / 128) : 0,
             seen ? 0.25 * std::log(statistics.growth.dims) : 0,
             seen ? 2.25 * statistics.growth.drift : 0,
             statistics.memory == kernels::Memory::device ? kResident : 0,
             0};  // seconds
}

Features::Features(const kernels::TopKShape& shape, const Statistics& statistics) : Features(kRankingNames, 0.19) {
  constexpr double kZoned = 1 << 17;      // where sampled-threshold looks at zones,
  constexpr double kSomeZones = 1 << 20;  // and at some of them only
  const double rows = static_cast<double>(shape.n);
  const double places = std::max(1.0, static_cast<double>(shape.k));
  const double bytes = shape.widths.empty() ? 4 : kernels::bits(shape.widths.front()) / 8.0;
  const bool zoned = rows >= kZoned && places <= rows / 2048 && shape.widths.size() == 1 && bytes >= 4;
  const Candidates candidates = candidates_of(shape, statistics);
  values_ = {1.5 * scaled(rows, 300, 1.5e7),
             0.75 * scaled(places, 1, 1e6),
             1.5 * scaled(candidates.rows, 1, 1e6),
             0.125 * (disorder(statistics) - 0.5),
             1.5 * (disorder_of_best(statistics, false) - 0.5),
             0.5 * std::pow(std::abs(2 * statistics.ascending - 1), 4),
             0.75 * (1 - statistics.distinct),
             4.5 * statistics.ties,
             0.375 * std::min(1.0, 64 * statistics.ties),  // zones that have several rows of the k-th key
             0.67 * statistics.worst,
             zoned ? 0.5 : 0,
             zoned && rows >= kSomeZones ? 0.375 : 0,
             0.67 * (std::log2(bytes) - 2),
             0.25 * (static_cast<double>(shape.widths.size()) - 1),
             shape.ties == kernels::TieRule::all ? 1.5 : 0,
             shape.fused ? 1.0 : 0,
             0.5 * std::clamp(std::log(std::max(statistics.selectivity, 1e-3)) / 3, -1.5, 0.0),
             candidates.late ? 0.25 : 0,
             statistics.memory == kernels::Memory::device ? kResident : 0,
             0,   // threads
             0};  // seconds
}

std::span<const double> Features::of(int threads, double seconds) {
  values_[threads_at_] = of_threads_ * scaled_threads(threads);
  values_[seconds_at_] = 0.33 * scaled_seconds(seconds);
  return std::span(values_).first(count_);
}

double correction_factor(const Correction& correction, std::span<const double> values) {
  const std::size_t count = correction.weights.size();
  if (correction.linear.size() != values.size() + 1 || correction.points.size() != count * values.size()) return 1;
  std::array<float, Features::kMax> place;
  std::ranges::transform(values, place.begin(), [](double value) { return static_cast<float>(value); });
  const double log =
      std::inner_product(values.begin(), values.end(), correction.linear.begin() + 1, correction.linear.front()) +
      weighted_rbf_kernel(correction.points, correction.weights, std::span(place).first(values.size()));
  return std::exp(std::clamp(log, -kMaxCorrected, kMaxCorrected));
}

}  // namespace skyrank::planner::cost
