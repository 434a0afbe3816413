#include "planner/sampling.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include "planner/choose.hpp"
#include "planner/dominance_counts.hpp"
#include "planner/facts/estimate.hpp"

namespace skyrank::planner {
namespace {

using kernels::KeyColumn;
using kernels::KeyWidth;
using kernels::RowId;

constexpr std::size_t kRankedRows = 64;  ///< rows of the sample that correlations are computed from
constexpr std::size_t kStrongRows = 8;   ///< about as many as prefilters take
constexpr std::size_t kMinSample = 64;   ///< least sample whose skyline is meaningful
constexpr std::size_t kMaxSample = 16384;

std::uint64_t key_at(const KeyColumn& column, std::size_t row) {
  switch (column.width) {
    case KeyWidth::bytes1: return column.as<std::uint8_t>()[row];
    case KeyWidth::bytes2: return column.as<std::uint16_t>()[row];
    case KeyWidth::bytes4: return column.as<std::uint32_t>()[row];
    case KeyWidth::bytes8: break;
  }
  return column.as<std::uint64_t>()[row];
}

std::vector<std::uint64_t> keys_of(const KeyColumn& column, std::size_t rows) {
  std::vector<std::uint64_t> keys(rows);
  for (std::size_t row = 0; row < rows; ++row) keys[row] = key_at(column, row);
  return keys;
}

/// Ranks of keys, equal ones sharing the mean of theirs, about 0 and of length 1 (or all 0, where all are equal).
Eigen::VectorXd unit_ranks(const std::vector<std::uint64_t>& keys) {
  const std::size_t m = keys.size();
  std::vector<std::uint32_t> order(m);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return keys[i]; });
  Eigen::VectorXd ranks(static_cast<Eigen::Index>(m));
  for (std::size_t begin = 0, end = 0; begin < m; begin = end) {
    for (end = begin; end < m && keys[order[end]] == keys[order[begin]]; ++end) {
    }
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + end - 1) / 2;
  }
  ranks.array() -= static_cast<double>(m - 1) / 2;
  const double length = ranks.norm();
  return length > 0 ? Eigen::VectorXd(ranks / length) : ranks;
}

/// Share of neighbours of which the second is no less.
double ascending_share(const std::vector<std::uint64_t>& keys) {
  if (keys.size() < 2) return 0.5;
  std::size_t descents = 0;
  for (std::size_t i = 1; i < keys.size(); ++i) descents += keys[i] < keys[i - 1] ? 1 : 0;
  return 1 - static_cast<double>(descents) / static_cast<double>(keys.size() - 1);
}

/// Mean rank correlation of two dimensions, by some of the rows. Of unit vectors, the square of their sum has all
/// products of two, those with themselves among them.
double correlation_of(const DominanceCounts& dominance_counts, std::size_t rows) {
  const auto d = static_cast<double>(dominance_counts.dims);
  if (d < 2) return 0;
  const std::size_t step = std::max<std::size_t>(1, (rows + kRankedRows - 1) / kRankedRows);
  const std::size_t count = (rows + step - 1) / step;
  Eigen::VectorXd column(static_cast<Eigen::Index>(count));
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(column.size());
  double with_themselves = 0;
  for (std::size_t j = 0; j < dominance_counts.dims; ++j) {
    const std::uint32_t* const places = dominance_counts.places.data() + j * rows;
    for (std::size_t i = 0; i < count; ++i) column[static_cast<Eigen::Index>(i)] = places[i * step];
    column.array() -= column.mean();
    const double length = column.norm();
    if (length == 0) continue;  // all equal
    sum += column / length;
    with_themselves += 1;
  }
  return (sum.squaredNorm() - with_themselves) / (d * (d - 1));
}

/// Returns the share of neighbours in the first dimension that are close in all others, too: within the levels that
/// kernels cut a dimension in. Equal rows do not count.
double share_together(const DominanceCounts& dominance_counts, std::size_t rows) {
  constexpr std::uint32_t kLevels = 256;
  if (dominance_counts.dims < 2 || rows < 2) return 0;
  const std::uint32_t* const places = dominance_counts.places.data();
  std::vector<std::uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](std::uint32_t row) { return places[row]; });
  const std::uint32_t near = std::max(1u, static_cast<std::uint32_t>(rows) / kLevels);
  std::size_t together = 0;
  for (std::size_t i = 1; i < rows; ++i) {
    std::uint32_t furthest = 0;
    for (std::size_t j = 0; j < dominance_counts.dims; ++j) {
      const std::uint32_t a = places[j * rows + order[i - 1]];
      const std::uint32_t b = places[j * rows + order[i]];
      furthest = std::max(furthest, std::max(a, b) - std::min(a, b));
    }
    together += furthest > 0 && furthest <= near ? 1 : 0;
  }
  return static_cast<double>(together) / static_cast<double>(rows - 1);
}

/// Says how far the fit may be off. The size of a sample's skyline has about the variance of a count, and the slope is
/// that of counts of samples that have most rows in common.
void add_doubt(SkylineGrowth& growth, double stay, double trust) {
  constexpr double kDeviations = 2;
  constexpr double kOfSlope = 0.7;    // of the dimensions' doubt
  constexpr double kOfShape = 0.12;   // what a curve may turn beyond the sample
  constexpr double kUntrusted = 0.3;  // where hardly any rows tell the slope
  const double error = kDeviations / std::sqrt(stay);
  const double most = effective_dims(growth.sample, std::min(stay * (1 + error), growth.sample));
  const double least = effective_dims(growth.sample, std::max(stay * (1 - error), 1.0));
  growth.dims_doubt = std::max(most - least, 0.0) / 2;
  growth.drift_doubt = std::hypot(kOfSlope * growth.dims_doubt, kOfShape, kUntrusted * (1 - trust));
}

/// Fits a line through the effective dimensions of random halves, quarters and eighths of the sample beside its own,
/// over the logarithm of rows. The fewer rows are in the sample's skyline, the more of the slope is noise, and the more
/// it is taken to be what most data have: nearly none, and a falling one where more rows stay than in independent data.
SkylineGrowth growth_of(const DominanceCounts& dominance_counts, double m) {
  constexpr double kMinDrift = -0.5;
  constexpr double kMaxDrift = 1;  // every row stays, or a fixed share of the rows
  constexpr double kRowsOfDoubt = 10;
  constexpr double kUsual = 0.05;
  constexpr double kFillingUp = 0.05;  // of each effective dimension beyond the columns
  constexpr int kHalvings = 3;
  std::array<double, kHalvings + 1> dims;
  for (int i = 0; i <= kHalvings; ++i) {
    const double rows = m / std::exp2(i);
    dims[static_cast<std::size_t>(i)] = effective_dims(rows, std::max(1.0, dominance_counts.skyline_of(rows)));
  }
  const double middle = std::accumulate(dims.begin(), dims.end(), 0.0) / (kHalvings + 1);
  double along = 0;
  double square = 0;
  for (int i = 0; i <= kHalvings; ++i) {
    const double x = (kHalvings / 2.0 - i) * std::numbers::ln2;
    along += x * (dims[static_cast<std::size_t>(i)] - middle);
    square += x * x;
  }
  const double beyond = dims[0] - static_cast<double>(dominance_counts.dims);
  const double usual = kUsual * std::min(dims[0] - 1, 1.0) - kFillingUp * std::clamp(beyond, 0.0, 3.0);
  const double stay = dominance_counts.skyline_of(m);
  const double trust = stay / (stay + kRowsOfDoubt);
  const double drift = usual + trust * (std::clamp(along / square, kMinDrift, kMaxDrift) - usual);
  SkylineGrowth growth{m, std::max(1.0, middle + drift * kHalvings / 2.0 * std::numbers::ln2), drift};
  add_doubt(growth, stay, trust);
  return growth;
}

/// Returns the place, from 0, in a sorted sample of the k-th best of n rows.
std::size_t place_of(std::size_t sample, std::size_t k, std::size_t n) {
  const double place =
      static_cast<double>(sample) * static_cast<double>(k) / static_cast<double>(std::max<std::size_t>(n, 1));
  return std::min(sample - 1, static_cast<std::size_t>(place));
}

}  // namespace

Statistics describe_preference(const kernels::SkylineProblem& sample, std::size_t n) {
  Statistics statistics;
  if (sample.n < std::min(kMinSample, n)) return statistics;
  statistics.sample = sample.n;
  const DominanceCounts dominance_counts = count_dominance(sample, kStrongRows);
  statistics.growth = growth_of(dominance_counts, static_cast<double>(sample.n));
  statistics.survivors = static_cast<double>(dominance_counts.spared) / static_cast<double>(sample.n);
  statistics.correlation = correlation_of(dominance_counts, sample.n);
  statistics.together = share_together(dominance_counts, sample.n);
  return statistics;
}

Statistics describe_ranking(const kernels::TopKProblem& sample, std::size_t n, std::size_t k) {
  constexpr std::size_t kParts = 8;
  constexpr std::size_t kMinBest = 8;  // rows of different keys whose order says anything
  Statistics statistics;
  if (sample.n == 0 || sample.keys.empty()) return statistics;
  const KeyColumn& column = sample.keys.front();
  std::vector<std::uint64_t> keys = keys_of(column, sample.n);
  const auto m = static_cast<double>(sample.n);
  statistics.sample = sample.n;
  const Eigen::VectorXd ranks = unit_ranks(keys);
  const Eigen::VectorXd places = Eigen::VectorXd::LinSpaced(ranks.size(), -1, 1);
  statistics.order = sample.n > 1 ? ranks.dot(places) / places.norm() : 0;
  statistics.ascending = ascending_share(keys);
  const std::vector<std::uint64_t> in_order_of_rows = keys;
  std::ranges::sort(keys);
  const std::size_t place = place_of(sample.n, k, n);
  std::vector<std::uint64_t> best;
  for (const std::uint64_t key : in_order_of_rows) {
    if (key <= keys[place]) best.push_back(key);
  }
  const bool one_key = best.size() > 1 && keys[place] == keys.front();
  statistics.best_ascending = one_key || best.size() >= kMinBest ? ascending_share(best) : statistics.ascending;
  const auto tied = std::equal_range(keys.begin(), keys.end(), keys[place]);
  const auto equal = static_cast<double>(tied.second - tied.first);
  statistics.ties = equal > 1 ? equal / m : 0;
  for (std::size_t i = 0; i <= kParts; ++i) statistics.quantiles.push_back(keys[(sample.n - 1) * i / kParts]);
  const std::uint64_t last = ~std::uint64_t{0} >> (64 - kernels::bits(column.width));
  statistics.worst = static_cast<double>(keys.end() - std::ranges::lower_bound(keys, last - 1)) / m;
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  statistics.distinct = static_cast<double>(keys.size()) / m;
  return statistics;
}

double share_ahead(const kernels::TopKProblem& passing, std::size_t n, const kernels::TopKProblem& all) {
  constexpr double kDoubt = 2;  // standard deviations, about
  if (passing.n == 0) return 0;
  std::vector<std::uint64_t> kept = keys_of(passing.keys.front(), passing.n);
  const std::size_t place = place_of(passing.n, passing.k, n);
  std::ranges::nth_element(kept, kept.begin() + static_cast<std::ptrdiff_t>(place));
  const std::uint64_t last = kept[place];
  const auto count_up_to = [&](const std::vector<std::uint64_t>& keys, double share_of_equal) {
    const auto less = std::ranges::count_if(keys, [&](std::uint64_t key) { return key < last; });
    return static_cast<double>(less) + share_of_equal * static_cast<double>(std::ranges::count(keys, last));
  };
  // Rows of one key rank by their numbers.
  const double less = count_up_to(kept, 0);
  const double share_of_equal = (static_cast<double>(place + 1) - less) / (count_up_to(kept, 1) - less);
  const double ahead = count_up_to(keys_of(all.keys.front(), all.n), share_of_equal);
  const auto places = static_cast<double>(place + 1);
  const double by_chance = places * static_cast<double>(all.n) / static_cast<double>(passing.n);
  const bool by_far = std::abs(ahead - by_chance) > kDoubt * by_chance / std::sqrt(places);
  return by_far ? ahead / static_cast<double>(all.n) : 0;
}

namespace {

constexpr double kBudget = 0.02;        // of the time that a problem is expected to take
constexpr double kLookedUpKey = 10e-9;  // a key of the sample made, out of order

/// The largest power of two up to `most`, and a quarter of the rows, whose sample takes no longer than it may.
template <class Seconds>
std::size_t largest_sample(std::size_t n, std::size_t most, double budget, const Seconds& seconds_for) {
  for (std::size_t m = most; m >= kMinSample; m /= 2) {
    if (m <= n / 4 && seconds_for(m) <= budget) return m;
  }
  return 0;
}

}  // namespace

// Without any statistics the expected time may be ten times too long. So the first sample is small, and a larger one
// has to be worth it by what that one says.
std::size_t worthwhile_sample(const kernels::SkylineShape& shape, const Machine& machine, const Statistics& seen) {
  constexpr double kAlways = 20e-6;
  constexpr double kDrawnRow = 40e-9;  // that a filter looks at
  constexpr std::size_t kFirst = 128;
  constexpr std::size_t kTimes = 16;  // as many rows as before: what a few rows tell may be several times too much
  constexpr double kStart = 2e-6;
  constexpr double kPair = 0.12e-9;  // compared in one dimension
  constexpr double kKey = 40e-9;     // sorted, where there are more rows,
  constexpr double kWord = 0.8e-9;   // and their sets met with one of another dimension
  const auto d = static_cast<double>(shape.d);
  const auto seconds_for = [&](std::size_t m) {
    const auto rows = static_cast<double>(m);
    const double filtered = seen.selectivity < 1 ? kDrawnRow * rows / seen.selectivity : 0;
    const double looked_up = kStart + kLookedUpKey * rows * d + filtered;
    if (m <= kFirst) return looked_up + kPair * rows * rows * d;
    return looked_up + kKey * rows * d + kWord * rows * rows / 64 * (d + 1);
  };
  if (seen.sample == 0) {
    const std::size_t most = seconds_for(kFirst) <= kAlways ? kFirst : kMinSample;
    const bool cheap = seconds_for(most) <= kAlways;  // so it is taken whatever the problem takes
    const double budget = cheap ? kAlways : kBudget * expected_seconds(shape, machine);
    return largest_sample(shape.n, most, budget, seconds_for);
  }
  const std::size_t least = 2 * seen.sample;
  if (least > shape.n / 4) return 0;
  const double worth = kBudget * expected_seconds(shape, machine, seen);
  const std::size_t size = largest_sample(shape.n, std::min(kMaxSample, kTimes * seen.sample), worth, seconds_for);
  return size >= least ? size : 0;
}

std::size_t worthwhile_sample(const kernels::TopKShape& shape, const Machine& machine, double filter_seconds) {
  constexpr std::size_t kLargest = 4096;
  constexpr double kRankingBudget = 0.02;
  constexpr double kAlways = 10e-6;
  constexpr double kSorted = 100e-9;  // of the sample's first keys, twice, with their places
  const double row = kLookedUpKey * static_cast<double>(shape.widths.size()) + kSorted;
  const auto seconds_for = [&](std::size_t m) { return row * static_cast<double>(m); };
  const double budget = std::max(kAlways, kRankingBudget * (filter_seconds + expected_seconds(shape, machine)));
  return largest_sample(shape.n, kLargest, budget, seconds_for);
}

std::vector<RowId> sample_rows(std::size_t n, std::size_t m) {
  constexpr std::size_t kRun = 4;
  std::vector<RowId> rows;
  if (n <= m) {
    rows.resize(n);
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
  }
  const std::size_t runs = std::max<std::size_t>(1, m / kRun);
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  for (std::size_t r = 0; r < runs; ++r) {
    const std::size_t begin = n / runs * r + std::min(r, n % runs);
    const std::size_t length = n / runs + (r < n % runs ? 1 : 0);
    const std::size_t run = std::min(kRun, length);
    hash = (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9 + 0x94d049bb133111eb;
    const std::size_t first = begin + (hash >> 32) % (length - run + 1);
    for (std::size_t i = 0; i < run; ++i) rows.push_back(static_cast<RowId>(first + i));
  }
  return rows;
}

}  // namespace skyrank::planner
