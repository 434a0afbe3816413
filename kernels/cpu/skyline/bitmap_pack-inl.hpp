// The rows of one task, and the mask tests that pass over blocks for many of them at once, for blocked_bitmap.cpp;
// compiled for each target of the file that includes it.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <hwy/cache_control.h>

#include "kernels/common/counters.hpp"

#if defined(SKYRANK_KERNELS_CPU_SKYLINE_BITMAP_PACK_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKYRANK_KERNELS_CPU_SKYLINE_BITMAP_PACK_INL_HPP_
#undef SKYRANK_KERNELS_CPU_SKYLINE_BITMAP_PACK_INL_HPP_
#else
#define SKYRANK_KERNELS_CPU_SKYLINE_BITMAP_PACK_INL_HPP_
#endif

#include <hwy/highway.h>

#include "kernels/cpu/skyline/bitmap_blocks-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::skyline {
namespace HWY_NAMESPACE {
namespace {

// Levels are below 128, so the highest bit of a byte is free for comparisons of eight levels at once.
inline constexpr std::uint64_t kHighestBits = 0x8080808080808080u;

/// The greater level of each of eight dimensions.
inline std::uint64_t greater_levels(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t at_least = (((a | kHighestBits) - b) & kHighestBits) >> 7;
  const std::uint64_t from_a = at_least * 255;
  return (a & from_a) | (b & ~from_a);
}

/// Returns a function of p that points to the levels of row i from dimension 8 p on. `stride` words lie between planes.
inline auto bytes_of_row(const Array<std::uint64_t>& planes, std::size_t stride, std::size_t i) {
  const std::uint64_t* first = planes.get() + i;
  return [=](std::size_t p) { return reinterpret_cast<const std::uint8_t*>(first + p * stride); };
}

/// The rows of one task in z-order, packed so that a pass over them streams. Neighbours are much alike, so the greatest
/// levels of each eight and each 64 of them say of most blocks that they hold no dominator of any.
struct Pack {
  static constexpr std::size_t kEight = 8;
  static constexpr std::size_t kGroup = 64;
  static constexpr std::size_t kMaxRows = kGroup * 64;  ///< one word says which groups are open

  std::size_t size = 0;
  std::size_t planes = 0;
  std::size_t room = 0;  ///< words of a plane: the rows and a padding
  Words words;           ///< words of the rows
  RawVector<std::uint32_t> row_of;
  Array<std::uint64_t> levels;  ///< planes x room; zero from the last row to the end of its group
  Array<std::uint64_t> eights;  ///< planes x room / 8: the greatest levels of eight rows
  Array<std::uint64_t> groups;  ///< planes x 64: the greatest of 64 rows, zero where there are none
  Vector<std::uint8_t> dominated;

  template <class Key>
  Pack(const Candidates<Key>& from, const Coder<Key>& coder, std::span<const std::uint64_t> queries)
      : size(queries.size()),
        planes(from.planes),
        room(hwy::RoundUpTo(size, kGroup)),
        words(queries.begin(), queries.end()),
        row_of(size),
        levels(planes * room),
        eights(planes * room / kEight),
        groups(planes * kMaxRows / kGroup),
        dominated(size) {
    std::ranges::transform(words, row_of.begin(), [&](std::uint64_t word) { return coder.row(word); });
    for (std::size_t p = 0; p < planes; ++p) {
      std::uint64_t* plane = levels.get() + p * room;
      for (std::size_t i = 0; i < size; ++i) plane[i] = from.level_words(row_of[i])[p];
    }
    find_greatest();
  }

  std::uint32_t row(std::size_t i) const { return row_of[i]; }
  std::size_t num_groups() const { return (size + kGroup - 1) / kGroup; }

  auto levels_of(std::size_t i) const { return bytes_of_row(levels, room, i); }
  auto levels_of_eight(std::size_t e) const { return bytes_of_row(eights, room / kEight, e); }

  void drop_dominated() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size; ++i) {
      if (dominated[i] != 0) continue;
      words[kept] = words[i];
      row_of[kept] = row_of[i];
      for (std::size_t p = 0; p < planes; ++p) levels[p * room + kept] = levels[p * room + i];
      ++kept;
    }
    size = kept;
    std::fill_n(dominated.begin(), kept, std::uint8_t{0});
    find_greatest();
  }

 private:
  static std::uint64_t greatest_of_eight(const std::uint64_t* of) {
    const std::uint64_t lower = greater_levels(greater_levels(of[0], of[1]), greater_levels(of[2], of[3]));
    const std::uint64_t upper = greater_levels(greater_levels(of[4], of[5]), greater_levels(of[6], of[7]));
    return greater_levels(lower, upper);
  }

  void find_greatest() {
    static_assert(kGroup == kEight * kEight);
    for (std::size_t p = 0; p < planes; ++p) {
      std::uint64_t* rows = levels.get() + p * room;
      std::uint64_t* of_eights = eights.get() + p * room / kEight;
      std::uint64_t* of_groups = groups.get() + p * kMaxRows / kGroup;
      std::fill(rows + size, rows + num_groups() * kGroup, 0);
      for (std::size_t e = 0; e < num_groups() * kEight; ++e) of_eights[e] = greatest_of_eight(rows + e * kEight);
      for (std::size_t g = 0; g < num_groups(); ++g) of_groups[g] = greatest_of_eight(of_eights + g * kEight);
      std::fill(of_groups + num_groups(), of_groups + kMaxRows / kGroup, 0);
    }
  }
};

/// Returns which of 64 rows, or greatest levels of rows, are at or above a block's corner. `levels` are planes,
/// `stride` words apart.
HWY_INLINE std::uint64_t at_or_above(const Block& block, const std::uint64_t* levels, std::size_t planes,
                                     std::size_t stride) {
  const WordTag tag;
  const auto highest = hn::Set(tag, kHighestBits);
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < 64; i += hn::Lanes(tag)) {
    auto kept = highest;
    for (std::size_t p = 0; p < planes; ++p) {
      const auto row = hn::Load(tag, levels + p * stride + i);
      kept = hn::And(kept, hn::Sub(hn::Or(row, highest), hn::Set(tag, block.corner[p])));
    }
    word |= bits_of(tag, hn::Eq(kept, highest)) << i;
  }
  return word;
}

/// Writes the indices of the pack's rows that are at or above a block's corner; returns how many. Meanwhile the block's
/// sets, of so many words, are fetched: it was last seen by another task, if at all.
template <class Counters>
HWY_INLINE std::size_t list_open(const Pack& pack, const Block& block, std::size_t words, std::uint32_t* open,
                                 Counters& counters) {
  std::uint64_t groups = at_or_above(block, pack.groups.get(), pack.planes, Pack::kMaxRows / Pack::kGroup);
  if (pack.num_groups() < 64) groups &= (std::uint64_t{1} << pack.num_groups()) - 1;
  const auto num_open = static_cast<std::size_t>(std::popcount(groups));
  counters.mask_tests(pack.num_groups() + num_open * Pack::kGroup);
  if (num_open == 0) return 0;
  const std::size_t fetched_a_step = hwy::RoundUpTo((words + num_open - 1) / num_open, kWords);
  std::size_t fetched = 0;
  std::size_t count = 0;
  for (; groups != 0; groups &= groups - 1) {
    for (const std::size_t stop = std::min(words, fetched + fetched_a_step); fetched < stop; fetched += kWords) {
      hwy::Prefetch(block.sets.get() + fetched);
    }
    const std::size_t first = static_cast<std::size_t>(std::countr_zero(groups)) * Pack::kGroup;
    std::uint64_t word = at_or_above(block, pack.levels.get() + first, pack.planes, pack.room);
    for (; word != 0; word &= word - 1) {
      open[count++] = static_cast<std::uint32_t>(first + static_cast<std::size_t>(std::countr_zero(word)));
    }
  }
  while (count > 0 && open[count - 1] >= pack.size) --count;  // of the padding
  return count;
}

/// Takes those rows out of `open`, ascending, whose eight has no candidate of the block at or below its greatest
/// levels; returns how many are left. Where fewer than three of an eight are open, it costs more than it saves.
template <class Key, class Counters>
std::size_t pass_over_eights(const Grid<Key>& grid, const Pack& pack, const Block& block, std::span<std::uint32_t> open,
                             Counters& counters) {
  constexpr std::size_t kFew = 2;
  HWY_ALIGN std::array<std::uint64_t, kWords> set;
  std::size_t kept = 0;
  for (std::size_t begin = 0, end = 0; begin < open.size(); begin = end) {
    const std::size_t eight = open[begin] / Pack::kEight;
    while (end < open.size() && open[end] / Pack::kEight == eight) ++end;
    if (end - begin > kFew) {
      counters.mask_tests(1);
      if (!intersect(grid, block, pack.levels_of_eight(eight), set.data())) continue;
    }
    for (std::size_t i = begin; i < end; ++i) open[kept++] = open[i];
  }
  return kept;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::skyline
HWY_AFTER_NAMESPACE();

#endif
