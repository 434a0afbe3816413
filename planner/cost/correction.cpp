#include "planner/cost/correction.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "planner/cost/common.hpp"

namespace skyrank::planner::cost {
namespace {

/// A logarithm about 0 and within [-2, 2], for sizes from `least` to `most`.
double scaled(double size, double least, double most) {
  const double middle = std::log(least * most) / 2;
  const double quarter = std::log(most / least) / 4;
  return std::clamp((std::log(std::max(size, 1e-9)) - middle) / quarter, -2.0, 2.0);
}

// clang-format off
constexpr std::string_view kSkylineNames[] = {
    "all", "n", "d", "kept", "spared", "wide", "alone", "n^2", "d^2", "kept^2", "spared^2", "n*d", "n*kept",
    "n*spared", "d*kept", "d*spared", "kept*spared", "wide*n", "wide*kept", "alone*n", "alone*kept", "n^3", "kept^3"};
// clang-format on

// clang-format off
constexpr std::string_view kRankingNames[] = {
    "all", "n", "k", "mixed", "n^2", "k^2", "n*k", "n*mixed", "k*mixed", "n^3", "k^3", "sampled", "parallel",
    "parallel*n", "zoned", "zoned*n", "zoned*k", "width", "width*n", "width*k", "columns", "columns*n", "columns*k",
    "ties", "ties*n", "fused", "fused*n", "fused*k", "passing", "passing*n", "passing*k", "alone", "alone*n",
    "equal", "equal*k", "distinct", "distinct*k", "sorted", "sorted*n", "sorted*k", "best", "best*k", "zoned*best",
    "zoned*sorted", "zoned*crowded", "worst", "sampled*sorted",
    "late", "late*n", "late*k", "some", "some*k", "some*crowded", "zoned*worst"};
// clang-format on

}  // namespace

std::span<const std::string_view> correction_names(bool ranking) {
  return ranking ? std::span<const std::string_view>(kRankingNames) : std::span<const std::string_view>(kSkylineNames);
}

std::vector<double> correction_values(const kernels::SkylineShape& shape, const Statistics& statistics,
                                      const Machine& machine) {
  const double n = scaled(static_cast<double>(shape.n), 300, 1e6);
  const double d = scaled(static_cast<double>(shape.d), 2, 12);
  const double kept = scaled(skyline_rows(shape, statistics), 1, 3e5);
  const double spared = scaled(surviving_share(shape, statistics), 0.003, 1);
  const double wide = shape.width == kernels::KeyWidth::bytes8 ? 1 : 0;
  const double alone = machine.threads == 1 ? 1 : 0;
  // clang-format off
  return {1, n, d, kept, spared, wide, alone, n * n, d * d, kept * kept, spared * spared, n * d, n * kept,
          n * spared, d * kept, d * spared, kept * spared, wide * n, wide * kept, alone * n, alone * kept,
          n * n * n, kept * kept * kept};
  // clang-format on
}

std::vector<double> correction_values(const kernels::TopKShape& shape, const Statistics& statistics,
                                      const Machine& machine) {
  constexpr double kSampled = 4096;       // where sampled-threshold begins to sample,
  constexpr double kParallel = 1 << 16;   // to use threads,
  constexpr double kZoned = 1 << 17;      // to look at zones,
  constexpr double kSomeZones = 1 << 20;  // and at some of them only
  const double rows = static_cast<double>(shape.n);
  const double places = std::max(1.0, static_cast<double>(shape.k));
  const double bytes = shape.widths.empty() ? 4 : kernels::bits(shape.widths.front()) / 8.0;
  const double n = scaled(rows, 300, 1.5e7);
  const double k = scaled(places, 1, 1e6);
  const double mixed = disorder(statistics) - 0.5;
  const double sampled = rows > kSampled ? 1 : 0;
  const double parallel = rows > kParallel && machine.threads > 1 ? 1 : 0;
  const double zoned = rows >= kZoned && places <= rows / 2048 && shape.widths.size() == 1 && bytes >= 4 ? 1 : 0;
  const double some = rows >= kSomeZones ? zoned : 0;
  const double width = std::log2(bytes) - 2;
  const double columns = static_cast<double>(shape.widths.size()) - 1;
  const double ties = shape.ties == kernels::TieRule::all ? 1 : 0;
  const double fused = shape.fused ? 1 : 0;
  const double passing = std::clamp(std::log(std::max(statistics.selectivity, 1e-3)) / 3, -1.5, 0.0);
  const double alone = machine.threads == 1 ? 1 : 0;
  const double equal = statistics.ties;
  const double crowded = std::min(1.0, 64 * statistics.ties);  // zones that have several rows of the k-th key
  const double distinct = 1 - statistics.distinct;
  const double best = disorder_of_best(statistics, false) - 0.5;
  const double sorted = std::pow(std::abs(2 * statistics.ascending - 1), 4);
  const double every = rows / (std::sqrt(3 * rows) + std::cbrt(4 * rows * places) + 1);
  const double late = fused == 1 && 16 * (places + 2 * every) < rows * statistics.selectivity ? 1 : 0;  // filter
  // clang-format off
  return {1, n, k, mixed, n * n, k * k, n * k, n * mixed, k * mixed, n * n * n, k * k * k, sampled, parallel,
          parallel * n, zoned, zoned * n, zoned * k, width, width * n, width * k, columns, columns * n, columns * k,
          ties, ties * n, fused, fused * n, fused * k, passing, passing * n, passing * k, alone, alone * n, equal,
          equal * k, distinct, distinct * k, sorted, sorted * n, sorted * k, best, best * k, zoned * best,
          zoned * sorted, zoned * crowded, statistics.worst, sampled * sorted, late, late * n, late * k, some,
          some * k, some * crowded, zoned * statistics.worst};
  // clang-format on
}

double correction_factor(std::span<const double> coefficients, std::span<const double> values) {
  if (coefficients.size() != values.size()) return 1;
  const double log = std::inner_product(coefficients.begin(), coefficients.end(), values.begin(), 0.0);
  return std::exp(std::clamp(log, -kMostCorrected, kMostCorrected));
}

}  // namespace skyrank::planner::cost
