#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <numeric>
#include <span>

#include "kernels/cpu/dominance_counts/dominance_counts.hpp"
#include "kernels/cpu/parallel.hpp"

// Counts what a few of many rows dominate, without sorting the many: a tile of wanted rows is sorted by each key, and
// has a set of bits for each place there: the wanted rows whose keys are not greater. A row finds its place by each
// key, and the sets there have in common the wanted rows that dominate it or equal it. Sets are added up as numbers in
// bits side by side (Harley and Seal; Muła, Kurz and Lemire, "Faster Population Counts Using AVX2 Instructions",
// Computer Journal 61(1), 2018).
//
// Cost: for each row and each tile, a search in each key, and some ten operations on a tile of bits.
namespace skyrank::kernels::dominance_counts {
namespace {

constexpr std::size_t kWords = kFewTile / 64;
constexpr std::size_t kRows = 8;                                   ///< rows that are taken at a time
constexpr std::size_t kSums = 16;                                  ///< bits of the numbers in which sets are added up
constexpr std::size_t kRange = (std::size_t{1} << kSums) - kRows;  ///< rows that these count

using Bits = std::array<std::uint64_t, kWords>;
using Places = std::array<std::size_t, kRows>;

/// Numbers of rows for each wanted one, bit by bit.
class Sums {
 public:
  /// Adds eight sets.
  void add(const std::array<Bits, kRows>& sets) {
    for (std::size_t w = 0; w < kWords; ++w) {
      const auto a = carry(bits_[0][w], sets[0][w], sets[1][w]);
      const auto b = carry(bits_[0][w], sets[2][w], sets[3][w]);
      const auto c = carry(bits_[0][w], sets[4][w], sets[5][w]);
      const auto d = carry(bits_[0][w], sets[6][w], sets[7][w]);
      const auto ab = carry(bits_[1][w], a, b);
      const auto cd = carry(bits_[1][w], c, d);
      std::uint64_t carried = carry(bits_[2][w], ab, cd);
      for (std::size_t i = 3; i < kSums; ++i) {
        const std::uint64_t next = bits_[i][w] & carried;
        bits_[i][w] ^= carried;
        carried = next;
      }
    }
  }

  std::int64_t of(std::size_t row) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < kSums; ++i) sum += static_cast<std::int64_t>(bits_[i][row / 64] >> (row % 64) & 1) << i;
    return sum;
  }

 private:
  /// Adds two bits to a sum of one, and returns what is carried.
  static std::uint64_t carry(std::uint64_t& sum, std::uint64_t a, std::uint64_t b) {
    const std::uint64_t both = sum ^ a;
    const std::uint64_t carried = (sum & a) | (both & b);
    sum = both ^ b;
    return carried;
  }

  std::array<Bits, kSums> bits_ = {};
};

/// Up to kFewTile wanted rows.
template <class Key>
class Tile {
 public:
  Tile(std::span<const KeyColumn> columns, std::span<const std::uint32_t> rows)
      : columns_(columns), size_(rows.size()), rows_(rows.begin(), rows.end()) {
    for (const KeyColumn& column : columns) add_key(column);
    // Equal rows side by side, so that the first of them is found.
    std::ranges::sort(rows_, [&](std::uint32_t a, std::uint32_t b) { return is_before(a, b); });
  }

  /// Writes, for each of eight rows, the wanted ones that dominate it or equal it, by their places in the list. Returns
  /// which rows may equal one.
  std::array<bool, kRows> not_greater(std::size_t first, std::array<Bits, kRows>& sets) const {
    std::array<bool, kRows> may_equal;
    may_equal.fill(true);
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      const Key* const keys = columns_[k].as<Key>() + first;
      const Places places = places_of(k, keys);
      for (std::size_t i = 0; i < kRows; ++i) {
        may_equal[i] = may_equal[i] && places[i] > 0 && sorted_[k][places[i] - 1] == keys[i];
        const Bits& set = sets_[k][places[i]];
        for (std::size_t w = 0; w < kWords; ++w) sets[i][w] = k == 0 ? set[w] : sets[i][w] & set[w];
      }
    }
    return may_equal;
  }

  /// Returns the first place, among the rows in lexicographic order, of one that equals a row; size() if there is none.
  std::size_t first_equal(std::uint32_t row) const {
    const auto found = std::ranges::lower_bound(rows_, row, [&](auto a, auto b) { return is_before(a, b); });
    return found == rows_.end() || is_before(row, *found) ? size_ : static_cast<std::size_t>(found - rows_.begin());
  }

  std::size_t size() const { return size_; }

 private:
  bool is_before(std::uint32_t a, std::uint32_t b) const {
    for (const KeyColumn& column : columns_) {
      const Key x = column.as<Key>()[a];
      const Key y = column.as<Key>()[b];
      if (x != y) return x < y;
    }
    return false;
  }

  void add_key(const KeyColumn& column) {
    const Key* const keys = column.as<Key>();
    std::array<std::size_t, kFewTile> order;
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(size_);
    std::sort(order.begin(), end, [&](auto a, auto b) { return keys[rows_[a]] < keys[rows_[b]]; });
    auto& sorted = sorted_.emplace_back();
    sorted.fill(std::numeric_limits<Key>::max());
    auto& sets = sets_.emplace_back(size_ + 1);
    for (std::size_t i = 0; i < size_; ++i) {
      sorted[i] = keys[rows_[order[i]]];
      sets[i + 1] = sets[i];
      sets[i + 1][order[i] / 64] |= std::uint64_t{1} << (order[i] % 64);
    }
  }

  /// Returns the numbers of keys that are not greater; eight searches go side by side, as each waits for its loads.
  Places places_of(std::size_t k, const Key* keys) const {
    const Key* const sorted = sorted_[k].data();
    Places places = {};
    for (std::size_t half = kFewTile / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < kRows; ++i) places[i] += sorted[places[i] + half - 1] <= keys[i] ? half : 0;
    }
    for (std::size_t i = 0; i < kRows; ++i) {
      places[i] = std::min(places[i] + (sorted[places[i]] <= keys[i] ? 1 : 0), size_);
    }
    return places;
  }

  std::span<const KeyColumn> columns_;
  std::size_t size_;
  Vector<std::uint32_t> rows_;
  Vector<std::array<Key, kFewTile>> sorted_;  ///< by key; behind the last one the greatest keys
  Vector<Vector<Bits>> sets_;                 ///< by key and by place
};

/// Adds, for each row of a tile, how many rows it dominates or equals, less those that it equals.
template <class Key>
void count_tile(const DominanceCountsProblem& problem, std::span<const std::uint32_t> wanted, std::int64_t* counts,
                const Context& context) {
  const Tile<Key> tile(problem.keys, wanted);
  Vector<std::int64_t> equal(tile.size() + 1);  // by place in lexicographic order
  std::mutex mutex;
  parallel_for((problem.n + kRange - 1) / kRange, 1, [&](std::size_t first, std::size_t last) {
    Vector<std::int64_t> equal_here(tile.size() + 1);
    Vector<std::int64_t> counts_here(wanted.size());
    for (std::size_t range = first; range < last; ++range) {
      context.check();
      Sums sums;
      std::array<Bits, kRows> sets;
      const std::size_t end = std::min(problem.n, (range + 1) * kRange);
      for (std::size_t row = range * kRange; row < end; row += kRows) {
        // The last rows are taken with some before them, which do not count again.
        const std::size_t from = std::min(row, problem.n - kRows);
        const auto may_equal = tile.not_greater(from, sets);
        for (std::size_t i = 0; i < kRows; ++i) {
          if (from + i < row) {
            sets[i] = {};
          } else if (may_equal[i]) {
            ++equal_here[tile.first_equal(static_cast<std::uint32_t>(from + i))];
          }
        }
        sums.add(sets);
      }
      for (std::size_t i = 0; i < wanted.size(); ++i) counts_here[i] += sums.of(i);
    }
    const std::scoped_lock lock(mutex);
    for (std::size_t i = 0; i < equal.size(); ++i) equal[i] += equal_here[i];
    for (std::size_t i = 0; i < wanted.size(); ++i) counts[i] += counts_here[i];
  });
  for (std::size_t i = 0; i < wanted.size(); ++i) counts[i] -= equal[tile.first_equal(wanted[i])];
}

}  // namespace

bool are_few(const DominanceCountsProblem& problem) {
  if (problem.distinct || problem.wanted.empty() || problem.n < kMinFewOf) return false;
  return static_cast<std::size_t>(std::ranges::count(problem.wanted, 1)) <= kMaxFew;
}

DominanceCounts count_dominated_by_few(const DominanceCountsProblem& problem, const Context& context) {
  Vector<std::uint32_t> wanted;
  for (std::size_t row = 0; row < problem.n; ++row) {
    if (problem.wanted[row] != 0) wanted.push_back(static_cast<std::uint32_t>(row));
  }
  DominanceCounts found{Vector<std::int64_t>(problem.n), {}};
  Vector<std::int64_t> counts(wanted.size());
  for (std::size_t first = 0; first < wanted.size(); first += kFewTile) {
    const auto tile = std::span(wanted).subspan(first, std::min(kFewTile, wanted.size() - first));
    problem.keys[0].width == KeyWidth::bytes8
        ? count_tile<std::uint64_t>(problem, tile, counts.data() + first, context)
        : count_tile<std::uint32_t>(problem, tile, counts.data() + first, context);
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) found.counts[wanted[i]] = counts[i];
  if (context.count_work) found.work.dominance_tests = problem.n * wanted.size();
  return found;
}

}  // namespace skyrank::kernels::dominance_counts
