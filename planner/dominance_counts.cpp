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

/// The rows in the order of their keys in one dimension.
struct Order {
  std::vector<std::uint32_t> rows;
  std::vector<std::uint32_t> runs;  ///< the positions at which runs of equal keys begin, and that of the end
};

template <class Key>
Order order_of(std::vector<Placed<Key>>&& placed) {
  sort_by_key(placed);
  Order order;
  order.rows.reserve(placed.size());
  for (std::uint32_t i = 0; i < placed.size(); ++i) {
    if (i == 0 || placed[i].key != placed[i - 1].key) order.runs.push_back(i);
    order.rows.push_back(placed[i].row);
  }
  order.runs.push_back(static_cast<std::uint32_t>(placed.size()));
  return order;
}

template <class Key>
Order order_of(const Key* keys, std::size_t rows) {
  std::vector<Placed<Key>> placed(rows);
  for (std::size_t row = 0; row < rows; ++row) placed[row] = {keys[row], static_cast<std::uint32_t>(row)};
  return order_of(std::move(placed));
}

Order order_of(const KeyColumn& column, std::size_t rows) {
  switch (column.width) {
    case KeyWidth::bytes1: return order_of(column.as<std::uint8_t>(), rows);
    case KeyWidth::bytes2: return order_of(column.as<std::uint16_t>(), rows);
    case KeyWidth::bytes4: return order_of(column.as<std::uint32_t>(), rows);
    case KeyWidth::bytes8: break;
  }
  return order_of(column.as<std::uint64_t>(), rows);
}

/// Calls body(begin, end) for each run of equal keys.
template <class Body>
void for_each_run(const Order& order, const Body& body) {
  for (std::size_t run = 0; run + 1 < order.runs.size(); ++run) body(order.runs[run], order.runs[run + 1]);
}

/// For each row, how many of the rows have lesser keys.
std::vector<std::uint32_t> places_of(const Order& order) {
  std::vector<std::uint32_t> places(order.rows.size());
  for_each_run(order, [&](std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t i = begin; i < end; ++i) places[order.rows[i]] = begin;
  });
  return places;
}

/// A set of rows for each row of a block, at first all of them.
class RowSets {
 public:
  RowSets(std::size_t rows, std::size_t first, std::size_t last)
      : first_(first),
        last_(last),
        words_((rows + 63) / 64),
        sets_((last - first) * words_, ~std::uint64_t{0}),
        prefix_(words_) {
    if (rows % 64 == 0) return;
    const std::uint64_t tail = (std::uint64_t{1} << (rows % 64)) - 1;
    for (std::size_t row = first; row < last; ++row) set_of(row)[words_ - 1] = tail;
  }

  /// Leaves in each row's set those whose keys are no greater, or with `less` only those whose keys are less.
  void intersect(const Order& order, bool less) {
    std::ranges::fill(prefix_, 0);
    for_each_run(order, [&](std::uint32_t begin, std::uint32_t end) {
      if (!less) add(order, begin, end);
      for (std::uint32_t i = begin; i < end; ++i) {
        const std::uint32_t row = order.rows[i];
        if (row < first_ || row >= last_) continue;
        keep(set_of(row), prefix_.data(), words_);
      }
      if (less) add(order, begin, end);
    });
  }

  /// Rows in a row's set, or some number from `most` on.
  std::uint32_t count(std::size_t row, int most) const {
    const std::uint64_t* const set = set_of(row);
    int count = 0;
    for (std::size_t w = 0; w < words_ && count < most; ++w) {
      if (set[w] != 0) count += std::popcount(set[w]);  // few words have bits
    }
    return static_cast<std::uint32_t>(count);
  }

  bool has(std::size_t row, std::size_t other) const { return ((set_of(row)[other / 64] >> (other % 64)) & 1) != 0; }

 private:
  std::uint64_t* set_of(std::size_t row) { return sets_.data() + (row - first_) * words_; }
  const std::uint64_t* set_of(std::size_t row) const { return sets_.data() + (row - first_) * words_; }

  // A function of its own, as compilers take a store of a word for one of the number of words.
  static void keep(std::uint64_t* set, const std::uint64_t* among, std::size_t words) {
    for (std::size_t w = 0; w < words; ++w) set[w] &= among[w];
  }

  void add(const Order& order, std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t i = begin; i < end; ++i) prefix_[order.rows[i] / 64] |= std::uint64_t{1} << (order.rows[i] % 64);
  }

  std::size_t first_;
  std::size_t last_;
  std::size_t words_;
  std::vector<std::uint64_t> sets_;
  std::vector<std::uint64_t> prefix_;  ///< rows of the keys so far
};

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

// Two rows, one of which is at most the other in every dimension, are equal if their sums of places are.
DominanceCounts count_dominance(const kernels::SkylineProblem& sample, std::size_t strong) {
  constexpr std::size_t kBlockBytes = 1 << 21;                          // of sets, which stay in a cache
  if (sample.n <= kMaxPaired) return find_among_pairs(sample, strong);  // faster than sorting
  DominanceCounts result{.dims = sample.keys.size()};
  std::vector<Order> orders;
  std::vector<std::uint32_t> sums(sample.n);
  for (const KeyColumn& column : sample.keys) {
    const std::vector<std::uint32_t> places = places_of(orders.emplace_back(order_of(column, sample.n)));
    for (std::size_t row = 0; row < sample.n; ++row) sums[row] += places[row];
    result.places.insert(result.places.end(), places.begin(), places.end());
  }
  const Order by_sum = order_of(sums.data(), sample.n);
  result.strongest.assign(by_sum.rows.begin(),
                          by_sum.rows.begin() + static_cast<std::ptrdiff_t>(std::min(strong, sample.n)));
  result.counts.resize(sample.n);
  const std::size_t block = std::max<std::size_t>(1, kBlockBytes * 8 / sample.n);
  for (std::size_t first = 0; first < sample.n; first += block) {
    const std::size_t last = std::min(first + block, sample.n);
    RowSets sets(sample.n, first, last);
    for (const Order& order : orders) sets.intersect(order, false);
    sets.intersect(by_sum, true);
    for (std::size_t row = first; row < last; ++row) {
      result.counts[row] = sets.count(row, kMany);
      result.spared += std::ranges::none_of(result.strongest, [&](std::uint32_t it) { return sets.has(row, it); });
    }
  }
  return result;
}

}  // namespace skyrank::planner
