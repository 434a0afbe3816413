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

constexpr std::size_t kRankedRows = 256;  ///< of the sample, for correlations and survivors
constexpr std::size_t kStrongRows = 8;
constexpr std::size_t kLeastSample = 64;  ///< whose skyline says anything
constexpr std::size_t kShare = 4;         ///< a nested sample is a quarter of the one around it

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

bool dominates(std::span<const KeyColumn> columns, std::size_t a, std::size_t b) {
  bool better = false;
  for (const KeyColumn& column : columns) {
    const std::uint64_t of_a = key_at(column, a);
    const std::uint64_t of_b = key_at(column, b);
    if (of_a > of_b) return false;
    better |= of_a < of_b;
  }
  return better;
}

/// Share of rows that none of those with the least sums of ranks dominates.
double share_not_dominated(std::span<const KeyColumn> columns, const Rows& rows, const Eigen::MatrixXd& ranks) {
  const Eigen::VectorXd sums = ranks.rowwise().sum();
  std::vector<std::uint32_t> order(rows.count);
  std::iota(order.begin(), order.end(), 0u);
  const std::size_t strong = std::min(kStrongRows, rows.count);
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(strong), {},
                            [&](std::uint32_t i) { return sums[i]; });
  std::size_t left = 0;
  for (std::size_t i = 0; i < rows.count; ++i) {
    left += std::none_of(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(strong),
                         [&](std::uint32_t s) { return dominates(columns, rows[s], rows[i]); });
  }
  return static_cast<double>(left) / static_cast<double>(rows.count);
}

/// Mean correlation of two different columns of unit vectors.
double mean_correlation(const Eigen::MatrixXd& ranks) {
  const auto d = static_cast<double>(ranks.cols());
  if (d < 2) return 0;
  const Eigen::MatrixXd correlations = ranks.transpose() * ranks;
  return (correlations.sum() - correlations.trace()) / (d * (d - 1));
}

template <class Key>
KeyColumn every_nth(const KeyColumn& column, const Rows& rows, std::vector<std::uint64_t>& memory) {
  memory.resize(rows.count);
  auto* keys = reinterpret_cast<Key*>(memory.data());
  for (std::size_t i = 0; i < rows.count; ++i) keys[i] = column.as<Key>()[rows[i]];
  return {keys, column.width};
}

/// Rows of the skyline of some of the sample's rows.
double skyline_of(const kernels::SkylineProblem& sample, const Rows& rows) {
  std::vector<std::vector<std::uint64_t>> memory(sample.keys.size());
  std::vector<KeyColumn> columns;
  for (std::size_t c = 0; c < sample.keys.size(); ++c) {
    columns.push_back(sample.keys[c].width == KeyWidth::bytes8
                          ? every_nth<std::uint64_t>(sample.keys[c], rows, memory[c])
                          : every_nth<std::uint32_t>(sample.keys[c], rows, memory[c]));
  }
  const kernels::SkylineProblem part{rows.count, columns, sample.order};
  const auto path = choose(shape_of(part), {.device = kernels::Device::cpu, .algorithms = {}, .parameters = {}}, {});
  return static_cast<double>(path.algorithm->run(part, path.parameters, {}).rows.size());
}

/// Effective dimensions of the sample's k-th parts, by their mean skyline.
double dims_of_parts(const kernels::SkylineProblem& sample, std::size_t parts) {
  double rows = 0;
  for (std::size_t first = 0; first < parts; ++first) {
    rows += skyline_of(sample, {first, parts, (sample.n - first + parts - 1) / parts});
  }
  const auto count = static_cast<double>(parts);
  return effective_dims(static_cast<double>(sample.n) / count, rows / count);
}

SkylineGrowth growth_of(const kernels::SkylineProblem& sample) {
  constexpr double kMostDrift = 0.5;
  SkylineGrowth growth{static_cast<double>(sample.n), dims_of_parts(sample, 1), 0};
  if (sample.n < kLeastSample * kShare) return growth;
  const double inner = dims_of_parts(sample, kShare);
  growth.drift = std::clamp((growth.dims - inner) / std::log(kShare), -kMostDrift, kMostDrift);
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
  statistics.growth = growth_of(sample);
  const Rows rows = spread(sample.n, kRankedRows);
  Eigen::MatrixXd ranks(static_cast<Eigen::Index>(rows.count), static_cast<Eigen::Index>(sample.keys.size()));
  for (std::size_t c = 0; c < sample.keys.size(); ++c) {
    ranks.col(static_cast<Eigen::Index>(c)) = unit_ranks(keys_of(sample.keys[c], rows));
  }
  statistics.correlation = mean_correlation(ranks);
  statistics.survivors = share_not_dominated(sample.keys, rows, ranks);
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
  std::ranges::sort(keys);
  const auto place = std::min(sample.n - 1, static_cast<std::size_t>(m * static_cast<double>(k) /
                                                                     static_cast<double>(std::max<std::size_t>(n, 1))));
  const auto equal = std::ranges::equal_range(keys, keys[place]);
  statistics.ties = equal.size() > 1 ? static_cast<double>(equal.size()) / m : 0;
  for (std::size_t i = 0; i <= kParts; ++i) statistics.quantiles.push_back(keys[(sample.n - 1) * i / kParts]);
  const std::uint64_t last = ~std::uint64_t{0} >> (64 - kernels::bits(column.width));
  statistics.worst = static_cast<double>(keys.end() - std::ranges::lower_bound(keys, last - 1)) / m;
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  statistics.distinct = static_cast<double>(keys.size()) / m;
  return statistics;
}

namespace {

constexpr double kBudget = 0.01;        // of the time that a problem is expected to take
constexpr double kLookedUpKey = 40e-9;  // a key of the sample made, out of order
constexpr std::size_t kLargest = 16384;
constexpr std::size_t kLeast = 256;

template <class Shape, class Seconds>
std::size_t largest_sample(const Shape& shape, const Machine& machine, std::size_t most, const Seconds& seconds_for) {
  const double budget = kBudget * choose(shape, {}, machine).seconds;
  for (std::size_t m = most; m >= kLeast; m /= 2) {
    if (m <= shape.n / 2 && seconds_for(m) <= budget) return m;
  }
  return 0;
}

}  // namespace

std::size_t worthwhile_sample(const kernels::SkylineShape& shape, const Machine& machine) {
  const Machine one_thread{.threads = 1, .profile = machine.profile};
  return largest_sample(shape, machine, kLargest, [&](std::size_t m) {
    kernels::SkylineShape sample = shape;
    sample.n = m;
    return kLookedUpKey * static_cast<double>(m * shape.d) + 2 * choose(sample, {}, one_thread).seconds;
  });
}

std::size_t worthwhile_sample(const kernels::TopKShape& shape, const Machine& machine) {
  constexpr std::size_t kLargestOfRanking = 1024;
  constexpr double kSorted = 100e-9;  // of the sample's first keys, twice, with their places
  return largest_sample(shape, machine, kLargestOfRanking, [&](std::size_t m) {
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
