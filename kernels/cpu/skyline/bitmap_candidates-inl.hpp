// Rows in the forms in which they meet blocks, and in the orders in which they do, for blocked_bitmap.cpp; compiled for
// each target of the file that includes it.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <hwy/cache_control.h>

#include "kernels/common/counters.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/skyline/padded_rows.hpp"
#include "kernels/cpu/skyline/sample.hpp"

#if defined(SKYRANK_KERNELS_CPU_SKYLINE_BITMAP_CANDIDATES_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKYRANK_KERNELS_CPU_SKYLINE_BITMAP_CANDIDATES_INL_HPP_
#undef SKYRANK_KERNELS_CPU_SKYLINE_BITMAP_CANDIDATES_INL_HPP_
#else
#define SKYRANK_KERNELS_CPU_SKYLINE_BITMAP_CANDIDATES_INL_HPP_
#endif

#include <hwy/highway.h>

#include "kernels/cpu/skyline/bitmap_levels-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::skyline {
namespace HWY_NAMESPACE {
namespace {

inline constexpr std::size_t kTile = 256;
inline constexpr std::size_t kMinTile = 64;  ///< tile size if there would be more threads than tiles

/// Rows in the form in which they meet blocks.
template <class Key>
struct Candidates {
  Grid<Key> grid;
  std::size_t n = 0;
  std::size_t d = 0;
  PaddedRows<Key> keys;
  std::size_t planes = 0;       ///< words of eight levels
  Array<std::uint64_t> levels;  ///< n x planes, padded with zeros
  Array<std::uint16_t> scores;  ///< level sums

  Candidates(Grid<Key> levels_of, std::size_t rows)
      : grid(std::move(levels_of)),
        n(rows),
        d(grid.d),
        keys(n, d),
        planes((d + 7) / 8),
        levels(n * planes),
        scores(n) {}

  /// The levels of a row side by side, eight a word.
  const std::uint64_t* level_words(std::size_t row) const { return levels.get() + row * planes; }
  const std::uint8_t* level(std::size_t row) const { return reinterpret_cast<const std::uint8_t*>(level_words(row)); }
};

/// Makes candidates [first, first + count) of the rows `ids` of the problem; at most kTile.
template <class Key>
void fill_tile(const SkylineProblem& problem, const std::uint32_t* ids, std::size_t first, std::size_t count,
               Candidates<Key>& rows) {
  const hn::ScalableTag<Key> tag;
  HWY_ALIGN std::array<Key, kTile> values{};
  HWY_ALIGN std::array<Key, kTile> found{};
  std::array<std::uint16_t, kTile> scores{};
  const Grid<Key>& grid = rows.grid;
  std::uint64_t* words = rows.levels.get() + first * rows.planes;
  auto* levels = reinterpret_cast<std::uint8_t*>(words);
  for (std::size_t i = 0; i < count; ++i) rows.keys.pad(first + i);
  for (std::size_t i = 0; i < count; ++i) words[(i + 1) * rows.planes - 1] = 0;
  for (std::size_t j = 0; j < rows.d; ++j) {
    const Key* column = problem.keys[j].template as<Key>();
    const LevelSearch<Key> search(grid, j);
    for (std::size_t i = 0; i < count; ++i) rows.keys[first + i][j] = values[i] = column[ids[i]];
    for (std::size_t i = 0; i < count; i += hn::Lanes(tag)) {
      const auto keys = hn::Load(tag, values.data() + i);
      hn::Store(search(keys), tag, found.data() + i);
    }
    for (std::size_t i = 0; i < count; ++i) scores[i] = static_cast<std::uint16_t>(scores[i] + found[i]);
    for (std::size_t i = 0; i < count; ++i) levels[i * 8 * rows.planes + j] = static_cast<std::uint8_t>(found[i]);
  }
  std::copy_n(scores.begin(), count, rows.scores.get() + first);
}

template <class Key, class Counters>
Candidates<Key> make_candidates(const SkylineProblem& problem, std::span<const std::uint32_t> ids, Counters& counters,
                                const Context& context) {
  RowIndices sample = sample_rows(ids.size(), ids.size() < 1 << 16 ? 512 : 2048);
  for (std::uint32_t& row : sample) row = ids[row];
  Candidates<Key> rows(make_grid<Key>(problem, sample), ids.size());
  const std::size_t tile = std::clamp(hwy::RoundUpTo(rows.n / (4 * concurrency()), kMinTile), kMinTile, kTile);
  const std::size_t tiles = (rows.n + tile - 1) / tile;
  parallel_for(tiles, std::clamp<std::size_t>(tiles / (8 * concurrency()), 1, 16),
               [&](std::size_t begin, std::size_t end) {
                 context.check();
                 for (std::size_t first = begin * tile; first < std::min(rows.n, end * tile); first += tile) {
                   fill_tile(problem, ids.data() + first, first, std::min(tile, rows.n - first), rows);
                 }
               });
  counters.bytes_read(rows.n * rows.d * sizeof(Key));
  counters.bytes_written(rows.n * (rows.keys.stride() * sizeof(Key) + rows.d));
  return rows;
}

using Words = RawVector<std::uint64_t>;

/// Makes one word of a row: its place in z-order above the row itself. Of a long code the lowest bits, which matter
/// least, make room. In the order of words, neighbours have similar levels, which keeps the corners of blocks tight.
template <class Key>
class Coder {
 public:
  explicit Coder(const Candidates<Key>& rows)
      : rows_(rows),
        row_bits_(static_cast<std::size_t>(std::bit_width(rows.n))),
        dropped_(std::max(rows.grid.code_bits() + row_bits_, std::size_t{64}) - 64) {}

  std::uint64_t operator()(std::size_t row) const {
    return word(rows_.grid.code(rows_.level_words(row)) >> dropped_, row);
  }
  std::uint64_t word(std::uint64_t code, std::size_t row) const { return code << row_bits_ | row; }
  std::uint64_t code(std::uint64_t word) const { return word >> row_bits_; }
  std::uint32_t row(std::uint64_t word) const {
    return static_cast<std::uint32_t>(word & ((std::uint64_t{1} << row_bits_) - 1));
  }

 private:
  const Candidates<Key>& rows_;
  std::size_t row_bits_;
  std::size_t dropped_;
};

/// The words of all rows in batches of ascending level sums, and each batch in z-order. Rows of one sum stay together:
/// what dominates a row is in its batch or an earlier one.
struct Batches {
  Words words;
  Vector<std::size_t> starts;  ///< starts of the batches, and the number of rows

  std::size_t count() const { return starts.size() - 1; }
  std::span<const std::uint64_t> operator[](std::size_t b) const {
    return std::span(words).subspan(starts[b], starts[b + 1] - starts[b]);
  }
};

/// Sizes of batches: each is to have twice as many rows as the one before.
struct BatchSizes {
  std::size_t first = 0;
  std::size_t largest = 0;
};

/// The words of a batch, cut at splitters from a sorted sample into a power of two of buckets of about the same size.
class Buckets {
 public:
  Buckets(std::span<const std::uint64_t> sample, std::size_t count) : splitters_(count, ~std::uint64_t{0}) {
    if (sample.empty()) return;
    for (std::size_t b = 1; b < count; ++b) splitters_[b - 1] = sample[b * sample.size() / count];
  }

  std::size_t count() const { return splitters_.size(); }

  /// The number of splitters at or below a word, by a search without branches: they could not be foretold.
  std::size_t operator()(std::uint64_t word) const {
    std::size_t bucket = 0;
    for (std::size_t step = count() / 2; step > 0; step /= 2)
      bucket += splitters_[bucket + step - 1] <= word ? step : 0;
    return bucket;
  }

 private:
  Vector<std::uint64_t> splitters_;  ///< and one more, above all words
};

/// Sorts candidates into batches: parts of them are counted, and spread over the buckets of all batches, and buckets
/// are sorted, each for all batches at the same time, so that a run has as few steps as can be.
template <class Key>
class BatchSort {
 public:
  BatchSort(const Candidates<Key>& rows, const Coder<Key>& coder, BatchSizes sizes)
      : rows_(rows), coder_(coder), parts_(std::clamp<std::size_t>(rows.n / 512, 1, concurrency())) {
    cut_batches(sizes);
    cut_buckets();
  }

  Batches operator()() && {
    Words words(rows_.n);
    RawVector<std::uint16_t> buckets(rows_.n);
    Vector<RowIndices> next(parts_, RowIndices(num_buckets_));
    each_row([&](std::size_t part, std::size_t i) {
      words[i] = coder_(i);
      buckets[i] = bucket_of(i, words[i]);
      ++next[part][buckets[i]];
    });
    const Vector<std::size_t> bucket_starts = places_of(next);
    Batches result{Words(rows_.n), std::move(starts_)};
    each_row([&](std::size_t part, std::size_t i) { result.words[next[part][buckets[i]]++] = words[i]; });
    parallel_for(num_buckets_, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b) {
        sort_keys(std::span(result.words).subspan(bucket_starts[b], bucket_starts[b + 1] - bucket_starts[b]));
      }
    });
    return result;
  }

 private:
  /// Calls body(part, i) for each row i, parts of them at the same time.
  template <class Body>
  void each_row(const Body& body) const {
    parallel_for(parts_, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t part = begin; part < end; ++part) {
        const std::size_t last = rows_.n * (part + 1) / parts_;
        for (std::size_t i = rows_.n * part / parts_; i < last; ++i) body(part, i);
      }
    });
  }

  void cut_batches(BatchSizes sizes) {
    Vector<RowIndices> counts(parts_, RowIndices(rows_.grid.num_scores()));
    each_row([&](std::size_t part, std::size_t i) { ++counts[part][rows_.scores[i]]; });
    std::size_t wished = sizes.first;
    std::size_t before = 0;
    for (std::size_t score = 0; score < rows_.grid.num_scores(); ++score) {
      if (starts_.empty() || before >= starts_.back() + wished) {
        if (!starts_.empty()) wished = std::min(2 * wished, sizes.largest);
        starts_.push_back(before);
      }
      batch_of_score_.push_back(static_cast<std::uint16_t>(starts_.size() - 1));
      for (const RowIndices& part : counts) before += part[score];
    }
    if (starts_.back() == before) starts_.pop_back();
    starts_.push_back(before);
  }

  void cut_buckets() {
    constexpr std::size_t kBucketsOfThread = 4;  // so that the largest is a small share of a thread's work
    constexpr std::size_t kOversampling = 8;
    const std::size_t wished = parts_ == 1 ? 1 : kBucketsOfThread * parts_;
    Vector<Words> samples(starts_.size() - 1);
    for (const std::size_t i : sample_rows(rows_.n, parts_ == 1 ? 0 : kOversampling * wished)) {
      samples[batch_of_score_[rows_.scores[i]]].push_back(coder_(i));
    }
    for (std::size_t b = 0; b < samples.size(); ++b) {
      sort_keys(samples[b]);
      const std::size_t share = wished * (starts_[b + 1] - starts_[b]) / rows_.n;
      buckets_.emplace_back(samples[b], std::bit_ceil(std::max<std::size_t>(share, 1)));
      first_bucket_.push_back(static_cast<std::uint16_t>(num_buckets_));
      num_buckets_ += buckets_.back().count();
    }
  }

  std::uint16_t bucket_of(std::size_t row, std::uint64_t word) const {
    const std::size_t batch = batch_of_score_[rows_.scores[row]];
    return static_cast<std::uint16_t>(first_bucket_[batch] + buckets_[batch](word));
  }

  /// Returns the starts of the buckets, and the number of rows; replaces the counts of each part by the places where it
  /// puts its own rows.
  Vector<std::size_t> places_of(Vector<RowIndices>& counts) const {
    Vector<std::size_t> starts;
    std::uint32_t at = 0;
    for (std::size_t b = 0; b < num_buckets_; ++b) {
      starts.push_back(at);
      for (RowIndices& part : counts) at += std::exchange(part[b], at);
    }
    starts.push_back(at);
    return starts;
  }

  const Candidates<Key>& rows_;
  const Coder<Key>& coder_;
  std::size_t parts_;
  Vector<std::size_t> starts_;  ///< starts of the batches
  Vector<std::uint16_t> batch_of_score_;
  Vector<Buckets> buckets_;  ///< buckets of the batches
  Vector<std::uint16_t> first_bucket_;
  std::size_t num_buckets_ = 0;
};

/// Ascending runs of words as one, cut at words of the longest run into parts that are made at the same time.
inline Words merged(const Vector<std::span<const std::uint64_t>>& runs) {
  using Run = std::span<const std::uint64_t>;
  constexpr std::size_t kPart = 1 << 10;
  std::size_t size = 0;
  for (const Run run : runs) size += run.size();
  const std::size_t parts = std::clamp<std::size_t>(size / kPart, 1, 4 * concurrency());
  const Run longest = *std::ranges::max_element(runs, {}, &Run::size);
  const auto start_in = [&](Run run, std::size_t part) {
    if (part == 0) return std::size_t{0};
    if (part == parts) return run.size();
    const std::uint64_t splitter = longest[longest.size() * part / parts];
    return static_cast<std::size_t>(std::ranges::lower_bound(run, splitter) - run.begin());
  };
  Words result(size);
  parallel_for(parts, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t part = begin; part < end; ++part) {
      std::size_t first = 0;
      for (const Run run : runs) first += start_in(run, part);
      std::size_t last = first;
      for (const Run run : runs) {
        const std::size_t from = start_in(run, part);
        const Run words = run.subspan(from, start_in(run, part + 1) - from);
        std::ranges::copy(words, result.begin() + static_cast<std::ptrdiff_t>(last));
        last += words.size();
      }
      sort_keys(std::span(result).subspan(first, last - first));
    }
  });
  return result;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::skyline
HWY_AFTER_NAMESPACE();

#endif
