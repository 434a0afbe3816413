#include "planner/statistics.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "planner/choose.hpp"
#include "planner/estimate.hpp"

namespace skyrank::planner {
namespace {

using kernels::KeyColumn;
using kernels::KeyWidth;
using kernels::RowId;

using Values = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr std::size_t kRankedRows = 64;    ///< of the sample, for correlations
constexpr std::size_t kStrongRows = 8;     ///< about as many as prefilters take
constexpr std::size_t kLeastSample = 64;   ///< whose skyline says anything
constexpr std::size_t kShare = 4;          ///< a nested sample is a quarter of the one around it
constexpr std::size_t kOwnSkyline = 1024;  ///< rows up to which a plain loop beats starting an algorithm

std::uint64_t key_at(const KeyColumn& column, std::size_t row) {
  switch (column.width) {
    case KeyWidth::bytes1: return column.as<std::uint8_t>()[row];
    case KeyWidth::bytes2: return column.as<std::uint16_t>()[row];
    case KeyWidth::bytes4: return column.as<std::uint32_t>()[row];
    case KeyWidth::bytes8: break;
  }
  return column.as<std::uint64_t>()[row];
}

/// Every `step`-th row from `first` on.
struct Rows {
  std::size_t first = 0;
  std::size_t step = 1;
  std::size_t count = 0;

  std::size_t operator[](std::size_t i) const { return first + i * step; }
};

/// At most `most` of n rows, evenly spread.
Rows spread(std::size_t n, std::size_t most) {
  const std::size_t step = std::max<std::size_t>(1, (n + most - 1) / most);
  return {0, step, (n + step - 1) / step};
}

std::vector<std::uint64_t> keys_of(const KeyColumn& column, const Rows& rows) {
  std::vector<std::uint64_t> keys(rows.count);
  for (std::size_t i = 0; i < rows.count; ++i) keys[i] = key_at(column, rows[i]);
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

/// Mean correlation of two different columns of unit vectors.
double mean_correlation(const Eigen::MatrixXd& ranks) {
  const auto d = static_cast<double>(ranks.cols());
  if (d < 2) return 0;
  const Eigen::MatrixXd correlations = ranks.transpose() * ranks;
  return (correlations.sum() - correlations.trace()) / (d * (d - 1));
}

/// Keys of rows side by side, each dimension stretched to [0, 1], so that sums over dimensions weigh all alike.
Values stretched(const kernels::SkylineProblem& sample) {
  Values values(static_cast<Eigen::Index>(sample.n), static_cast<Eigen::Index>(sample.keys.size()));
  for (std::size_t c = 0; c < sample.keys.size(); ++c) {
    auto column = values.col(static_cast<Eigen::Index>(c));
    for (std::size_t i = 0; i < sample.n; ++i) {
      column[static_cast<Eigen::Index>(i)] = static_cast<double>(key_at(sample.keys[c], i));
    }
    const double least = column.minCoeff();
    const double range = column.maxCoeff() - least;
    column.array() = (column.array() - least) / (range > 0 ? range : 1);
  }
  return values;
}

bool dominates(const double* a, const double* b, std::size_t d) {
  bool better = false;
  for (std::size_t c = 0; c < d; ++c) {
    if (a[c] > b[c]) return false;
    better |= a[c] < b[c];
  }
  return better;
}

/// The sample in ascending order of sums, in which no row is dominated by a later one.
struct Sorted {
  explicit Sorted(const kernels::SkylineProblem& sample) : values(stretched(sample)), order(sample.n) {
    const Eigen::VectorXd sums = values.rowwise().sum();
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::sort(order, {}, [&](std::uint32_t row) { return sums[row]; });
  }
  const double* operator[](std::uint32_t row) const { return values.data() + row * dims(); }
  std::size_t dims() const { return static_cast<std::size_t>(values.cols()); }

  Values values;
  std::vector<std::uint32_t> order;
};

/// Rows of the skyline of every `parts`-th row from `first` on.
std::size_t skyline_of(const Sorted& sample, std::size_t first, std::size_t parts) {
  std::vector<std::uint32_t> kept;
  for (const std::uint32_t row : sample.order) {
    if (row % parts != first) continue;
    const auto beats = [&](std::uint32_t other) { return dominates(sample[other], sample[row], sample.dims()); };
    if (std::ranges::none_of(kept, beats)) kept.push_back(row);
  }
  return kept.size();
}

/// The same of all rows of a large sample, by the algorithm that is cheapest without statistics.
std::size_t skyline_of(const kernels::SkylineProblem& sample) {
  const auto path = choose(shape_of(sample), {.device = kernels::Device::cpu, .algorithms = {}, .parameters = {}}, {});
  return path.algorithm->run(sample, path.parameters, {}).rows.size();
}

/// Share of rows that none of those with the least sums dominates.
double share_not_dominated(const Sorted& sample) {
  const std::size_t strong = std::min(kStrongRows, sample.order.size());
  std::size_t left = 0;
  for (const std::uint32_t row : sample.order) {
    left += std::none_of(sample.order.begin(), sample.order.begin() + static_cast<std::ptrdiff_t>(strong),
                         [&](std::uint32_t s) { return dominates(sample[s], sample[row], sample.dims()); });
  }
  return static_cast<double>(left) / static_cast<double>(sample.order.size());
}

SkylineGrowth growth_of(const kernels::SkylineProblem& sample, const Sorted& sorted) {
  constexpr double kMostDrift = 0.5;
  const auto m = static_cast<double>(sample.n);
  const auto all = static_cast<double>(sample.n <= kOwnSkyline ? skyline_of(sorted, 0, 1) : skyline_of(sample));
  SkylineGrowth growth{m, effective_dims(m, all), 0};
  if (sample.n < kLeastSample * kShare) return growth;
  double inner = 0;  // mean over the quarters
  for (std::size_t part = 0; part < kShare; ++part) inner += static_cast<double>(skyline_of(sorted, part, kShare));
  const double inner_dims = effective_dims(m / kShare, inner / kShare);
  // Of small samples it is mostly noise.
  const double trust = m / (m + 1000);
  growth.drift = trust * std::clamp((growth.dims - inner_dims) / std::log(kShare), -kMostDrift, kMostDrift);
  return growth;
}

}  // namespace

double SkylineGrowth::rows(double n) const {
  if (n <= 0) return 0;
  const double grown = std::log(std::max(1.0, n / std::max(sample, 1.0)));
  return skyline_of_dims(n, std::clamp(dims + drift * grown, 1.0, static_cast<double>(kernels::kMaxDims)));
}

double SkylineGrowth::exponent(double n) const {
  if (n <= 2) return 0;
  return std::log2(rows(n) / rows(n / 2));
}

double skyline_rows(const kernels::SkylineShape& shape, const Statistics& statistics) {
  if (statistics.sample == 0) return expected_skyline(shape.n, shape.d);
  return statistics.growth.rows(static_cast<double>(shape.n));
}

double surviving_share(const kernels::SkylineShape& shape, const Statistics& statistics) {
  if (statistics.sample > 0) return statistics.survivors;
  return shape.n == 0 ? 1 : std::sqrt(skyline_rows(shape, statistics) / static_cast<double>(shape.n));
}

Statistics describe_preference(const kernels::SkylineProblem& sample, std::size_t n) {
  Statistics statistics;
  if (sample.n < std::min(kLeastSample, n)) return statistics;
  statistics.sample = sample.n;
  const Sorted sorted(sample);
  statistics.growth = growth_of(sample, sorted);
  statistics.survivors = share_not_dominated(sorted);
  const Rows rows = spread(sample.n, kRankedRows);
  Eigen::MatrixXd ranks(static_cast<Eigen::Index>(rows.count), static_cast<Eigen::Index>(sample.keys.size()));
  for (std::size_t c = 0; c < sample.keys.size(); ++c) {
    ranks.col(static_cast<Eigen::Index>(c)) = unit_ranks(keys_of(sample.keys[c], rows));
  }
  statistics.correlation = mean_correlation(ranks);
  return statistics;
}

Statistics describe_ranking(const kernels::TopKProblem& sample, std::size_t n, std::size_t k) {
  constexpr std::size_t kParts = 8;
  Statistics statistics;
  if (sample.n == 0 || sample.keys.empty()) return statistics;
  const KeyColumn& column = sample.keys.front();
  std::vector<std::uint64_t> keys = keys_of(column, {0, 1, sample.n});
  const auto m = static_cast<double>(sample.n);
  statistics.sample = sample.n;
  const Eigen::VectorXd ranks = unit_ranks(keys);
  const Eigen::VectorXd places = Eigen::VectorXd::LinSpaced(ranks.size(), -1, 1);
  statistics.order = sample.n > 1 ? ranks.dot(places) / places.norm() : 0;
  double descents = 0;
  for (std::size_t i = 1; i < keys.size(); ++i) descents += keys[i] < keys[i - 1] ? 1 : 0;
  statistics.ascending = sample.n > 1 ? 1 - descents / (m - 1) : 0.5;
  std::ranges::sort(keys);
  const auto place = std::min(sample.n - 1, static_cast<std::size_t>(m * static_cast<double>(k) /
                                                                     static_cast<double>(std::max<std::size_t>(n, 1))));
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

namespace {

constexpr double kBudget = 0.01;        // of the time that a problem is expected to take
constexpr double kLookedUpKey = 10e-9;  // a key of the sample made, out of order

/// The largest power of two up to `most`, and a quarter of the rows, whose sample takes no longer than it may. As
/// little as `always` may be spent on any.
template <class Shape, class Seconds>
std::size_t largest_sample(const Shape& shape, const Machine& machine, std::size_t most, double always,
                           const Seconds& seconds_for) {
  const double budget = std::max(always, kBudget * choose(shape, {}, machine).seconds);
  for (std::size_t m = most; m >= kLeastSample; m /= 2) {
    if (m <= shape.n / 4 && seconds_for(m) <= budget) return m;
  }
  return 0;
}

}  // namespace

std::size_t worthwhile_sample(const kernels::SkylineShape& shape, const Machine& machine) {
  constexpr std::size_t kLargest = 16384;
  constexpr double kAlways = 100e-6;
  constexpr double kTest = 3e-9;
  return largest_sample(shape, machine, kLargest, kAlways, [&](std::size_t m) {
    const auto rows = static_cast<double>(m);
    const double kept = expected_skyline(m, shape.d);
    const double tests = kept * kept / 2 + (rows - kept) * std::sqrt(kept);
    return kLookedUpKey * rows * static_cast<double>(shape.d) + 2 * kTest * tests;
  });
}

std::size_t worthwhile_sample(const kernels::TopKShape& shape, const Machine& machine) {
  constexpr std::size_t kLargest = 1024;
  constexpr double kAlways = 10e-6;
  constexpr double kSorted = 100e-9;  // of the sample's first keys, twice, with their places
  return largest_sample(shape, machine, kLargest, kAlways, [&](std::size_t m) {
    return (kLookedUpKey * static_cast<double>(shape.widths.size()) + kSorted) * static_cast<double>(m);
  });
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
