// Blocks of candidates with their bitmaps, and the tests of rows against a block, for blocked_bitmap.cpp; compiled for
// each target of the file that includes it.

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <hwy/cache_control.h>

#include "kernels/common/counters.hpp"
#include "kernels/cpu/parallel.hpp"

#if defined(SKYRANK_KERNELS_CPU_SKYLINE_BITMAP_BLOCKS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKYRANK_KERNELS_CPU_SKYLINE_BITMAP_BLOCKS_INL_HPP_
#undef SKYRANK_KERNELS_CPU_SKYLINE_BITMAP_BLOCKS_INL_HPP_
#else
#define SKYRANK_KERNELS_CPU_SKYLINE_BITMAP_BLOCKS_INL_HPP_
#endif

#include <hwy/highway.h>

#include "kernels/cpu/skyline/bitmap_candidates-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::skyline {
namespace HWY_NAMESPACE {
namespace {

using WordTag = hn::CappedTag<std::uint64_t, kWords>;

/// Up to 512 rows with their bitmaps.
struct Block {
  std::array<std::uint64_t, kMaxDims / 8> corner;  ///< the least level in each dimension, eight a word
  Array<std::uint64_t> sets;                       ///< d x levels x kWords, bit i = row i is at or below the level
};

struct Blocks {
  RawVector<std::uint32_t> rows;  ///< rows of all blocks; only the last may be partly filled
  Vector<Block> blocks;           ///< blocks for the rows, and maybe spare ones, whose memory waits for rows to come

  std::size_t count() const { return (rows.size() + kBlockRows - 1) / kBlockRows; }
};

using Columns = std::array<std::int8_t, kMaxDims * kBlockRows>;

/// Levels of a block's rows by dimension; absent rows are at or below no level.
template <class Key>
void level_columns(const Candidates<Key>& rows, std::span<const std::uint32_t> members, Columns& columns) {
  constexpr std::size_t kAtOnce = 64;
  const WordTag tag;
  const hn::Rebind<std::uint8_t, WordTag> byte_tag;
  constexpr std::uint64_t kAbsent = 0x7F7F7F7F7F7F7F7Fu;
  HWY_ALIGN std::array<std::uint64_t, kAtOnce> words;
  auto* bytes = reinterpret_cast<std::uint8_t*>(columns.data());
  for (std::size_t first = 0; first < kBlockRows; first += kAtOnce) {
    const std::size_t count = std::min(members.size() - std::min(members.size(), first), kAtOnce);
    for (std::size_t i = first + count; i < std::min(members.size(), first + count + kAtOnce); ++i) {
      hwy::Prefetch(rows.level_words(members[i]));
    }
    std::fill(words.begin() + static_cast<std::ptrdiff_t>(count), words.end(), kAbsent);
    for (std::size_t p = 0; p < rows.planes; ++p) {
      for (std::size_t i = 0; i < count; ++i) words[i] = rows.level_words(members[first + i])[p];
      for (std::size_t j = 8 * p; j < std::min(rows.d, 8 * p + 8); ++j) {
        for (std::size_t i = 0; i < kAtOnce; i += hn::Lanes(tag)) {
          const auto level = hn::ShiftRightSame(hn::Load(tag, words.data() + i), static_cast<int>(8 * (j - 8 * p)));
          hn::StoreU(hn::TruncateTo(byte_tag, level), byte_tag, bytes + j * kBlockRows + first + i);
        }
      }
    }
  }
}

template <class Key>
void build_block(const Candidates<Key>& rows, std::span<const std::uint32_t> members, Block& block) {
  const hn::CappedTag<std::int8_t, 64> tag;
  const Grid<Key>& grid = rows.grid;
  if (!block.sets) block.sets = Array<std::uint64_t>(grid.words());
  HWY_ALIGN Columns columns;
  level_columns(rows, members, columns);
  block.corner = {};
  auto* corner = reinterpret_cast<std::uint8_t*>(block.corner.data());
  std::uint64_t* sets = block.sets.get();
  for (std::size_t j = 0; j < rows.d; ++j) {
    const auto column = columns.begin() + static_cast<std::ptrdiff_t>(j * kBlockRows);
    corner[j] = static_cast<std::uint8_t>(*std::min_element(column, column + kBlockRows));
    for (std::size_t l = 0; l < grid.levels; ++l) {
      const auto limit = hn::Set(tag, static_cast<std::int8_t>(l + 1));
      for (std::size_t first = 0; first < kBlockRows; first += 64) {
        std::uint64_t word = 0;
        for (std::size_t i = 0; i < 64; i += hn::Lanes(tag)) {
          const auto level = hn::Load(tag, columns.data() + j * kBlockRows + first + i);
          word |= bits_of(tag, hn::Lt(level, limit)) << i;
        }
        *sets++ = word;
      }
    }
  }
}

/// Appends the rows of words; the last block is filled up first.
template <class Key>
void append(const Candidates<Key>& rows, const Coder<Key>& coder, std::span<const std::uint64_t> words, Blocks& to) {
  const std::size_t before = to.rows.size();
  const std::size_t first = before / kBlockRows;
  to.rows.resize(before + words.size());
  if (to.blocks.size() < to.count()) to.blocks.resize(to.count());
  parallel_for(to.count() - first, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = first + begin; b < first + end; ++b) {
      const std::size_t row = b * kBlockRows;
      const std::size_t last = std::min(row + kBlockRows, to.rows.size());
      for (std::size_t i = std::max(row, before); i < last; ++i) to.rows[i] = coder.row(words[i - before]);
      build_block(rows, std::span(to.rows).subspan(row, last - row), to.blocks[b]);
    }
  });
}

/// A dominance test on padded rows.
template <class Key>
HWY_INLINE bool dominates_padded(const Key* a, const Key* b, std::size_t stride) {
  return with_row_vectors<Key>(stride, [&](auto tag) HWY_ATTR {
    auto better = hn::FirstN(tag, 0);
    for (std::size_t j = 0; j < stride; j += hn::Lanes(tag)) {
      const auto x = hn::Load(tag, a + j);
      const auto y = hn::Load(tag, b + j);
      if (!hn::AllFalse(tag, hn::Gt(x, y))) return false;
      better = hn::Or(better, hn::Lt(x, y));
    }
    return !hn::AllFalse(tag, better);
  });
}

/// The members of a block that are at or below a row's levels in all dimensions; whether there are any. levels(p)
/// points to the row's levels from dimension 8 p on.
template <class Key, class Levels>
HWY_INLINE bool intersect(const Grid<Key>& grid, const Block& block, const Levels& levels, std::uint64_t* result) {
  const WordTag tag;
  constexpr std::size_t kVectors = kWords / HWY_MIN(kWords, HWY_LANES(std::uint64_t));
  constexpr std::size_t kPlanesBetweenTests = 2;
  hn::Vec<WordTag> found[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) found[v] = hn::Set(tag, ~std::uint64_t{0});
  auto any = hn::Zero(tag);
  const std::uint64_t* sets = block.sets.get();
  const std::size_t step = grid.levels * kWords;
  for (std::size_t j = 0, p = 0; j < grid.d; ++p) {
    const std::uint8_t* level = levels(p);
    for (const std::size_t stop = std::min(grid.d, j + 8); j < stop; ++j, ++level, sets += step) {
      const std::uint64_t* set = sets + *level * kWords;
      for (std::size_t v = 0; v < kVectors; ++v) found[v] = hn::And(found[v], hn::Load(tag, set + v * hn::Lanes(tag)));
    }
    if (j < grid.d && (p + 1) % kPlanesBetweenTests != 0) continue;
    any = found[0];
    for (std::size_t v = 1; v < kVectors; ++v) any = hn::Or(any, found[v]);
    if (j < grid.d && hn::AllTrue(tag, hn::Eq(any, hn::Zero(tag)))) return false;
  }
  for (std::size_t v = 0; v < kVectors; ++v) hn::Store(found[v], tag, result + v * hn::Lanes(tag));
  return !hn::AllTrue(tag, hn::Eq(any, hn::Zero(tag)));
}

/// How often each candidate was the first to dominate a row; null where nobody asks.
using Kills = std::uint32_t*;

/// The first of the members in `set` that dominates a row, or null.
template <class Key, class Counters>
HWY_INLINE const std::uint32_t* find_dominator(const Candidates<Key>& rows, const std::uint32_t* members,
                                               const std::uint64_t* set, const Key* row, Counters& counters) {
  for (std::size_t w = 0; w < kWords; ++w) {
    for (std::uint64_t word = set[w]; word != 0; word &= word - 1) {
      const std::uint32_t* member = members + w * 64 + static_cast<std::size_t>(std::countr_zero(word));
      counters.dominance_tests(1);
      if (dominates_padded(rows.keys[*member], row, rows.keys.stride())) return member;
    }
  }
  return nullptr;
}

inline std::size_t first_of(const std::uint64_t* set) {
  std::size_t w = 0;
  while (set[w] == 0) ++w;
  return w * 64 + static_cast<std::size_t>(std::countr_zero(set[w]));
}

/// Marks those of the rows `open`, of which levels(i)(p) and key(i) tell more, that a member of the block dominates;
/// returns how many. Intersections run ahead of dominance tests, so that the keys for these can be fetched in time.
template <class Key, class Levels, class RowKey, class Counters>
std::size_t mark_dominated(const Candidates<Key>& rows, const Block& block, const std::uint32_t* members,
                           std::span<const std::uint32_t> open, const Levels& levels, const RowKey& key,
                           std::uint8_t* dominated, Kills kills, Counters& counters) {
  constexpr std::size_t kAtOnce = 128;
  constexpr std::size_t kAhead = 6;
  HWY_ALIGN std::array<std::uint64_t, kAtOnce * kWords> sets;
  std::array<std::uint32_t, kAtOnce> hits;
  std::size_t marked = 0;
  const auto fetch = [&](std::size_t h) HWY_ATTR {
    hwy::Prefetch(rows.keys[members[first_of(sets.data() + h * kWords)]]);
    hwy::Prefetch(key(hits[h]));
  };
  for (std::size_t first = 0; first < open.size(); first += kAtOnce) {
    std::size_t count = 0;
    for (const std::uint32_t i : open.subspan(first, std::min(kAtOnce, open.size() - first))) {
      if (dominated[i] != 0) continue;
      hits[count] = i;
      count += intersect(rows.grid, block, levels(i), sets.data() + count * kWords) ? 1 : 0;
    }
    for (std::size_t h = 0; h < std::min(kAhead, count); ++h) fetch(h);
    for (std::size_t h = 0; h < count; ++h) {
      if (h + kAhead < count) fetch(h + kAhead);
      const auto* killer = find_dominator(rows, members, sets.data() + h * kWords, key(hits[h]), counters);
      if (killer == nullptr) continue;
      dominated[hits[h]] = 1;
      ++marked;
      if (kills != nullptr) std::atomic_ref(kills[*killer]).fetch_add(1, std::memory_order_relaxed);
    }
  }
  return marked;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::skyline
HWY_AFTER_NAMESPACE();

#endif
