#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/common/counters.hpp"
#include "kernels/cpu/levels/level_rows.hpp"
#include "kernels/cpu/levels/levels.hpp"
#include "kernels/cpu/levels/points.hpp"
#include "kernels/cpu/levels/sorted_points.hpp"
#include "kernels/cpu/levels/sorted_rows.hpp"
#include "kernels/cpu/vector_targets.hpp"

// Levels by four keys or more: efficient non-dominated sort with binary search and a tree for each level.
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
  std::uint64_t tests = 0;
  const Vector<std::int32_t> found = levels_of(sorted, problem.max_levels, tests, context);
  LevelsSolution solution{levels_of_rows(sorted, found, problem.max_levels), {}};
  if (context.count_work) solution.work.dominance_tests = tests;
  return solution;
}

}  // namespace skyrank::kernels::levels
#endif  // HWY_ONCE
