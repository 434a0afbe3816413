#include <algorithm>
#include <numeric>

#include "kernels/cpu/dominance_counts/dominance_counts.hpp"
#include "kernels/cpu/parallel.hpp"

// Leaves out rows of a skyband's problem before they are sorted: those that `enough` rows of a sample dominate. They
// are in no skyband, and no row of it needs them, as its dominators are in it.
//
// The rows that others are compared with are the sample's own skyband, the least sums of ranks first, so that most rows
// are out after a few comparisons. Cost: O(n) for most data, at most kMaxJudges comparisons a row.
namespace skyrank::kernels::dominance_counts {
namespace {

constexpr std::size_t kMinRows = std::size_t{1} << 14;  ///< fewer are sorted at once
constexpr std::size_t kSampleRows = 4096;
constexpr std::int64_t kMaxEnough = 64;  ///< dominators that a sample of this size tells of
constexpr std::size_t kMaxJudges = 512;
constexpr std::size_t kGrain = std::size_t{1} << 12;

/// Keys of a few rows, row by row.
template <class Key>
Vector<Key> rows_at(const DominanceCountsProblem& problem, const Vector<std::uint32_t>& rows) {
  Vector<Key> keys;
  keys.reserve(rows.size() * problem.keys.size());
  for (const std::uint32_t row : rows) {
    for (const KeyColumn& column : problem.keys) keys.push_back(column.as<Key>()[row]);
  }
  return keys;
}

/// Returns the sum of the places that each of some rows has in the columns.
template <class Key>
Vector<std::size_t> sums_of_places(const Vector<Key>& keys, std::size_t d) {
  const std::size_t n = keys.size() / d;
  Vector<std::size_t> sums(n);
  Vector<std::size_t> order(n);
  for (std::size_t c = 0; c < d; ++c) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return keys[a * d + c] < keys[b * d + c]; });
    for (std::size_t place = 0; place < n; ++place) sums[order[place]] += place;
  }
  return sums;
}

/// Returns the rows of a sample's skyband, the strongest first; one of equal ones if they count as one.
template <class Key>
Vector<Key> judges_of(const DominanceCountsProblem& problem, const Context& context) {
  const std::size_t d = problem.keys.size();
  Vector<std::uint32_t> sample(kSampleRows);
  for (std::size_t i = 0; i < kSampleRows; ++i) sample[i] = static_cast<std::uint32_t>(i * (problem.n / kSampleRows));
  const Vector<Key> keys = rows_at<Key>(problem, sample);
  Vector<Key> columns(keys.size());
  Vector<KeyColumn> views;
  for (std::size_t c = 0; c < d; ++c) {
    for (std::size_t i = 0; i < kSampleRows; ++i) columns[c * kSampleRows + i] = keys[i * d + c];
    views.push_back({columns.data() + c * kSampleRows, problem.keys[0].width});
  }
  const DominanceCounts counted = count_dominators(
      {.n = kSampleRows, .keys = views, .enough = problem.enough, .distinct = problem.distinct}, context);
  const Vector<std::size_t> sums = sums_of_places(keys, d);
  Vector<std::size_t> band;
  for (std::size_t i = 0; i < kSampleRows; ++i) {
    if (counted.counts[i] < problem.enough) band.push_back(i);
  }
  const auto row = [&](std::size_t i) { return keys.begin() + static_cast<std::ptrdiff_t>(i * d); };
  const auto width = static_cast<std::ptrdiff_t>(d);
  std::sort(band.begin(), band.end(),
            [&](std::size_t a, std::size_t b) { return sums[a] != sums[b] ? sums[a] < sums[b] : a < b; });
  Vector<Key> judges;
  for (std::size_t j = 0; j < band.size() && judges.size() < kMaxJudges * d; ++j) {
    const auto equals = [&](std::size_t other) { return std::equal(row(band[j]), row(band[j]) + width, row(other)); };
    if (problem.distinct && std::any_of(band.begin(), band.begin() + static_cast<std::ptrdiff_t>(j), equals)) continue;
    judges.insert(judges.end(), row(band[j]), row(band[j]) + width);
  }
  return judges;
}

template <class Key>
bool dominates_row(const Key* judge, const DominanceCountsProblem& problem, std::size_t row) {
  bool better = false;
  for (std::size_t c = 0; c < problem.keys.size(); ++c) {
    const Key key = problem.keys[c].as<Key>()[row];
    if (judge[c] > key) return false;
    better |= judge[c] < key;
  }
  return better;
}

template <class Key>
Vector<std::uint32_t> left_by_judges(const DominanceCountsProblem& problem, const Context& context) {
  const std::size_t d = problem.keys.size();
  const Vector<Key> judges = judges_of<Key>(problem, context);
  Vector<std::uint8_t> is_left(problem.n);
  parallel_for(problem.n, kGrain, [&](std::size_t begin, std::size_t end) {
    context.check();
    for (std::size_t row = begin; row < end; ++row) {
      std::int64_t found = 0;
      for (std::size_t j = 0; j < judges.size() && found < problem.enough; j += d) {
        found += dominates_row(judges.data() + j, problem, row) ? 1 : 0;
      }
      is_left[row] = found < problem.enough ? 1 : 0;
    }
  });
  Vector<std::uint32_t> left;
  for (std::size_t row = 0; row < problem.n; ++row) {
    if (is_left[row] != 0) left.push_back(static_cast<std::uint32_t>(row));
  }
  return left;
}

}  // namespace

bool may_prefilter(const DominanceCountsProblem& problem) {
  return problem.n >= kMinRows && problem.enough <= kMaxEnough;
}

Vector<std::uint32_t> rows_left(const DominanceCountsProblem& problem, const Context& context) {
  return problem.keys[0].width == KeyWidth::bytes8 ? left_by_judges<std::uint64_t>(problem, context)
                                                   : left_by_judges<std::uint32_t>(problem, context);
}

}  // namespace skyrank::kernels::dominance_counts
