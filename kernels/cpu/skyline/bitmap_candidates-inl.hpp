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
Candidates<Key> make_candidates(const SkylineProblem& problem, const RowIndices& ids, Counters& counters,
                                const Context& context) {
  RowIndices sample = sample_rows(ids.size(), ids.size() < 1 << 16 ? 512 : 2048);
  for (std::uint32_t& row : sample) row = ids[row];
  Candidates<Key> rows(make_grid<Key>(problem, sample), ids.size());
  parallel_for((rows.n + kTile - 1) / kTile, 16, [&](std::size_t begin, std::size_t end) {
    context.check();
    for (std::size_t first = begin * kTile; first < std::min(rows.n, end * kTile); first += kTile) {
      fill_tile(problem, ids.data() + first, first, std::min(kTile, rows.n - first), rows);
    }
  });
  counters.bytes_read(rows.n * rows.d * sizeof(Key));
  counters.bytes_written(rows.n * (rows.keys.stride() * sizeof(Key) + rows.d));
  return rows;
}

/// Rows by ascending score; `starts[s]` is the first of score s, and the last start is n.
struct ByScore {
  RawVector<std::uint32_t> order;
  Vector<std::size_t> starts;
};

/// A counting sort: parts of the input are counted and spread at the same time.
template <class Key>
ByScore sort_by_score(const Candidates<Key>& rows, std::size_t num_scores) {
  const std::size_t parts = std::clamp<std::size_t>(rows.n / 16384, 1, concurrency());
  Vector<RowIndices> next(parts, RowIndices(num_scores));
  const auto each_row = [&](const auto& body) {
    parallel_for(parts, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t part = begin; part < end; ++part) {
        const std::size_t last = rows.n * (part + 1) / parts;
        for (std::size_t i = rows.n * part / parts; i < last; ++i) body(next[part][rows.scores[i]], i);
      }
    });
  };
  each_row([](std::uint32_t& count, std::size_t) { ++count; });
  ByScore result{RawVector<std::uint32_t>(rows.n), Vector<std::size_t>(num_scores + 1, rows.n)};
  std::uint32_t at = 0;
  for (std::size_t s = 0; s < num_scores; ++s) {
    result.starts[s] = at;
    for (RowIndices& part : next) at += std::exchange(part[s], at);
  }
  each_row([&](std::uint32_t& place, std::size_t i) { result.order[place++] = static_cast<std::uint32_t>(i); });
  return result;
}

/// A row below its code in the z-order, in one word; of a long code the lowest bits, which matter least, make room.
struct CodedRows {
  RawVector<std::uint64_t> words;  ///< ascending
  std::size_t row_bits = 0;

  std::size_t size() const { return words.size(); }
  std::uint64_t code(std::size_t i) const { return words[i] >> row_bits; }
  std::uint32_t row(std::size_t i) const {
    return static_cast<std::uint32_t>(words[i] & ((std::uint64_t{1} << row_bits) - 1));
  }
  std::span<const std::uint64_t> part(std::size_t begin, std::size_t end) const {
    return std::span(words).subspan(begin, end - begin);
  }
  RawVector<std::uint32_t> rows() const {
    RawVector<std::uint32_t> all(size());
    parallel_for(size(), 1 << 14, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) all[i] = row(i);
    });
    return all;
  }
};

/// Cuts words at splitters from a sample, into a power of two of buckets of about the same size.
class Buckets {
 public:
  Buckets(std::span<const std::uint64_t> words, std::size_t wished)
      : splitters_(std::bit_ceil(wished), ~std::uint64_t{0}) {
    constexpr std::size_t kOversampling = 32;
    RawVector<std::uint64_t> sample;
    for (const std::size_t i : sample_rows(words.size(), count() * kOversampling)) sample.push_back(words[i]);
    sort_keys(sample);
    for (std::size_t b = 1; b < count(); ++b) splitters_[b - 1] = sample[b * sample.size() / count()];
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

/// Sorts by splitters: parts are spread over buckets, and buckets are sorted, at the same time.
inline void sort_words(RawVector<std::uint64_t>& words) {
  constexpr std::size_t kSerial = 1 << 13;
  constexpr std::size_t kBucketsAPart = 4;  // so that the largest is a small share of a thread's work
  const std::size_t parts = std::min(concurrency(), words.size() / kSerial);
  if (parts < 2) return sort_keys(words);
  const Buckets bucket_of(words, kBucketsAPart * parts);
  Vector<Vector<std::size_t>> next(parts, Vector<std::size_t>(bucket_of.count()));
  const auto each_word = [&](const auto& body) {
    parallel_for(parts, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t part = begin; part < end; ++part) {
        const std::size_t last = words.size() * (part + 1) / parts;
        for (std::size_t i = words.size() * part / parts; i < last; ++i) {
          body(next[part][bucket_of(words[i])], words[i]);
        }
      }
    });
  };
  each_word([](std::size_t& count, std::uint64_t) { ++count; });
  Vector<std::size_t> starts;
  std::size_t at = 0;
  for (std::size_t b = 0; b < bucket_of.count(); ++b) {
    starts.push_back(at);
    for (Vector<std::size_t>& part : next) at += std::exchange(part[b], at);
  }
  starts.push_back(at);
  RawVector<std::uint64_t> spread(words.size());
  each_word([&](std::size_t& place, std::uint64_t word) { spread[place++] = word; });
  parallel_for(bucket_of.count(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      sort_keys(std::span(spread).subspan(starts[b], starts[b + 1] - starts[b]));
    }
  });
  words = std::move(spread);
}

/// Rows as they are, all of one code.
template <class Key>
CodedRows without_codes(const Candidates<Key>& rows, std::span<const std::uint32_t> indices) {
  return {RawVector<std::uint64_t>(indices.begin(), indices.end()), static_cast<std::size_t>(std::bit_width(rows.n))};
}

/// Rows in z-order, then ascending: neighbours have similar levels, which keeps the corners of blocks tight.
template <class Key>
CodedRows sort_by_code(const Candidates<Key>& rows, std::span<const std::uint32_t> indices) {
  constexpr std::size_t kAhead = 16;
  CodedRows result{RawVector<std::uint64_t>(indices.size()), static_cast<std::size_t>(std::bit_width(rows.n))};
  const std::size_t dropped = std::max(rows.grid.code_bits() + result.row_bits, std::size_t{64}) - 64;
  parallel_for(indices.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (i + kAhead < end) hwy::Prefetch(rows.level_words(indices[i + kAhead]));
      result.words[i] = rows.grid.code(rows.level_words(indices[i])) >> dropped << result.row_bits | indices[i];
    }
  });
  sort_words(result.words);
  return result;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::skyline
HWY_AFTER_NAMESPACE();

#endif
