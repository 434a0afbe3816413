#include "planner/dominance_counts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <utility>

#include "planner/pairwise_dominance.hpp"

namespace skyrank::planner {
namespace {

using kernels::KeyColumn;
using kernels::KeyWidth;

constexpr int kMany = 256;  ///< dominators, of which one is surely drawn

/// A key, with its row.
template <class Key>
struct Placed {
  Key key;
  std::uint32_t row;
};

/// Sorts by key, a byte after the other from the lowest on; bytes that all keys share cost nothing.
template <class Key>
void sort_by_key(std::vector<Placed<Key>>& placed) {
  constexpr std::size_t kBytes = sizeof(Key);
  std::array<std::array<std::uint32_t, 256>, kBytes> counts{};
  for (const Placed<Key>& it : placed) {
    for (std::size_t b = 0; b < kBytes; ++b) ++counts[b][(it.key >> (8 * b)) & 255];
  }
  std::vector<Placed<Key>> other(placed.size());
  for (std::size_t b = 0; b < kBytes; ++b) {
    std::array<std::uint32_t, 256>& starts = counts[b];
    const auto byte_of = [b](Key key) { return (key >> (8 * b)) & 255; };
    if (starts[byte_of(placed.front().key)] == placed.size()) continue;
    std::uint32_t sum = 0;
    for (std::uint32_t& start : starts) sum += std::exchange(start, sum);
    for (const Placed<Key>& it : placed) other[starts[byte_of(it.key)]++] = it;
    placed.swap(other);
  }
}

/// Calls body(begin, end) for each run of equal keys.
template <class Key, class Body>
void for_each_run(const std::vector<Placed<Key>>& sorted, const Body& body) {
  for (std::size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    for (end = begin + 1; end < sorted.size() && sorted[end].key == sorted[begin].key; ++end) {
    }
    body(begin, end);
  }
}

/// A set of rows for each row, at first all of them.
class RowSets {
 public:
  explicit RowSets(std::size_t rows)
      : words_((rows + 63) / 64), sets_(rows * words_, ~std::uint64_t{0}), prefix_(words_) {
    if (rows % 64 == 0) return;
    const std::uint64_t last = (std::uint64_t{1} << (rows % 64)) - 1;
    for (std::size_t row = 0; row < rows; ++row) sets_[row * words_ + words_ - 1] = last;
  }

  /// Leaves in each row's set those whose keys are no greater, or with `less` only those whose keys are less.
  template <class Key>
  void intersect(const std::vector<Placed<Key>>& sorted, bool less) {
    std::ranges::fill(prefix_, 0);
    for_each_run(sorted, [&](std::size_t begin, std::size_t end) {
      if (!less) add(sorted, begin, end);
      for (std::size_t i = begin; i < end; ++i) {
        std::uint64_t* set = sets_.data() + sorted[i].row * words_;
        for (std::size_t w = 0; w < words_; ++w) set[w] &= prefix_[w];
      }
      if (less) add(sorted, begin, end);
    });
  }

  /// Rows in a row's set, or some number from `most` on.
  std::uint32_t count(std::size_t row, int most) const {
    int count = 0;
    for (std::size_t w = 0; w < words_ && count < most; ++w) count += std::popcount(sets_[row * words_ + w]);
    return static_cast<std::uint32_t>(count);
  }

  bool has(std::size_t row, std::size_t other) const {
    return ((sets_[row * words_ + other / 64] >> (other % 64)) & 1) != 0;
  }

 private:
  template <class Key>
  void add(const std::vector<Placed<Key>>& sorted, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) prefix_[sorted[i].row / 64] |= std::uint64_t{1} << (sorted[i].row % 64);
  }

  std::size_t words_;
  std::vector<std::uint64_t> sets_;
  std::vector<std::uint64_t> prefix_;  ///< rows of the keys so far
};

/// The rows with lesser keys than each has.
template <class Key>
std::vector<std::uint32_t> take_in(const KeyColumn& column, std::size_t rows, RowSets& sets) {
  std::vector<Placed<Key>> sorted(rows);
  for (std::size_t row = 0; row < rows; ++row) sorted[row] = {column.as<Key>()[row], static_cast<std::uint32_t>(row)};
  sort_by_key(sorted);
  sets.intersect(sorted, false);
  std::vector<std::uint32_t> places(rows);
  for_each_run(sorted, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) places[sorted[i].row] = static_cast<std::uint32_t>(begin);
  });
  return places;
}

std::vector<std::uint32_t> take_in(const KeyColumn& column, std::size_t rows, RowSets& sets) {
  switch (column.width) {
    case KeyWidth::bytes1: return take_in<std::uint8_t>(column, rows, sets);
    case KeyWidth::bytes2: return take_in<std::uint16_t>(column, rows, sets);
    case KeyWidth::bytes4: return take_in<std::uint32_t>(column, rows, sets);
    case KeyWidth::bytes8: break;
  }
  return take_in<std::uint64_t>(column, rows, sets);
}

}  // namespace

double DominanceCounts::skyline_of(double s) const {
  const auto rows = static_cast<double>(counts.size());
  if (s >= rows) return static_cast<double>(std::ranges::count(counts, 0U));
  // A dominator is not drawn with about this chance, whatever becomes of the others.
  const double missed = rows > 1 ? 1 - (s - 1) / (rows - 1) : 1;
  std::array<double, kMany> chance;
  chance[0] = 1;
  const std::size_t most = std::min(chance.size(), counts.size());  // a row has fewer dominators than there are rows
  for (std::size_t i = 1; i < most; ++i) chance[i] = chance[i - 1] * missed;
  double sum = 0;
  for (const std::uint32_t count : counts) sum += count < chance.size() ? chance[count] : 0;
  return sum * s / rows;
}

namespace {

void copy_keys(const KeyColumn& column, std::size_t rows, auto* to) {
  const auto copy = [&](const auto* keys) { std::copy_n(keys, rows, to); };
  switch (column.width) {
    case KeyWidth::bytes1: return copy(column.as<std::uint8_t>());
    case KeyWidth::bytes2: return copy(column.as<std::uint16_t>());
    case KeyWidth::bytes4: return copy(column.as<std::uint32_t>());
    case KeyWidth::bytes8: break;
  }
  if constexpr (sizeof(*to) == 8) copy(column.as<std::uint64_t>());
}

/// Rows by place in one dimension, for pairs.
template <class Key>
void take_places(const KeyColumn& column, std::size_t rows, std::uint8_t* places) {
  std::array<Key, kMaxPaired> keys{};
  copy_keys(column, rows, keys.data());
  count_lesser(keys.data(), rows, places);
}

/// The rows of least sums of places, of two of one sum the first.
std::vector<std::uint32_t> strongest_of(const std::vector<std::uint32_t>& sums, std::size_t strong) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranked;
  ranked.reserve(sums.size());
  for (std::uint32_t row = 0; row < sums.size(); ++row) ranked.emplace_back(sums[row], row);
  const auto end = ranked.begin() + static_cast<std::ptrdiff_t>(std::min(strong, ranked.size()));
  std::partial_sort(ranked.begin(), end, ranked.end());
  std::vector<std::uint32_t> strongest;
  for (auto it = ranked.begin(); it != end; ++it) strongest.push_back(it->second);
  return strongest;
}

/// Each pair of rows is compared, without any order.
DominanceCounts find_among_pairs(const kernels::SkylineProblem& sample, std::size_t strong) {
  const std::size_t d = sample.keys.size();
  std::vector<std::uint8_t> places(d * kMaxPaired);
  std::vector<std::uint32_t> sums(sample.n);
  DominanceCounts result{.dims = d};
  result.places.reserve(d * sample.n);
  for (std::size_t j = 0; j < d; ++j) {
    std::uint8_t* const column = places.data() + j * kMaxPaired;
    sample.keys[j].width == KeyWidth::bytes8 ? take_places<std::uint64_t>(sample.keys[j], sample.n, column)
                                             : take_places<std::uint32_t>(sample.keys[j], sample.n, column);
    result.places.insert(result.places.end(), column, column + sample.n);
    for (std::size_t row = 0; row < sample.n; ++row) sums[row] += column[row];
  }
  const PairedRows paired{places.data(), sample.n, d};
  std::array<std::uint8_t, kMaxPaired> counts;
  count_pairwise_dominance(paired, counts.data());
  result.counts.assign(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(sample.n));
  result.strongest = strongest_of(sums, strong);
  result.spared = count_spared(paired, result.strongest);
  return result;
}

}  // namespace

// Of two rows of which one is at most the other in every dimension, the sum of places tells whether they are equal.
DominanceCounts count_dominance(const kernels::SkylineProblem& sample, std::size_t strong) {
  if (sample.n <= kMaxPaired) return find_among_pairs(sample, strong);  // faster than sorting
  DominanceCounts result{.dims = sample.keys.size()};
  RowSets sets(sample.n);
  std::vector<Placed<std::uint32_t>> by_sum(sample.n);
  for (std::uint32_t row = 0; row < sample.n; ++row) by_sum[row] = {0, row};
  for (const KeyColumn& column : sample.keys) {
    const std::vector<std::uint32_t> places = take_in(column, sample.n, sets);
    for (Placed<std::uint32_t>& it : by_sum) it.key += places[it.row];
    result.places.insert(result.places.end(), places.begin(), places.end());
  }
  sort_by_key(by_sum);
  for (std::size_t i = 0; i < std::min(strong, by_sum.size()); ++i) result.strongest.push_back(by_sum[i].row);
  sets.intersect(by_sum, true);
  result.counts.resize(sample.n);
  for (std::size_t row = 0; row < sample.n; ++row) result.counts[row] = sets.count(row, kMany);
  for (std::size_t row = 0; row < sample.n; ++row) {
    result.spared += std::ranges::none_of(result.strongest, [&](std::uint32_t other) { return sets.has(row, other); });
  }
  return result;
}

}  // namespace skyrank::planner
