#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>

#include "kernels/cpu/dominance_counts/dominance_counts.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/cpu/vector_targets.hpp"

// Counts what a few of many rows dominate, without sorting the many. The few are sorted by each key. A row finds its
// rank among them by each key: how many have no greater key. A tile of them has, for each key, a set of bits for each
// number of its rows that come first; the sets at a row's ranks have in common the rows of the tile that dominate it or
// equal it. Sets are added up as numbers in bits side by side (Harley and Seal; Muła, Kurz and Lemire, "Faster
// Population Counts Using AVX2 Instructions", Computer Journal 61(1), 2018).
//
// Wanted rows are in the order of the first key, and the others of a chunk by the tile that they fall into by it: tiles
// behind have no row that dominates them, and of those before it all rows come first by that key.
//
// Cost: for each row a search by each key, which begins where the leading bits of the key say, and for each row and
// tile up to its own some ten operations on a tile of bits, and two for each key.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dominance_counts/few.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef SKYRANK_FEW_TILES
#define SKYRANK_FEW_TILES
namespace skyrank::kernels::dominance_counts {

inline constexpr std::size_t kWords = 4;
static_assert(kFewTile < 64 * kWords && kFewTile < 256, "numbers of rows are bytes");
inline constexpr std::size_t kSums = 16;  ///< bits of the numbers in which sets are added up
inline constexpr std::size_t kStepPlanes = 4;
inline constexpr std::size_t kStep = std::size_t{1} << kStepPlanes;  ///< rows whose sets are added up at a time
inline constexpr std::size_t kChunk = 8192;                          ///< rows whose ranks are found at a time
inline constexpr std::size_t kRanks = kChunk + kStep;                ///< ranks of a chunk by one key, with those behind
inline constexpr std::size_t kSets = (kFewTile + 1) * kWords;        ///< words of the sets of a tile by one key

/// Tables of a tile of wanted rows, key by key.
struct FewTile {
  const std::uint8_t* places = nullptr;  ///< for each rank: how many rows of the tile are among as many first ones
  std::size_t stride = 0;                ///< ranks of a key
  const std::uint64_t* sets = nullptr;   ///< kSets words a key: for each place the rows of the tile before it
  std::uint64_t* sums = nullptr;         ///< kSums numbers of kWords words
};

}  // namespace skyrank::kernels::dominance_counts
#endif

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::dominance_counts {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FewTag = hn::CappedTag<std::uint64_t, kWords>;
using FewBits = hn::Vec<FewTag>;

/// Adds two bits to a sum of one, and returns what is carried.
HWY_INLINE FewBits carry(FewBits& sum, FewBits a, FewBits b) {
  const FewBits differs = hn::Xor(sum, a);
  const FewBits carried = hn::Or(hn::And(sum, a), hn::And(differs, b));
  sum = hn::Xor(differs, b);
  return carried;
}

/// Numbers of kStep rows less one, bit by bit.
struct LowSums {
  FewBits ones, twos, fours, eights;
};

/// The sets of the rows of a chunk in some words of a tile. Functions that add sets are inlined one into the other, so
/// that the numbers stay in registers and few sets are alive at a time. kDims are the keys, or 0.
template <std::size_t kDims>
class SetsOfRows {
 public:
  HWY_INLINE SetsOfRows(const FewTile& tile, std::size_t d, std::size_t word)
      : places_(tile.places), stride_(tile.stride), sets_(tile.sets + word), dims_(kDims == 0 ? d : kDims) {}

  /// Adds the sets of kStep rows, and returns what is carried.
  HWY_INLINE FewBits add(LowSums& sums, const std::uint16_t* ranks) const {
    const FewBits a = add_eight(sums, ranks);
    return carry(sums.eights, a, add_eight(sums, ranks + kStep / 2));
  }

 private:
  HWY_INLINE FewBits of(const std::uint16_t* ranks) const {
    const FewTag tag;
    FewBits common = hn::LoadU(tag, sets_ + std::size_t{places_[ranks[0]]} * kWords);
    for (std::size_t k = 1; k < (kDims == 0 ? dims_ : kDims); ++k) {
      const std::size_t place = places_[k * stride_ + ranks[k * kRanks]];
      common = hn::And(common, hn::LoadU(tag, sets_ + k * kSets + place * kWords));
    }
    return common;
  }
  HWY_INLINE FewBits add_two(LowSums& sums, const std::uint16_t* ranks) const {
    const FewBits a = of(ranks);
    return carry(sums.ones, a, of(ranks + 1));
  }
  HWY_INLINE FewBits add_four(LowSums& sums, const std::uint16_t* ranks) const {
    const FewBits a = add_two(sums, ranks);
    return carry(sums.twos, a, add_two(sums, ranks + 2));
  }
  HWY_INLINE FewBits add_eight(LowSums& sums, const std::uint16_t* ranks) const {
    const FewBits a = add_four(sums, ranks);
    return carry(sums.fours, a, add_four(sums, ranks + 4));
  }

  const std::uint8_t* places_;
  std::size_t stride_;
  const std::uint64_t* sets_;
  std::size_t dims_;
};

/// Adds the sets of `rows` rows, a multiple of kStep, to the numbers of some words of a tile.
template <std::size_t kDims>
void add_to_words(const FewTile& tile, std::size_t d, const std::uint16_t* ranks, std::size_t rows, std::size_t word) {
  const FewTag tag;
  std::uint64_t* const sums = tile.sums + word;
  LowSums low{hn::LoadU(tag, sums), hn::LoadU(tag, sums + kWords), hn::LoadU(tag, sums + 2 * kWords),
              hn::LoadU(tag, sums + 3 * kWords)};
  const SetsOfRows<kDims> sets(tile, d, word);
  for (std::size_t first = 0; first < rows; first += kStep) {
    FewBits carried = sets.add(low, ranks + first);
    for (std::size_t p = kStepPlanes; p < kSums && !hn::AllTrue(tag, hn::Eq(carried, hn::Zero(tag))); ++p) {
      const FewBits sum = hn::LoadU(tag, sums + p * kWords);
      hn::StoreU(hn::Xor(sum, carried), tag, sums + p * kWords);
      carried = hn::And(sum, carried);
    }
  }
  hn::StoreU(low.ones, tag, sums);
  hn::StoreU(low.twos, tag, sums + kWords);
  hn::StoreU(low.fours, tag, sums + 2 * kWords);
  hn::StoreU(low.eights, tag, sums + 3 * kWords);
}

void add_rows_to_tile(const FewTile& tile, std::size_t d, const std::uint16_t* ranks, std::size_t rows) {
  for (std::size_t word = 0; word < kWords; word += hn::Lanes(FewTag())) {
    switch (d) {
      case 3: add_to_words<3>(tile, d, ranks, rows, word); break;
      case 4: add_to_words<4>(tile, d, ranks, rows, word); break;
      case 5: add_to_words<5>(tile, d, ranks, rows, word); break;
      case 6: add_to_words<6>(tile, d, ranks, rows, word); break;
      default: add_to_words<0>(tile, d, ranks, rows, word);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::dominance_counts
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels::dominance_counts {

HWY_EXPORT(add_rows_to_tile);

namespace {

void add_rows(const FewTile& tile, std::size_t d, const std::uint16_t* ranks, std::size_t rows) {
  HWY_DYNAMIC_DISPATCH(add_rows_to_tile)(tile, d, ranks, rows);
}

constexpr std::size_t kAtATime = 8;                   ///< rows that search side by side, as each waits for its loads
constexpr std::size_t kRange = std::size_t{1} << 15;  ///< rows that one thread counts, at most 2^kSums - 1
constexpr std::size_t kMinOrderedTiles = 6;           ///< fewer save less than it takes to order rows by tile
constexpr std::size_t kMaxPlaceBytes = std::size_t{32} << 20;

/// The order of the wanted rows by one key.
template <class Key>
class OrderOfFew {
 public:
  OrderOfFew(const KeyColumn& column, std::span<const std::int64_t> rows) : order_(rows.size()) {
    const Key* const keys = column.as<Key>();
    std::iota(order_.begin(), order_.end(), std::uint16_t{0});
    std::ranges::stable_sort(order_, [&](auto a, auto b) { return keys[rows[a]] < keys[rows[b]]; });
    for (const std::uint16_t i : order_) sorted_.push_back(keys[rows[i]]);
    make_buckets();
  }

  const Vector<std::uint16_t>& order() const { return order_; }

  /// Writes the ranks of kAtATime keys, and takes from `equal` those that are no keys of wanted rows, unless it is
  /// null.
  void find(const Key* keys, std::uint16_t* ranks, bool* equal) const {
    const Key least = sorted_.front();
    std::size_t places[kAtATime];
    for (std::size_t i = 0; i < kAtATime; ++i) {
      const Key above = keys[i] < least ? Key{0} : static_cast<Key>(keys[i] - least);
      places[i] = starts_[std::min<std::size_t>(static_cast<std::size_t>(above >> shift_), starts_.size() - 1)];
    }
    for (std::size_t half = first_half_; half > 0; half /= 2) {
      for (std::size_t i = 0; i < kAtATime; ++i) places[i] += sorted_[places[i] + half - 1] <= keys[i] ? half : 0;
    }
    for (std::size_t i = 0; i < kAtATime; ++i) {
      const std::size_t place = keys[i] < least ? 0 : std::min(places[i], order_.size());
      ranks[i] = static_cast<std::uint16_t>(place);
    }
    if (equal == nullptr) return;
    for (std::size_t i = 0; i < kAtATime; ++i) {
      equal[i] &= ranks[i] > 0 && sorted_[ranks[i] > 0 ? ranks[i] - 1 : 0] == keys[i];
    }
  }

 private:
  /// Divides the range of the keys evenly, so that a search begins near its end.
  void make_buckets() {
    constexpr int kBucketsOfRow = 4;
    const std::size_t n = sorted_.size();
    const auto range = static_cast<Key>(sorted_.back() - sorted_.front());
    const int bits = static_cast<int>(std::bit_width(n * kBucketsOfRow));
    shift_ = std::max(0, static_cast<int>(std::bit_width(range)) - bits);
    starts_.resize(static_cast<std::size_t>(range >> shift_) + 1);
    std::size_t largest = 0;
    for (std::size_t bucket = 0, place = 0; bucket < starts_.size(); ++bucket) {
      starts_[bucket] = static_cast<std::uint16_t>(place);
      const std::size_t first = place;
      while (place < n &&
             static_cast<std::size_t>(static_cast<Key>(sorted_[place] - sorted_.front()) >> shift_) == bucket)
        ++place;
      largest = std::max(largest, place - first);
    }
    first_half_ = std::bit_floor(largest);
    sorted_.resize(n + 2 * first_half_, std::numeric_limits<Key>::max());
  }

  Vector<std::uint16_t> order_;   ///< wanted rows, by their numbers
  Vector<Key> sorted_;            ///< behind the last one the greatest keys
  Vector<std::uint16_t> starts_;  ///< for each bucket: how many keys are in those before it
  int shift_ = 0;
  std::size_t first_half_ = 1;  ///< greatest power of two up to the rows of a bucket
};

/// Tables of all tiles of wanted rows.
template <class Key>
class FewTiles {
 public:
  FewTiles(std::span<const KeyColumn> columns, std::span<const std::int64_t> rows)
      : d_(columns.size()),
        tiles_((rows.size() + kFewTile - 1) / kFewTile),
        stride_(rows.size() + 1),
        places_(tiles_ * d_ * stride_),
        sets_(tiles_ * d_ * kSets) {
    for (const KeyColumn& column : columns) orders_.emplace_back(column, rows);
    parallel_for(tiles_ * d_, 8, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) make_tables(i / d_, i % d_);
    });
  }

  std::size_t count() const { return tiles_; }
  const OrderOfFew<Key>& order(std::size_t k) const { return orders_[k]; }

  /// Returns the tables of a tile by the keys from `key` on.
  FewTile tile(std::size_t t, std::size_t key, std::uint64_t* sums) const {
    return {places_.data() + (t * d_ + key) * stride_, stride_, sets_.data() + (t * d_ + key) * kSets, sums};
  }

 private:
  /// Makes the tables of a tile by one key.
  void make_tables(std::size_t t, std::size_t k) {
    const Vector<std::uint16_t>& order = orders_[k].order();
    std::uint8_t* const places = places_.data() + (t * d_ + k) * stride_;
    std::uint64_t* last = sets_.data() + (t * d_ + k) * kSets;
    std::uint8_t place = 0;
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
      places[rank] = place;
      const std::size_t row = order[rank] - t * kFewTile;  // of another tile: beyond this one's
      if (row >= kFewTile) continue;
      std::copy_n(last, kWords, last + kWords);
      last += kWords;
      last[row / 64] |= std::uint64_t{1} << (row % 64);
      ++place;
    }
    places[order.size()] = place;
  }

  std::size_t d_;
  std::size_t tiles_;
  std::size_t stride_;
  Vector<OrderOfFew<Key>> orders_;
  Vector<std::uint8_t> places_;
  Vector<std::uint64_t> sets_;
};

/// The wanted rows in lexicographic order, which finds those that equal a row.
template <class Key>
class EqualRows {
 public:
  EqualRows(std::span<const KeyColumn> columns, std::span<const std::int64_t> rows)
      : columns_(columns), rows_(rows.begin(), rows.end()) {
    std::ranges::sort(rows_, [&](auto a, auto b) { return is_before(a, b); });
  }

  /// Returns the place of the first that equals a row; that behind the last if there is none.
  std::size_t first(std::int64_t row) const {
    const auto found = std::ranges::lower_bound(rows_, row, [&](auto a, auto b) { return is_before(a, b); });
    return found == rows_.end() || is_before(row, *found) ? rows_.size()
                                                          : static_cast<std::size_t>(found - rows_.begin());
  }

 private:
  bool is_before(std::int64_t a, std::int64_t b) const {
    for (const KeyColumn& column : columns_) {
      const Key x = column.as<Key>()[a];
      const Key y = column.as<Key>()[b];
      if (x != y) return x < y;
    }
    return false;
  }

  std::span<const KeyColumn> columns_;
  Vector<std::int64_t> rows_;
};

/// Counts, for each wanted row, the rows that it dominates or equals, less those that it equals. Wanted rows are in the
/// order of the first key.
template <class Key>
class FewCount {
 public:
  FewCount(const DominanceCountsProblem& problem, std::span<const std::int64_t> wanted, const Context& context)
      : problem_(problem),
        wanted_(wanted),
        context_(context),
        tiles_(problem.keys, wanted),
        equal_rows_(problem.keys, wanted),
        counts_(wanted.size()),
        equal_(wanted.size() + 1) {}

  Vector<std::int64_t> run() {
    parallel_for((problem_.n + kRange - 1) / kRange, 1, [&](std::size_t first, std::size_t last) {
      Vector<std::int64_t> equal(equal_.size());
      Vector<std::int64_t> counts(counts_.size());
      for (std::size_t range = first; range < last; ++range) {
        context_.check();
        count_range(range * kRange, std::min(problem_.n, (range + 1) * kRange), counts, equal);
      }
      const std::scoped_lock lock(mutex_);
      for (std::size_t i = 0; i < equal.size(); ++i) equal_[i] += equal[i];
      for (std::size_t i = 0; i < counts.size(); ++i) counts_[i] += counts[i];
    });
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] -= equal_[equal_rows_.first(wanted_[i])];
    return std::move(counts_);
  }

 private:
  void count_range(std::size_t begin, std::size_t end, Vector<std::int64_t>& counts,
                   Vector<std::int64_t>& equal) const {
    const std::size_t d = problem_.keys.size();
    Vector<std::uint64_t> sums(tiles_.count() * kSums * kWords);
    Scratch<std::uint16_t> ranks(d * kRanks, 0);
    Scratch<std::uint16_t> ordered(d * kRanks, 0);
    Vector<std::size_t> starts(tiles_.count() + 2);
    const bool in_order = tiles_.count() >= kMinOrderedTiles;
    for (std::size_t first = begin; first < end; first += kChunk) {
      const std::size_t rows = std::min(kChunk, end - first);
      find_ranks(first, rows, ranks.data(), equal);
      if (in_order) order_by_tile(ranks.data(), rows, ordered.data(), starts);
      for (std::size_t t = 0; t < tiles_.count(); ++t) {
        std::uint64_t* const of_tile = sums.data() + t * kSums * kWords;
        if (in_order) {
          add_to_tile(t, ordered.data(), starts[t], starts[t + 1], rows, of_tile);
        } else {
          add_to_tile(t, ranks.data(), 0, rows, rows, of_tile);
        }
      }
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::uint64_t* const of_tile = sums.data() + i / kFewTile * kSums * kWords + i % kFewTile / 64;
      for (std::size_t p = 0; p < kSums; ++p) {
        counts[i] += static_cast<std::int64_t>(of_tile[p * kWords] >> (i % kFewTile % 64) & 1) << p;
      }
    }
  }

  /// Adds to a tile the rows of a chunk that may have wanted rows of it before them by the first key: those from
  /// `begin` on, and those from `whole` on have all of them.
  void add_to_tile(std::size_t t, const std::uint16_t* ranks, std::size_t begin, std::size_t whole, std::size_t rows,
                   std::uint64_t* sums) const {
    const std::size_t d = problem_.keys.size();
    const auto steps = [](std::size_t count) { return (count + kStep - 1) / kStep * kStep; };
    const std::size_t by_all = steps((d == 1 ? rows : whole) - begin);
    add_rows(tiles_.tile(t, 0, sums), d, ranks + begin, by_all);
    if (begin + by_all >= rows) return;
    add_rows(tiles_.tile(t, 1, sums), d - 1, ranks + kRanks + begin + by_all, steps(rows - begin - by_all));
  }

  /// Orders the rows of a chunk by the tile that their ranks by the first key fall into, as wanted rows are in the
  /// order of that key. starts[t] gets the number of rows before those of tile t, and behind the last row there are
  /// zeros.
  void order_by_tile(const std::uint16_t* ranks, std::size_t rows, std::uint16_t* ordered,
                     Vector<std::size_t>& starts) const {
    std::ranges::fill(starts, std::size_t{0});
    for (std::size_t row = 0; row < rows; ++row) ++starts[ranks[row] / kFewTile + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::uint16_t places[kChunk];
    {
      Vector<std::size_t> next = starts;
      for (std::size_t row = 0; row < rows; ++row) {
        places[row] = static_cast<std::uint16_t>(next[ranks[row] / kFewTile]++);
      }
    }
    for (std::size_t k = 0; k < problem_.keys.size(); ++k, ranks += kRanks, ordered += kRanks) {
      for (std::size_t row = 0; row < rows; ++row) ordered[places[row]] = ranks[row];
      std::fill_n(ordered + rows, kStep, std::uint16_t{0});
    }
  }

  /// Writes the ranks of rows, key by key, and zeros behind the last; counts the rows that equal wanted ones.
  void find_ranks(std::size_t first, std::size_t rows, std::uint16_t* ranks, Vector<std::int64_t>& equal) const {
    for (std::size_t row = 0; row < rows; row += kAtATime) {
      bool may_equal[kAtATime];
      std::ranges::fill(may_equal, true);
      const std::size_t here = std::min(kAtATime, rows - row);
      for (std::size_t k = 0; k < problem_.keys.size(); ++k) {
        const Key* keys = problem_.keys[k].template as<Key>() + first + row;
        Key last[kAtATime] = {};
        if (here < kAtATime) keys = std::copy_n(keys, here, last) - here;
        const bool may_any = k == 0 || std::ranges::find(may_equal, true) != std::end(may_equal);
        tiles_.order(k).find(keys, ranks + k * kRanks + row, may_any ? may_equal : nullptr);
      }
      for (std::size_t i = 0; i < here; ++i) {
        if (may_equal[i]) ++equal[equal_rows_.first(static_cast<std::int64_t>(first + row + i))];
      }
    }
    for (std::size_t k = 0; k < problem_.keys.size(); ++k) {
      std::fill_n(ranks + k * kRanks + rows, kStep, std::uint16_t{0});
    }
  }

  const DominanceCountsProblem& problem_;
  std::span<const std::int64_t> wanted_;
  const Context& context_;
  FewTiles<Key> tiles_;
  EqualRows<Key> equal_rows_;
  std::mutex mutex_;
  Vector<std::int64_t> counts_;
  Vector<std::int64_t> equal_;  ///< by place in lexicographic order
};

}  // namespace

bool are_few(const DominanceCountsProblem& problem, std::size_t wanted) {
  const std::size_t tiles = (wanted + kFewTile - 1) / kFewTile;
  return !problem.distinct && problem.n >= kMinFewOf && wanted <= kMaxFew &&
         tiles * problem.keys.size() * wanted <= kMaxPlaceBytes;
}

namespace {

template <class Key>
Vector<std::int64_t> count_in_order(const DominanceCountsProblem& problem, std::span<const std::int64_t> wanted,
                                    const Context& context) {
  const Key* const keys = problem.keys[0].as<Key>();
  Vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](auto a, auto b) { return keys[wanted[a]] < keys[wanted[b]]; });
  Vector<std::int64_t> ordered;
  for (const std::size_t i : order) ordered.push_back(wanted[i]);
  const Vector<std::int64_t> of_ordered = FewCount<Key>(problem, ordered, context).run();
  Vector<std::int64_t> counts(wanted.size());
  for (std::size_t i = 0; i < order.size(); ++i) counts[order[i]] = of_ordered[i];
  return counts;
}

}  // namespace

DominanceCounts count_dominated_by_few(const DominanceCountsProblem& problem, std::span<const std::int64_t> wanted,
                                       const Context& context) {
  DominanceCounts found;
  if (wanted.empty()) return found;
  found.counts = wanted.size() <= kMaxHandful                ? count_dominated_by_handful(problem, wanted, context)
                 : problem.keys[0].width == KeyWidth::bytes8 ? count_in_order<std::uint64_t>(problem, wanted, context)
                                                             : count_in_order<std::uint32_t>(problem, wanted, context);
  if (context.count_work) found.work.dominance_tests = problem.n * wanted.size();
  return found;
}

}  // namespace skyrank::kernels::dominance_counts
#endif  // HWY_ONCE
