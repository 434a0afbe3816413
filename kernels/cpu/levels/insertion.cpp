#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/common/counters.hpp"
#include "kernels/cpu/levels/level_rows.hpp"
#include "kernels/cpu/levels/levels.hpp"
#include "kernels/cpu/levels/points.hpp"
#include "kernels/cpu/levels/sorted_rows.hpp"

// Levels by three keys or more: efficient non-dominated sort with binary search and a tree for each level.
//
// Rows go by in lexicographic order and into the first level that has no row that dominates them, found by binary
// search: a row that a level dominates is dominated by all levels before it. Equal rows go as one, so that "nowhere
// greater in all keys but the first" is dominance by a row that came before. A level of more than kSmallLevel rows
// keeps them in buckets of up to 32, near each other in one k-d order of all rows, and the least corner of every
// bucket. A look at a level compares the corners, 16 by a vector instruction, and then the rows of the buckets whose
// corner does not rule them out. Rows come in blocks: all rows of a block are looked up at the same time, then compared
// with those before them in the block, then inserted.
//
// Sources: Zhang, Tian, Cheng, Jin: An Efficient Approach to Nondominated Sorting for Evolutionary Multiobjective
// Optimization, IEEE Transactions on Evolutionary Computation 19(2), 2015 (ENS-BS); Gustavsson, Syberfeldt: A New
// Algorithm Using the Non-dominated Tree to Improve Non-dominated Sorting, Evolutionary Computation 26(1), 2018
// (ENS-NDT, whose global splits are here the k-d order).
//
// Cost: O(n log n) for the order, then n log2(levels) looks that read the corners of a level and a few of its buckets.
// Few levels of very many rows are dear: skylines one after the other are faster there (LevelStrategy of the engine).
// The target is to be faster than pareto_rank of moocore 0.3.2, which takes one front after the other.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/levels/insertion.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::levels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<std::int32_t, kLineCodes>;
using Mask = hn::Mask<Tag>;

/// Rows of a line, from lane `first` on, that are nowhere greater than a point, whose codes but the first are `point`;
/// line c * stride holds code c.
HWY_INLINE Mask nowhere_greater(const Line* lines, std::size_t stride, std::size_t first, const std::int32_t* point,
                                std::size_t codes) {
  const Tag tag;
  auto greater = hn::Gt(hn::Load(tag, lines[0].codes + first), hn::Set(tag, point[0]));
  for (std::size_t c = 1; c < codes; ++c) {
    if (c % 2 == 0 && hn::AllTrue(tag, greater)) break;
    greater = hn::Or(greater, hn::Gt(hn::Load(tag, lines[c * stride].codes + first), hn::Set(tag, point[c])));
  }
  return hn::Not(greater);
}

bool is_dominated_in_list(const Levels& levels, std::uint32_t entry, const std::int32_t* point, std::size_t codes,
                          std::uint64_t& tests) {
  for (; entry != kNone; entry = levels.entry(entry).next) {
    ++tests;
    const std::int32_t* const other = levels.points()[levels.entry(entry).point] + 1;
    std::size_t c = 0;
    while (c < codes && other[c] <= point[c]) ++c;
    if (c == codes) return true;
  }
  return false;
}

bool is_dominated_in_bucket(const Buckets& buckets, std::size_t bucket, const std::int32_t* point, std::size_t codes) {
  const Tag tag;
  const std::size_t count = buckets.rows_in(bucket);
  for (std::size_t i = 0; i < count; i += hn::Lanes(tag)) {
    const Line* const lines = buckets.rows(bucket) + i / kLineCodes;
    const auto found = nowhere_greater(lines, kBucketLines, i % kLineCodes, point, codes);
    if (!hn::AllFalse(tag, hn::And(found, hn::FirstN(tag, count - i)))) return true;
  }
  return false;
}

bool is_dominated_in_buckets(const Buckets& buckets, const std::int32_t* point, std::size_t codes,
                             std::uint64_t& tests) {
  const Tag tag;
  const std::size_t count = buckets.count();
  for (std::size_t i = 0; i < count; i += hn::Lanes(tag)) {
    tests += hn::Lanes(tag);
    const auto near = hn::And(nowhere_greater(buckets.corners(i / kLineCodes), 1, i % kLineCodes, point, codes),
                              hn::FirstN(tag, count - i));
    if (HWY_LIKELY(hn::AllFalse(tag, near))) continue;
    alignas(8) std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(tag, near, bytes);
    std::uint32_t bits = bytes[0] | std::uint32_t{bytes[1]} << 8;
    for (; bits != 0; bits &= bits - 1) {
      const std::size_t bucket = i + static_cast<std::size_t>(std::countr_zero(bits));
      tests += buckets.rows_in(bucket);
      if (is_dominated_in_bucket(buckets, bucket, point, codes)) return true;
    }
  }
  return false;
}

/// The first level before `max_levels` that has no row that dominates the point, or `max_levels`.
std::int32_t first_free_level(const Levels& levels, std::uint32_t point, std::int32_t max_levels,
                              std::uint64_t& tests) {
  const std::size_t codes = levels.points().dims() - 1;
  const std::int32_t* const keys = levels.points()[point] + 1;
  const auto is_dominated = [&](std::size_t level) {
    const Levels::Level& of = levels[level];
    return of.buckets == kNone ? is_dominated_in_list(levels, of.last, keys, codes, tests)
                               : is_dominated_in_buckets(levels.buckets(of), keys, codes, tests);
  };
  std::size_t low = 0;
  std::size_t high = levels.count();
  // If only some levels are wanted, most rows are beyond them.
  if (high == static_cast<std::size_t>(max_levels) && is_dominated(--high)) return max_levels;
  while (low < high) {
    const std::size_t half = low + (high - low) / 2;
    if (is_dominated(half)) {
      low = half + 1;
    } else {
      high = half;
    }
  }
  return static_cast<std::int32_t>(low);
}

/// The greatest end of a level among the points of the block before point i that dominate it; 0 where there are none.
std::int32_t greatest_end(const Block& block, std::size_t i, const std::int32_t* point, std::size_t codes) {
  const Tag tag;
  auto greatest = hn::Zero(tag);
  for (std::size_t j = 0; j < i; j += hn::Lanes(tag)) {
    const std::size_t group = j / kLineCodes;
    const auto better = nowhere_greater(block.lines(group), 1, j % kLineCodes, point, codes);
    const auto ends = hn::Load(tag, block.ends(group) + j % kLineCodes);
    greatest = hn::Max(greatest, hn::IfThenElseZero(better, ends));
  }
  return hn::GetLane(hn::MaxOfLanes(tag, greatest));
}

}  // namespace

std::int32_t look_up(const Levels& levels, std::uint32_t point, std::int32_t max_levels, std::uint64_t& tests) {
  return first_free_level(levels, point, max_levels, tests);
}

/// Raises the levels [0, count) of the block's points, which are those that the points before the block make, and sets
/// their ends.
void settle(Block& block, const Points& points, std::size_t begin, std::size_t count, const std::int32_t* heights,
            std::int32_t max_levels, std::int32_t* found) {
  for (std::size_t i = 0; i < count; ++i) {
    found[i] = std::max(found[i], greatest_end(block, i, points[begin + i] + 1, points.dims() - 1));
    block.set_end(i, end_of_levels(found[i], heights[i], max_levels));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::levels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels::levels {

HWY_EXPORT(look_up);
HWY_EXPORT(settle);

namespace {

/// Different rows in lexicographic order; place i of the sorted rows is a row like point point_of[i].
struct SortedPoints {
  Points points;
  Scratch<PackedRow> rows;
  Vector<std::uint32_t> point_of;
  Vector<std::int32_t> heights;  ///< heights of the points
};

/// Codes of one column, row by row: keys of 4 bytes as they are, those of 8 bytes as ranks.
template <class Key>
void fill_codes(const Key* keys, std::size_t code, Points& rows, const Context& context) {
  const std::size_t n = rows.size();
  if constexpr (sizeof(Key) == 4) {
    parallel_for(n, kSortGrain, [&](std::size_t begin, std::size_t end) {
      constexpr Key kSign = Key{1} << 31;
      for (std::size_t row = begin; row < end; ++row) rows[row][code] = static_cast<std::int32_t>(keys[row] ^ kSign);
    });
  } else {
    Scratch<PackedRow> order = all_rows(n);
    sort_by_column(keys, order, context);
    std::int32_t rank = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (i > 0 && keys[row_of(order[i - 1])] != keys[row_of(order[i])]) ++rank;
      rows[row_of(order[i])][code] = rank;
    }
  }
}

template <class Key>
Points codes_of(const LevelsProblem& problem, const Context& context) {
  Points rows(problem.n, problem.keys.size());
  for (std::size_t c = 0; c < problem.keys.size(); ++c) {
    context.check();
    fill_codes(problem.keys[c].as<Key>(), c, rows, context);
  }
  return rows;
}

/// Rows in lexicographic order of their codes.
Scratch<PackedRow> in_order(const Points& codes, const Context& context) {
  const std::size_t n = codes.size();
  const std::size_t d = codes.dims();
  Scratch<PackedRow> rows(n);
  parallel_for(n, kSortGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const std::uint32_t bits = static_cast<std::uint32_t>(codes[row][0]) ^ (std::uint32_t{1} << 31);
      rows[row] = std::uint64_t{bits} << 32 | row;
    }
  });
  topk::RadixSort<PackedRow>::sort(rows, 32, context);
  const auto before = [&](PackedRow a, PackedRow b) {
    const std::int32_t* const x = codes[row_of(a)];
    const std::int32_t* const y = codes[row_of(b)];
    const auto [p, q] = std::mismatch(x + 1, x + d, y + 1);
    return p == x + d ? a < b : *p < *q;
  };
  for (std::size_t begin = 0; begin < n;) {
    std::size_t end = begin + 1;
    while (end < n && rows[end] >> 32 == rows[begin] >> 32) ++end;
    if (end - begin > 1) {
      parallel_sort(rows.begin() + static_cast<std::ptrdiff_t>(begin), rows.begin() + static_cast<std::ptrdiff_t>(end),
                    before, context);
    }
    begin = end;
  }
  return rows;
}

SortedPoints sorted_points(const LevelsProblem& problem, const Context& context) {
  const std::size_t n = problem.n;
  const std::size_t d = problem.keys.size();
  const Points codes = problem.keys[0].width == KeyWidth::bytes8 ? codes_of<std::uint64_t>(problem, context)
                                                                 : codes_of<std::uint32_t>(problem, context);
  SortedPoints sorted{Points(n, d), in_order(codes, context), Vector<std::uint32_t>(n), {}};
  std::size_t points = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t row = row_of(sorted.rows[i]);
    const std::int32_t* const keys = codes[row];
    const bool is_new = points == 0 || !std::equal(keys, keys + d, sorted.points[points - 1]);
    if (is_new) {
      std::copy_n(keys, d, sorted.points[points++]);
      sorted.heights.push_back(1);
    }
    sorted.heights.back() = std::max(sorted.heights.back(), height_of(problem, row));
    sorted.point_of[i] = static_cast<std::uint32_t>(points - 1);
  }
  sorted.points.truncate(points);
  return sorted;
}

/// The levels of the points, block by block.
Vector<std::int32_t> levels_of(const SortedPoints& sorted, std::int32_t max_levels, std::uint64_t& tests,
                               const Context& context) {
  constexpr std::size_t kGrain = 32;  // points that one thread looks up at a time
  const Points& points = sorted.points;
  Levels levels(points, context);
  Block block(points.dims() - 1);
  Vector<std::int32_t> found(points.size());
  std::atomic<std::uint64_t> all_tests{0};
  for (std::size_t begin = 0; begin < points.size(); begin += kBlockRows) {
    context.check();
    const std::size_t end = std::min(begin + kBlockRows, points.size());
    parallel_for(end - begin, kGrain, [&](std::size_t first, std::size_t last) {
      std::uint64_t own = 0;
      for (std::size_t i = begin + first; i < begin + last; ++i) {
        found[i] = HWY_DYNAMIC_DISPATCH(look_up)(levels, static_cast<std::uint32_t>(i), max_levels, own);
      }
      all_tests += own;
    });
    block.start(points, begin, end);
    HWY_DYNAMIC_DISPATCH(settle)
    (block, points, begin, end - begin, sorted.heights.data() + begin, max_levels, found.data() + begin);
    if (end == points.size()) break;
    for (std::size_t i = begin; i < end; ++i) {
      const std::int32_t past = end_of_levels(found[i], sorted.heights[i], max_levels);
      for (std::int32_t level = found[i]; level < past; ++level) {
        levels.insert(static_cast<std::size_t>(level), static_cast<std::uint32_t>(i));
      }
    }
  }
  tests = all_tests;
  return found;
}

}  // namespace

LevelsSolution insertion(const LevelsProblem& problem, const Context& context) {
  const SortedPoints sorted = sorted_points(problem, context);
  LevelsSolution solution{Vector<std::int32_t>(problem.n), {}};
  const Vector<std::int32_t> found = levels_of(sorted, problem.max_levels, solution.work.dominance_tests, context);
  parallel_for(problem.n, kSortGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      solution.levels[row_of(sorted.rows[i])] = std::min(found[sorted.point_of[i]], problem.max_levels);
    }
  });
  if (!context.count_work) solution.work = {};
  return solution;
}

}  // namespace skyrank::kernels::levels
#endif  // HWY_ONCE
