#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/common/counters.hpp"
#include "kernels/common/dominance.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/registry.hpp"

// Skyline by bitmaps over blocks of candidates; our own design. Every dimension is cut at sampled quantiles into
// levels. For a block of 512 candidates one 512-bit set per dimension and level says which of them are at or below that
// level; the intersection of the d sets that a row's own levels pick contains every candidate that dominates the row,
// and is found with d vector instructions for 512 candidates. Only its members meet the row in a dominance test. Whole
// blocks are passed over by one mask test against the intersection of their members' thermometer masks. Rows come in
// batches of ascending level sum, so that every candidate is a skyline row. Exactness never depends on the quantiles.
//
// The bitmaps follow Tan, Eng, Ooi: Efficient Progressive Skyline Computation, VLDB 2001, section 3.1, cut into blocks
// and coarsened to levels; the mask test is that of Bøgh, Chester, Assent, VLDB 2015, section 4.
//
// What it moves for one pair of a row and a block that the mask test leaves open: d loads of 64 bytes from a table of
// d * levels * 64 bytes, which stays in the second-level cache while a task's rows pass by.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/skyline/blocked_bitmap.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::skyline {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBlockRows = 512;
constexpr std::size_t kWords = kBlockRows / 64;
constexpr std::size_t kDimsBetweenTests = 15;  ///< intersections between two looks at whether anything is left
constexpr std::size_t kSample = 4096;
constexpr std::size_t kKillers = 8;
constexpr std::size_t kFirstBatch = 2048;
constexpr std::size_t kLargestBatch = 1 << 17;
constexpr std::size_t kLargestTask = 4096;
constexpr std::size_t kSmallestTask = 512;

using WordTag = hn::CappedTag<std::uint64_t, kWords>;
using RowIndices = std::vector<std::uint32_t>;

/// Quantile levels of all dimensions. The bitmaps of a row take levels / 8 bytes a dimension, as much as four-byte keys
/// at 32 levels.
template <class Key>
struct Grid {
  std::size_t d = 0;
  std::size_t levels = 0;            ///< a power of two
  std::vector<Key> thresholds;       ///< d x levels, ascending, padded with the largest key
  std::vector<std::uint64_t> masks;  ///< d x levels: the thermometer bits of a level
  std::vector<std::uint64_t> codes;  ///< levels: the bits of a level, d apart, for the z-order

  explicit Grid(std::size_t dims)
      : d(dims),
        levels(dims <= 32 ? 32 : 16),
        thresholds(d * levels, std::numeric_limits<Key>::max()),
        masks(d * levels),
        codes(levels) {
    const auto level_bits = static_cast<std::size_t>(std::countr_zero(levels));
    const std::size_t planes = std::min(level_bits, 64 / d);
    for (std::size_t l = 0; l < levels; ++l) {
      for (std::size_t p = 0; p < planes; ++p) {
        codes[l] |= std::uint64_t{(l >> (level_bits - planes + p)) & 1} << (p * d);
      }
    }
  }

  std::size_t words() const { return d * levels * kWords; }
};

/// One row of each of equal stretches of the input, at a hashed place, so that no order hides rows from the sample.
inline RowIndices sample_rows(std::size_t n) {
  const std::size_t count = std::min(n, kSample);
  RowIndices rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = n * i / count;
    const std::size_t end = n * (i + 1) / count;
    std::uint64_t hash = (i + 1) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ (hash >> 32)) * 0xD6E8FEB86659FD93u;
    rows[i] = static_cast<std::uint32_t>(begin + (hash >> 32) % (end - begin));
  }
  return rows;
}

/// Thresholds and masks of one dimension from the ascending values of a sample.
template <class Key>
void cut(std::span<const Key> values, std::size_t j, Grid<Key>& grid) {
  Key* thresholds = grid.thresholds.data() + j * grid.levels;
  std::size_t count = 0;
  for (std::size_t l = 1; l < grid.levels; ++l) {
    const Key value = values[values.size() * l / grid.levels];
    if (value > values.front() && (count == 0 || value > thresholds[count - 1])) thresholds[count++] = value;
  }
  const std::size_t mask_bits = 64 / grid.d;
  for (std::size_t l = 0; l < grid.levels; ++l) {
    const std::size_t set = std::min(l, count) * (mask_bits + 1) / (count + 1);
    const std::uint64_t bits = set == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << set) - 1;
    grid.masks[j * grid.levels + l] = bits << (j * mask_bits);
  }
}

template <class Key>
Grid<Key> make_grid(const SkylineProblem& problem, const RowIndices& sample) {
  Grid<Key> grid(problem.keys.size());
  parallel_for(grid.d, 1, [&](std::size_t begin, std::size_t end) {
    std::vector<Key> values(sample.size());
    for (std::size_t j = begin; j < end; ++j) {
      const Key* column = problem.keys[j].template as<Key>();
      for (std::size_t i = 0; i < sample.size(); ++i) values[i] = column[sample[i]];
      std::sort(values.begin(), values.end());
      cut<Key>(values, j, grid);
    }
  });
  return grid;
}

/// Keys of the rows of the sample that dominate the largest share of the grid, row after row.
template <class Key>
std::vector<Key> find_killers(const SkylineProblem& problem, const Grid<Key>& grid, const RowIndices& sample) {
  std::vector<std::pair<double, std::uint32_t>> spared(sample.size());  // minus the logarithm of the dominated share
  for (std::size_t i = 0; i < sample.size(); ++i) spared[i] = {0.0, sample[i]};
  for (std::size_t j = 0; j < grid.d; ++j) {
    const Key* column = problem.keys[j].template as<Key>();
    const Key* first = grid.thresholds.data() + j * grid.levels;
    const Key* last = first + grid.levels - 1;
    for (auto& [cost, row] : spared) {
      const auto above = static_cast<double>(last - std::upper_bound(first, last, column[row]));
      cost -= std::log2(above + 1);
    }
  }
  const std::size_t count = std::min(kKillers, sample.size());
  std::partial_sort(spared.begin(), spared.begin() + static_cast<std::ptrdiff_t>(count), spared.end());
  std::vector<Key> keys;
  for (std::size_t k = 0; k < count; ++k) {
    for (const KeyColumn& column : problem.keys) keys.push_back(column.template as<Key>()[spared[k].second]);
  }
  return keys;
}

/// Appends those of the rows [begin, end) that no killer dominates.
template <class Key, class Counters>
void keep_spared(const SkylineProblem& problem, std::span<const Key> killers, std::size_t begin, std::size_t end,
                 RowIndices& kept, Counters& counters) {
  const hn::ScalableTag<Key> tag;
  const std::size_t lanes = hn::Lanes(tag);
  const std::size_t d = problem.keys.size();
  std::size_t row = begin;
  for (; row + lanes <= end; row += lanes) {
    auto dead = hn::FirstN(tag, 0);
    for (const Key* killer = killers.data(); killer != killers.data() + killers.size(); killer += d) {
      counters.dominance_tests(lanes);
      auto no_better = hn::Not(dead);
      auto worse = hn::FirstN(tag, 0);
      for (std::size_t j = 0; j < d && !hn::AllFalse(tag, no_better); ++j) {
        const auto x = hn::LoadU(tag, problem.keys[j].template as<Key>() + row);
        const auto limit = hn::Set(tag, killer[j]);
        no_better = hn::AndNot(hn::Lt(x, limit), no_better);
        worse = hn::Or(worse, hn::Gt(x, limit));
      }
      dead = hn::Or(dead, hn::And(no_better, worse));
      if (hn::AllTrue(tag, dead)) break;
    }
    std::array<std::uint8_t, 8> bytes{};
    hn::StoreMaskBits(tag, hn::Not(dead), bytes.data());
    std::uint64_t spared = 0;
    std::memcpy(&spared, bytes.data(), bytes.size());
    if (lanes < 64) spared &= (std::uint64_t{1} << lanes) - 1;
    for (; spared != 0; spared &= spared - 1) {
      kept.push_back(static_cast<std::uint32_t>(row + static_cast<std::size_t>(std::countr_zero(spared))));
    }
  }
  for (; row < end; ++row) kept.push_back(static_cast<std::uint32_t>(row));
}

RowIndices concatenate(const std::vector<RowIndices>& parts) {
  std::size_t total = 0;
  for (const RowIndices& part : parts) total += part.size();
  RowIndices all;
  all.reserve(total);
  for (const RowIndices& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// Rows that a few strong rows of the sample do not dominate, ascending.
template <class Key, class Counters>
RowIndices prefilter(const SkylineProblem& problem, std::span<const Key> killers, Counters& counters,
                     const Context& context) {
  constexpr std::size_t kChunk = 1 << 14;
  std::vector<RowIndices> kept((problem.n + kChunk - 1) / kChunk);
  parallel_for(kept.size(), 1, counters, [&](std::size_t first, std::size_t last, Counters& own) {
    for (std::size_t chunk = first; chunk < last; ++chunk) {
      context.check();
      const std::size_t begin = chunk * kChunk;
      keep_spared(problem, killers, begin, std::min(problem.n, begin + kChunk), kept[chunk], own);
    }
  });
  return concatenate(kept);
}

/// The rows that are left, with all that later steps need of them.
template <class Key>
struct Candidates {
  std::size_t n = 0;
  std::size_t d = 0;
  std::size_t stride = 0;                   ///< keys of a row, padded with zeros to whole vectors
  std::unique_ptr<Key[]> keys;              ///< n x stride
  std::unique_ptr<std::uint8_t[]> levels;   ///< n x d
  std::unique_ptr<std::uint64_t[]> masks;   ///< thermometer masks: a bit set means at or above a threshold
  std::unique_ptr<std::uint64_t[]> codes;   ///< z-order
  std::unique_ptr<std::uint16_t[]> scores;  ///< level sums

  Candidates(std::size_t rows, std::size_t dims, std::size_t padded)
      : n(rows),
        d(dims),
        stride(padded),
        keys(std::make_unique_for_overwrite<Key[]>(n * stride)),
        levels(std::make_unique_for_overwrite<std::uint8_t[]>(n * d)),
        masks(std::make_unique<std::uint64_t[]>(n)),
        codes(std::make_unique<std::uint64_t[]>(n)),
        scores(std::make_unique<std::uint16_t[]>(n)) {}

  const Key* key(std::size_t row) const { return keys.get() + row * stride; }
};

/// d rounded up to whole vectors of the widest size that wastes less than a quarter row.
template <class Key>
std::size_t padded_dims(std::size_t d) {
  const std::size_t unit = hn::Lanes(hn::CappedTag<Key, 4>());
  return (d + unit - 1) / unit * unit;
}

/// Number of thresholds at or below each value, by a binary search that all lanes take together.
template <class Key, class Index>
void find_levels(const Key* values, std::size_t count, const Key* thresholds, std::size_t levels, Index* found) {
  const hn::ScalableTag<Key> tag;
  const hn::RebindToSigned<decltype(tag)> index_tag;
  for (std::size_t i = 0; i < count; i += hn::Lanes(tag)) {
    const auto value = hn::Load(tag, values + i);
    auto level = hn::Zero(index_tag);
    for (std::size_t step = levels / 2; step > 0; step /= 2) {
      const auto threshold = hn::GatherIndex(tag, thresholds + step - 1, level);
      const auto reached = hn::RebindMask(index_tag, hn::Not(hn::Lt(value, threshold)));
      level = hn::Add(level, hn::IfThenElseZero(reached, hn::Set(index_tag, static_cast<Index>(step))));
    }
    hn::Store(level, index_tag, found + i);
  }
}

/// Fills in candidates [begin, end), which are the rows `ids` of the problem.
template <class Key>
void fill(const SkylineProblem& problem, const Grid<Key>& grid, const RowIndices& ids, std::size_t begin,
          std::size_t end, Candidates<Key>& rows) {
  constexpr std::size_t kTile = 256;
  HWY_ALIGN std::array<Key, kTile> values{};
  HWY_ALIGN std::array<std::make_signed_t<Key>, kTile> found{};
  for (std::size_t first = begin; first < end; first += kTile) {
    const std::size_t count = std::min(kTile, end - first);
    for (std::size_t j = 0; j < rows.stride; ++j) {
      Key* keys = rows.keys.get() + first * rows.stride + j;
      if (j >= rows.d) {
        for (std::size_t i = 0; i < count; ++i) keys[i * rows.stride] = 0;
        continue;
      }
      const Key* column = problem.keys[j].template as<Key>();
      for (std::size_t i = 0; i < count; ++i) keys[i * rows.stride] = values[i] = column[ids[first + i]];
      find_levels(values.data(), count, grid.thresholds.data() + j * grid.levels, grid.levels, found.data());
      for (std::size_t i = 0; i < count; ++i) {
        const auto level = static_cast<std::size_t>(found[i]);
        const std::size_t row = first + i;
        rows.levels[row * rows.d + j] = static_cast<std::uint8_t>(level);
        rows.masks[row] |= grid.masks[j * grid.levels + level];
        rows.codes[row] |= grid.codes[level] << j;
        rows.scores[row] = static_cast<std::uint16_t>(rows.scores[row] + level);
      }
    }
  }
}

/// Rows by ascending score; `starts[s]` is the first of score s, and the last start is n.
struct ByScore {
  RowIndices order;
  std::vector<std::size_t> starts;
};

/// A counting sort: parts of the input are counted and spread at the same time.
template <class Key>
ByScore sort_by_score(const Candidates<Key>& rows, std::size_t num_scores) {
  const std::size_t parts = std::clamp<std::size_t>(rows.n / 16384, 1, concurrency());
  std::vector<RowIndices> next(parts, RowIndices(num_scores));
  const auto each_row = [&](const auto& body) {
    parallel_for(parts, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t part = begin; part < end; ++part) {
        const std::size_t last = rows.n * (part + 1) / parts;
        for (std::size_t i = rows.n * part / parts; i < last; ++i) body(next[part][rows.scores[i]], i);
      }
    });
  };
  each_row([](std::uint32_t& count, std::size_t) { ++count; });
  ByScore result{RowIndices(rows.n), std::vector<std::size_t>(num_scores + 1, rows.n)};
  std::uint32_t at = 0;
  for (std::size_t s = 0; s < num_scores; ++s) {
    result.starts[s] = at;
    for (RowIndices& part : next) at += std::exchange(part[s], at);
  }
  each_row([&](std::uint32_t& place, std::size_t i) { result.order[place++] = static_cast<std::uint32_t>(i); });
  return result;
}

/// Candidates in blocks of 512 with their bitmaps.
struct Blocks {
  RowIndices rows;                       ///< of all blocks; only the last may be partly filled
  std::vector<std::uint64_t> summaries;  ///< a block: the intersection of its rows' masks
  std::vector<std::uint64_t> sets;       ///< a block: d x levels x kWords, bit i = row i is at or below the level

  std::size_t count() const { return (rows.size() + kBlockRows - 1) / kBlockRows; }
};

template <class Key>
void build_block(const Candidates<Key>& rows, const Grid<Key>& grid, std::size_t block, Blocks& blocks) {
  const WordTag tag;
  std::uint64_t* sets = blocks.sets.data() + block * grid.words();
  std::fill_n(sets, grid.words(), 0);
  std::uint64_t summary = ~std::uint64_t{0};
  const std::size_t begin = block * kBlockRows;
  const std::size_t end = std::min(blocks.rows.size(), begin + kBlockRows);
  for (std::size_t i = 0; i < end - begin; ++i) {
    const std::size_t row = blocks.rows[begin + i];
    summary &= rows.masks[row];
    const std::uint8_t* level = rows.levels.get() + row * rows.d;
    for (std::size_t j = 0; j < rows.d; ++j) {
      sets[(j * grid.levels + level[j]) * kWords + i / 64] |= std::uint64_t{1} << (i % 64);
    }
  }
  blocks.summaries[block] = summary;
  for (std::size_t j = 0; j < rows.d; ++j) {
    std::uint64_t* set = sets + j * grid.levels * kWords;
    for (std::size_t w = kWords; w < grid.levels * kWords; w += hn::Lanes(tag)) {
      hn::StoreU(hn::Or(hn::LoadU(tag, set + w - kWords), hn::LoadU(tag, set + w)), tag, set + w);
    }
  }
}

/// Appends rows; the last block is filled up first.
template <class Key>
void append(const Candidates<Key>& rows, const Grid<Key>& grid, const RowIndices& fresh, Blocks& blocks) {
  const std::size_t first = blocks.rows.size() / kBlockRows;
  blocks.rows.insert(blocks.rows.end(), fresh.begin(), fresh.end());
  blocks.summaries.resize(blocks.count());
  blocks.sets.resize(blocks.count() * grid.words());
  parallel_for(blocks.count() - first, 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = first + begin; b < first + end; ++b) build_block(rows, grid, b, blocks);
  });
}

/// Rows in z-order: neighbours have similar masks, which keeps the summaries of blocks tight.
template <class Key>
void sort_by_code(const Candidates<Key>& rows, RowIndices& indices, const Context& context) {
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    return rows.codes[a] != rows.codes[b] ? rows.codes[a] < rows.codes[b] : a < b;
  };
  parallel_sort(indices.begin(), indices.end(), before, context);
}

template <class Tag, class Key>
HWY_INLINE bool dominates_by(Tag tag, const Key* a, const Key* b, std::size_t stride) {
  auto better = hn::FirstN(tag, 0);
  for (std::size_t j = 0; j < stride; j += hn::Lanes(tag)) {
    const auto x = hn::LoadU(tag, a + j);
    const auto y = hn::LoadU(tag, b + j);
    if (!hn::AllFalse(tag, hn::Gt(x, y))) return false;
    better = hn::Or(better, hn::Lt(x, y));
  }
  return !hn::AllFalse(tag, better);
}

/// A dominance test on padded rows.
template <class Key>
HWY_INLINE bool dominates_padded(const Key* a, const Key* b, std::size_t stride) {
  const hn::ScalableTag<Key> wide;
  if (stride % hn::Lanes(wide) == 0) return dominates_by(wide, a, b, stride);
  return dominates_by(hn::CappedTag<Key, 4>(), a, b, stride);
}

/// The rows of one task, packed so that a pass over them streams.
struct Pack {
  std::size_t size = 0;
  RowIndices rows;
  std::vector<std::uint64_t> outside;  ///< complements of the masks, padded to whole vectors
  std::vector<std::uint8_t> levels;    ///< size x d
  std::vector<std::uint8_t> dominated;

  template <class Key>
  Pack(const Candidates<Key>& from, std::span<const std::uint32_t> queries)
      : size(queries.size()),
        rows(queries.begin(), queries.end()),
        outside(size + kWords),
        levels(size * from.d),
        dominated(size) {
    for (std::size_t i = 0; i < size; ++i) {
      outside[i] = ~from.masks[rows[i]];
      std::memcpy(levels.data() + i * from.d, from.levels.get() + rows[i] * from.d, from.d);
    }
  }

  void drop_dominated(std::size_t d) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size; ++i) {
      if (dominated[i] != 0) continue;
      rows[kept] = rows[i];
      outside[kept] = outside[i];
      std::memmove(levels.data() + kept * d, levels.data() + i * d, d);
      ++kept;
    }
    size = kept;
    std::fill_n(dominated.begin(), kept, std::uint8_t{0});
  }
};

/// Writes the indices of the pack's rows that a block's summary leaves open; returns how many.
HWY_INLINE std::size_t list_open(const Pack& pack, std::uint64_t summary, std::uint64_t* open) {
  const WordTag tag;
  const auto bits = hn::Set(tag, summary);
  const auto step = hn::Set(tag, static_cast<std::uint64_t>(hn::Lanes(tag)));
  auto index = hn::Iota(tag, 0);
  std::size_t count = 0;
  for (std::size_t i = 0; i < pack.size; i += hn::Lanes(tag)) {
    const auto outside = hn::LoadU(tag, pack.outside.data() + i);
    count += hn::CompressStore(index, hn::Eq(hn::And(bits, outside), hn::Zero(tag)), tag, open + count);
    index = hn::Add(index, step);
  }
  while (count > 0 && open[count - 1] >= pack.size) --count;  // of the padding
  return count;
}

/// Whether a row of the block dominates the row `query` with levels `level`.
template <class Key, class Counters>
HWY_INLINE bool dominated_in_block(const Candidates<Key>& rows, const Grid<Key>& grid, const Blocks& blocks,
                                   std::size_t block, const std::uint8_t* level, std::size_t query,
                                   Counters& counters) {
  const WordTag tag;
  constexpr std::size_t kVectors = kWords / HWY_MIN(kWords, HWY_LANES(std::uint64_t));
  const std::uint64_t* sets = blocks.sets.data() + block * grid.words();
  decltype(hn::Zero(tag)) found[kVectors];
  const auto fetch = [&](std::size_t j, std::size_t v) HWY_ATTR {
    return hn::LoadU(tag, sets + (j * grid.levels + level[j]) * kWords + v * hn::Lanes(tag));
  };
  for (std::size_t v = 0; v < kVectors; ++v) found[v] = fetch(0, v);
  for (std::size_t j = 1; j < rows.d;) {
    for (const std::size_t stop = std::min(rows.d, j + kDimsBetweenTests); j < stop; ++j) {
      for (std::size_t v = 0; v < kVectors; ++v) found[v] = hn::And(found[v], fetch(j, v));
    }
    auto any = found[0];
    for (std::size_t v = 1; v < kVectors; ++v) any = hn::Or(any, found[v]);
    if (hn::AllTrue(tag, hn::Eq(any, hn::Zero(tag)))) return false;
  }
  HWY_ALIGN std::array<std::uint64_t, kWords> hits;
  for (std::size_t v = 0; v < kVectors; ++v) hn::Store(found[v], tag, hits.data() + v * hn::Lanes(tag));
  const std::uint32_t* members = blocks.rows.data() + block * kBlockRows;
  for (std::size_t w = 0; w < kWords; ++w) {
    for (std::uint64_t word = hits[w]; word != 0; word &= word - 1) {
      const std::size_t member = members[w * 64 + static_cast<std::size_t>(std::countr_zero(word))];
      counters.dominance_tests(1);
      if (dominates_padded(rows.key(member), rows.key(query), rows.stride)) return true;
    }
  }
  return false;
}

/// Tests all rows of a pack against all blocks; leaves those that nothing dominates.
template <class Key, class Counters>
void reduce(const Candidates<Key>& rows, const Grid<Key>& grid, const Blocks& blocks, Pack& pack, Counters& counters,
            const Context& context) {
  std::vector<std::uint64_t> open(pack.size + 2 * kWords);
  std::size_t dominated = 0;
  for (std::size_t block = 0; block < blocks.count() && pack.size > 0; ++block) {
    context.check();
    const std::size_t count = list_open(pack, blocks.summaries[block], open.data());
    counters.mask_tests(pack.size + count);
    counters.bytes_read(pack.size * sizeof(std::uint64_t) + count * rows.d * kBlockRows / 8);
    for (std::size_t o = 0; o < count; ++o) {
      const std::size_t i = open[o];
      if (pack.dominated[i] != 0) continue;
      if (dominated_in_block(rows, grid, blocks, block, pack.levels.data() + i * rows.d, pack.rows[i], counters)) {
        pack.dominated[i] = 1;
        ++dominated;
      }
    }
    if (dominated * 16 > pack.size) {
      pack.drop_dominated(rows.d);
      dominated = 0;
    }
  }
  pack.drop_dominated(rows.d);
}

/// Those of `queries` that no row of the blocks dominates, in their order.
template <class Key, class Counters>
RowIndices undominated(const Candidates<Key>& rows, const Grid<Key>& grid, const Blocks& blocks,
                       std::span<const std::uint32_t> queries, Counters& counters, const Context& context) {
  if (blocks.rows.empty()) return {queries.begin(), queries.end()};
  const std::size_t task = std::clamp(queries.size() / (4 * concurrency()), kSmallestTask, kLargestTask);
  std::vector<RowIndices> kept((queries.size() + task - 1) / task);
  parallel_for(kept.size(), 1, counters, [&](std::size_t begin, std::size_t end, Counters& own) {
    for (std::size_t t = begin; t < end; ++t) {
      Pack pack(rows, queries.subspan(t * task, std::min(task, queries.size() - t * task)));
      reduce(rows, grid, blocks, pack, own, context);
      pack.rows.resize(pack.size);
      kept[t] = std::move(pack.rows);
    }
  });
  return concatenate(kept);
}

/// Adds skyline rows to the candidates. Whenever these have grown by half, all are put in z-order anew.
template <class Key>
void settle(const Candidates<Key>& rows, const Grid<Key>& grid, const RowIndices& fresh, Blocks& skyline,
            std::size_t& settled, const Context& context) {
  if (2 * (skyline.rows.size() + fresh.size()) <= 3 * settled) {
    append(rows, grid, fresh, skyline);
    return;
  }
  RowIndices all = std::move(skyline.rows);
  skyline.rows.clear();
  all.insert(all.end(), fresh.begin(), fresh.end());
  sort_by_code(rows, all, context);
  append(rows, grid, all, skyline);
  settled = all.size();
}

/// The skyline of the candidates, in no order.
template <class Key, class Counters>
RowIndices reduce_in_batches(const Candidates<Key>& rows, const Grid<Key>& grid, Counters& counters,
                             const Context& context) {
  const std::size_t num_scores = rows.d * (grid.levels - 1) + 1;
  const ByScore by_score = sort_by_score(rows, num_scores);
  Blocks skyline;
  std::size_t settled = 0;
  std::size_t wished = kFirstBatch;
  for (std::size_t score = 0; score < num_scores;) {
    // Rows of one score stay together: what dominates a row is in its batch or an earlier one.
    const std::size_t begin = by_score.starts[score];
    while (score < num_scores && by_score.starts[score] < begin + wished) ++score;
    const std::span<const std::uint32_t> batch(by_score.order.data() + begin, by_score.starts[score] - begin);
    if (batch.empty()) continue;
    wished = std::min(2 * wished, kLargestBatch);
    RowIndices alive = undominated<Key>(rows, grid, skyline, batch, counters, context);
    sort_by_code(rows, alive, context);
    Blocks own;
    append(rows, grid, alive, own);
    alive = undominated<Key>(rows, grid, own, alive, counters, context);
    settle(rows, grid, alive, skyline, settled, context);
  }
  return std::move(skyline.rows);
}

template <class Key, class Counters>
SkylineSolution solve(const SkylineProblem& problem, Counters counters, const Context& context) {
  const RowIndices sample = sample_rows(problem.n);
  const Grid<Key> grid = make_grid<Key>(problem, sample);
  const std::vector<Key> killers = find_killers(problem, grid, sample);
  const RowIndices ids = prefilter<Key>(problem, killers, counters, context);
  counters.candidates(ids.size());
  counters.bytes_read((problem.n + ids.size()) * grid.d * sizeof(Key));
  Candidates<Key> rows(ids.size(), grid.d, padded_dims<Key>(grid.d));
  parallel_for(rows.n, 4096, [&](std::size_t begin, std::size_t end) {
    context.check();
    fill(problem, grid, ids, begin, end, rows);
  });
  counters.bytes_written(rows.n * (rows.stride * sizeof(Key) + rows.d));
  const RowIndices skyline = reduce_in_batches(rows, grid, counters, context);
  std::vector<std::uint8_t> in_skyline(rows.n);
  for (const std::uint32_t row : skyline) in_skyline[row] = 1;
  SkylineSolution solution;
  solution.rows.reserve(skyline.size());
  for (std::size_t i = 0; i < rows.n; ++i) {
    if (in_skyline[i] != 0) solution.rows.push_back(static_cast<RowId>(ids[i]));
  }
  solution.work = counters.total();
  return solution;
}

SkylineSolution solve_on_target(const SkylineProblem& problem, const Context& context) {
  return with_counters(context, [&](auto counters) {
    return problem.keys.front().width == KeyWidth::bytes8 ? solve<std::uint64_t>(problem, counters, context)
                                                          : solve<std::uint32_t>(problem, counters, context);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::skyline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels::skyline {
namespace {

HWY_EXPORT(solve_on_target);

Support supports(const SkylineShape& shape) {
  if (shape.general_order) return Support::no("compares by one flat Pareto order only");
  if (shape.n >> 32 != 0) return Support::no("takes fewer than 2^32 rows");
  return Support::yes();
}

SkylineSolution run(const SkylineProblem& problem, const ParameterValues&, const Context& context) {
  if (problem.n == 0) return {};
  return HWY_DYNAMIC_DISPATCH(solve_on_target)(problem, context);
}

}  // namespace

extern const SkylineAlgorithm blocked_bitmap{
    .name = "blocked-bitmap",
    .summary = "level bitmaps over blocks of 512 candidates; the fastest on the CPU",
    .source =
        "own design; bitmaps after Tan, Eng, Ooi: Efficient Progressive Skyline Computation, VLDB 2001, section 3.1",
    .device = Device::cpu,
    .parameters = {},
    .supports = supports,
    .run = run,
};

}  // namespace skyrank::kernels::skyline
#endif
