// Vector code that several skyline algorithms share, compiled for each target of the file that includes it.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "kernels/common/dominance.hpp"
#include "kernels/cpu/skyline/mask_order.hpp"
#include "kernels/cpu/skyline/padded_rows.hpp"
#include "kernels/cpu/skyline/sample.hpp"

#if defined(SKYRANK_KERNELS_CPU_SKYLINE_VECTORS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKYRANK_KERNELS_CPU_SKYLINE_VECTORS_INL_HPP_
#undef SKYRANK_KERNELS_CPU_SKYLINE_VECTORS_INL_HPP_
#else
#define SKYRANK_KERNELS_CPU_SKYLINE_VECTORS_INL_HPP_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::skyline {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Bit i: lane i of the mask.
template <class Tag, class Mask>
HWY_INLINE std::uint64_t bits_of(Tag tag, Mask mask) {
  alignas(8) std::uint8_t bytes[8];
  hn::StoreMaskBits(tag, mask, bytes);
  if constexpr (hn::MaxLanes(Tag()) <= 8) {
    return bytes[0] & ((1u << hn::Lanes(tag)) - 1);
  } else {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes, (hn::Lanes(tag) + 7) / 8);
    return bits;
  }
}

/// op(tag) with the tag of the widest vectors that padded rows of `stride` keys consist of.
template <class Key, class Op>
HWY_INLINE auto with_row_vectors(std::size_t stride, const Op& op) {
  const hn::ScalableTag<Key> widest;
  const hn::CappedTag<Key, 32 / sizeof(Key)> medium;
  if (stride % hn::Lanes(widest) == 0) return op(widest);
  if (stride % hn::Lanes(medium) == 0) return op(medium);
  return op(hn::CappedTag<Key, 16 / sizeof(Key)>());
}

/// Returns true if padded row a is at least as good as b in every key: dominance, if they are known to differ.
template <class Key>
HWY_INLINE bool dominates_distinct_padded(const Key* a, const Key* b, std::size_t stride) {
  return with_row_vectors<Key>(stride, [&](auto tag) HWY_ATTR {
    for (std::size_t j = 0; j < stride; j += hn::Lanes(tag)) {
      if (!hn::AllFalse(tag, hn::Gt(hn::Load(tag, a + j), hn::Load(tag, b + j)))) return false;
    }
    return true;
  });
}

/// Bit j: key j of padded row a is not below that of b. The bits of the padding are set.
template <class Key>
HWY_INLINE std::uint64_t not_below(const Key* a, const Key* b, std::size_t stride) {
  return with_row_vectors<Key>(stride, [&](auto tag) HWY_ATTR {
    std::uint64_t bits = ~std::uint64_t{0};
    for (std::size_t j = 0; j < stride; j += hn::Lanes(tag)) {
      bits ^= bits_of(tag, hn::Lt(hn::Load(tag, a + j), hn::Load(tag, b + j))) << j;
    }
    return bits;
  });
}

/// Masks that must be readable after the last one given to `find_mask`: it reads whole vectors.
template <class Mask>
constexpr std::size_t kMaskRoom = 64 / sizeof(Mask);

struct MaskSearch {
  bool found = false;
  std::size_t tests = 0;  ///< masks up to the one found, or all
};

/// Calls visit(i) for the masks i of [begin, end) that have no bit of `forbidden`, ascending, until it returns true.
template <class Mask, class Visit>
HWY_INLINE MaskSearch find_mask(const Mask* masks, std::size_t begin, std::size_t end, Mask forbidden,
                                const Visit& visit) {
  const hn::ScalableTag<Mask> tag;
  const auto bad = hn::Set(tag, forbidden);
  for (std::size_t first = begin; first < end; first += hn::Lanes(tag)) {
    const auto clear = hn::Eq(hn::And(hn::LoadU(tag, masks + first), bad), hn::Zero(tag));
    if (HWY_LIKELY(hn::AllFalse(tag, clear))) continue;
    const std::size_t last = std::min(end, first + hn::Lanes(tag));
    std::uint64_t hits = bits_of(tag, clear);
    for (; hits != 0; hits &= hits - 1) {
      const std::size_t i = first + static_cast<std::size_t>(std::countr_zero(hits));
      if (i >= last) break;
      if (visit(i)) return {true, i + 1 - begin};
    }
  }
  return {false, end - begin};
}

/// Appends those of the rows [begin, end) that none of `strong`, d keys after d keys, dominates; returns the number of
/// comparisons.
template <class Key>
std::uint64_t append_spared(const SkylineProblem& problem, std::span<const Key> strong, std::size_t begin,
                            std::size_t end, RowIndices& spared) {
  const hn::ScalableTag<Key> tag;
  const std::size_t d = problem.keys.size();
  std::uint64_t tests = 0;
  std::size_t row = begin;
  for (; row + hn::Lanes(tag) <= end; row += hn::Lanes(tag)) {
    auto dead = hn::FirstN(tag, 0);
    for (std::size_t s = 0; s < strong.size() && !hn::AllTrue(tag, dead); s += d) {
      auto no_better = hn::Not(dead);
      tests += hn::CountTrue(tag, no_better);
      auto worse = hn::FirstN(tag, 0);
      for (std::size_t j = 0; j < d && !hn::AllFalse(tag, no_better); ++j) {
        const auto x = hn::LoadU(tag, problem.keys[j].template as<Key>() + row);
        const auto limit = hn::Set(tag, strong[s + j]);
        no_better = hn::AndNot(hn::Lt(x, limit), no_better);
        worse = hn::Or(worse, hn::Gt(x, limit));
      }
      dead = hn::Or(dead, hn::And(no_better, worse));
    }
    for (std::uint64_t bits = bits_of(tag, hn::Not(dead)); bits != 0; bits &= bits - 1) {
      spared.push_back(static_cast<std::uint32_t>(row + static_cast<std::size_t>(std::countr_zero(bits))));
    }
  }
  for (; row < end; ++row) {
    std::array<Key, kMaxDims> keys;
    for (std::size_t j = 0; j < d; ++j) keys[j] = problem.keys[j].template as<Key>()[row];
    bool dead = false;
    for (std::size_t s = 0; s < strong.size() && !dead; s += d) {
      ++tests;
      dead = dominates(strong.data() + s, keys.data(), d);
    }
    if (!dead) spared.push_back(static_cast<std::uint32_t>(row));
  }
  return tests;
}

/// Levels of `count` keys, by a binary search that all lanes take together. Whole vectors of the aligned arrays are
/// read and written.
template <class Key>
HWY_INLINE void find_levels(const Key* keys, std::size_t count, const Key* thresholds, std::size_t levels,
                            std::make_signed_t<Key>* found) {
  using Index = std::make_signed_t<Key>;
  const hn::ScalableTag<Key> tag;
  const hn::RebindToSigned<decltype(tag)> index_tag;
  for (std::size_t i = 0; i < count; i += hn::Lanes(tag)) {
    const auto key = hn::Load(tag, keys + i);
    auto level = hn::Zero(index_tag);
    for (std::size_t step = levels / 2; step > 0; step /= 2) {
      const auto threshold = hn::GatherIndex(tag, thresholds + step - 1, level);
      const auto above = hn::RebindMask(index_tag, hn::Lt(threshold, key));
      level = hn::Add(level, hn::IfThenElseZero(above, hn::Set(index_tag, static_cast<Index>(step))));
    }
    hn::Store(level, index_tag, found + i);
  }
}

/// Calls visit(i, j, level) for rows i of [begin, end) and every dimension j, ascending for each row; its key is
/// fetch(i, j).
template <class Key, class Fetch, class Visit>
HWY_INLINE void for_each_level(const Quantiles<Key>& quantiles, std::size_t begin, std::size_t end, const Fetch& fetch,
                               const Visit& visit) {
  constexpr std::size_t kTile = 256;
  HWY_ALIGN std::array<Key, kTile> keys{};
  HWY_ALIGN std::array<std::make_signed_t<Key>, kTile> levels{};
  for (std::size_t first = begin; first < end; first += kTile) {
    const std::size_t count = std::min(kTile, end - first);
    for (std::size_t j = 0; j < quantiles.d; ++j) {
      for (std::size_t i = 0; i < count; ++i) keys[i] = fetch(first + i, j);
      find_levels(keys.data(), count, quantiles.of(j), quantiles.levels, levels.data());
      for (std::size_t i = 0; i < count; ++i) visit(first + i, j, static_cast<std::size_t>(levels[i]));
    }
  }
}

/// Puts the rows `ids` into a grid at the quantiles of a sample of them, then in order. Without `quartiles` the
/// quartile masks are empty.
template <class Key>
MaskOrdered<Key> order_by_grid(const SkylineProblem& problem, const RowIndices& ids, bool quartiles,
                               const Context& context) {
  constexpr std::size_t kLevels = 64;
  const std::size_t d = problem.keys.size();
  RowIndices sample = sample_rows(ids.size(), kSampleRows);
  for (std::uint32_t& row : sample) row = ids[row];
  const auto quantiles = find_quantiles<Key>(problem, sample, kLevels);
  PaddedRows<Key> rows(ids.size(), d);
  Vector<MaskedRow> masked(ids.size());
  parallel_for(ids.size(), 1 << 12, [&](std::size_t begin, std::size_t end) {
    context.check();
    for (std::size_t i = begin; i < end; ++i) {
      masked[i].row = static_cast<std::uint32_t>(i);
      rows.pad(i);
    }
    const auto copy = [&](std::size_t i, std::size_t j) {
      return rows[i][j] = problem.keys[j].template as<Key>()[ids[i]];
    };
    for_each_level(quantiles, begin, end, copy, [&](std::size_t i, std::size_t j, std::size_t level) {
      masked[i].median |= std::uint64_t{level / (kLevels / 2)} << j;
      if (quartiles) masked[i].quartile |= std::uint64_t{level / (kLevels / 4) % 2} << j;
      masked[i].score = static_cast<std::uint16_t>(masked[i].score + level);
    });
    for (std::size_t i = begin; i < end; ++i) {
      masked[i].median_population = static_cast<std::uint8_t>(std::popcount(masked[i].median));
      masked[i].quartile_population = static_cast<std::uint8_t>(std::popcount(masked[i].quartile));
    }
  });
  return order_by_masks(std::move(masked), rows, ids, context);
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::skyline
HWY_AFTER_NAMESPACE();

#endif
