#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>

#include "kernels/cpu/levels/levels.hpp"
#include "kernels/cpu/levels/sorted_rows.hpp"
#include "kernels/cpu/vector_targets.hpp"

// Levels of few rows: every row is compared with every row before it.
//
// Rows go by in lexicographic order, equal rows as one, so that "nowhere greater in all keys but the first" is
// dominance by a row that came before. Of the rows so far each key lies in an array of its own, beside the ends of
// their levels: one vector instruction compares a key of many rows with that of one, and a maximum of the ends finds
// its level.
//
// For the first level alone, keys of 64 bits are compared by coarse codes, the first 16 bits in which those of a column
// differ: a vector has four times as many. A greater code means a greater key, so only what codes leave in doubt is
// compared by keys.
//
// Cost: O(n log n) for the order, then n^2 d / 2 comparisons of keys at most, a vector at a time, on one thread. For
// few rows that takes less than what the other algorithms do before they compare: ranks of every key, trees, tasks.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/levels/pairs.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef SKYRANK_KERNELS_CPU_LEVELS_PAIRS
#define SKYRANK_KERNELS_CPU_LEVELS_PAIRS
namespace skyrank::kernels::levels {

/// Different points in lexicographic order, all codes but the first of each.
template <class Code>
struct PairPoints {
  std::size_t size = 0;
  std::size_t codes = 0;                  ///< codes of a point but the first, at least 1
  const Code* points = nullptr;           ///< point by point
  const std::int32_t* heights = nullptr;  ///< levels that each point takes up
  std::int32_t max_levels = 0;
  /// Room for the points that others are compared with: `codes` arrays of `stride` codes, and their ends. `stride` is
  /// `size` or more by a whole vector.
  std::size_t stride = 0;
  Code* columns = nullptr;
  Code* ends = nullptr;            ///< zeros
  std::int32_t* levels = nullptr;  ///< the answer, point by point
};

}  // namespace skyrank::kernels::levels
#endif

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::levels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Returns the greatest end among the first `count` points in the columns that are nowhere greater than `point`; 0
/// where there are none.
template <class Code>
Code greatest_end_of_pairs(const PairPoints<Code>& all, std::size_t count, const Code* point) {
  const hn::ScalableTag<Code> tag;
  auto greatest = hn::Zero(tag);
  for (std::size_t j = 0; j < count; j += hn::Lanes(tag)) {
    auto greater = hn::Gt(hn::LoadU(tag, all.columns + j), hn::Set(tag, point[0]));
    for (std::size_t c = 1; c < all.codes; ++c) {
      if (c % 2 == 0 && hn::AllTrue(tag, greater)) break;
      greater = hn::Or(greater, hn::Gt(hn::LoadU(tag, all.columns + c * all.stride + j), hn::Set(tag, point[c])));
    }
    greatest = hn::Max(greatest, hn::IfThenZeroElse(greater, hn::LoadU(tag, all.ends + j)));
  }
  return hn::GetLane(hn::MaxOfLanes(tag, greatest));
}

/// Finds the levels; returns how many pairs were compared.
template <class Code>
std::uint64_t compare_pairs(const PairPoints<Code>& all) {
  std::uint64_t tests = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < all.size; ++i) {
    const Code* const point = all.points + i * all.codes;
    const auto level = static_cast<std::int32_t>(greatest_end_of_pairs(all, count, point));
    tests += count;
    all.levels[i] = level;
    // A row of the last level dominates whatever a point beyond the levels does.
    if (level >= all.max_levels) continue;
    for (std::size_t c = 0; c < all.codes; ++c) all.columns[c * all.stride + count] = point[c];
    all.ends[count++] = end_of_levels(level, all.heights[i], all.max_levels);
  }
  return tests;
}

}  // namespace

/// Finds the points of the first level by coarse codes of all points, point by point. `columns` has room as that of the
/// points, and the greatest code everywhere; `kept` for the numbers of the points in it. Returns how many pairs were
/// compared, or 0 where the codes hardly tell points apart.
std::uint64_t compare_first_level(const PairPoints<std::int64_t>& all, const std::int16_t* coarse,
                                  std::int16_t* columns, std::uint32_t* kept) {
  const hn::ScalableTag<std::int16_t> tag;
  std::uint64_t tests = 0;
  std::size_t in_vain = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < all.size; ++i, coarse += all.codes) {
    const std::int64_t* const point = all.points + i * all.codes;
    const auto is_nowhere_greater = [&](std::uint32_t other) {
      return std::equal(point, point + all.codes, all.points + other * all.codes, std::greater_equal<>());
    };
    all.levels[i] = 0;
    for (std::size_t first = 0; first < count && all.levels[i] == 0; first += hn::Lanes(tag)) {
      const std::size_t end = std::min(count, first + hn::Lanes(tag));
      tests += end - first;
      auto greater = hn::Gt(hn::LoadU(tag, columns + first), hn::Set(tag, coarse[0]));
      for (std::size_t c = 1; c < all.codes && (c % 2 == 1 || !hn::AllTrue(tag, greater)); ++c) {
        greater = hn::Or(greater, hn::Gt(hn::LoadU(tag, columns + c * all.stride + first), hn::Set(tag, coarse[c])));
      }
      if (hn::AllTrue(tag, greater)) continue;
      all.levels[i] = std::any_of(kept + first, kept + end, is_nowhere_greater) ? 1 : 0;
      if (all.levels[i] == 0 && ++in_vain > 2 * all.size) return 0;
    }
    if (all.levels[i] != 0) continue;
    for (std::size_t c = 0; c < all.codes; ++c) columns[c * all.stride + count] = coarse[c];
    kept[count++] = static_cast<std::uint32_t>(i);
  }
  return tests;
}

std::uint64_t compare_narrow_pairs(const PairPoints<std::int32_t>& all) { return compare_pairs(all); }
std::uint64_t compare_wide_pairs(const PairPoints<std::int64_t>& all) { return compare_pairs(all); }

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::levels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels::levels {

HWY_EXPORT(compare_narrow_pairs);
HWY_EXPORT(compare_wide_pairs);
HWY_EXPORT(compare_first_level);

namespace {

/// A row with its first code.
template <class Code>
struct FirstCode {
  Code code;
  std::uint32_t row;
};

/// The codes of all rows, row by row: signed, as vectors compare such in one instruction.
template <class Key, class Code>
Vector<Code> signed_codes(const LevelsProblem& problem) {
  constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  const std::size_t d = problem.keys.size();
  Vector<Code> codes(problem.n * d);
  for (std::size_t c = 0; c < d; ++c) {
    const Key* const keys = problem.keys[c].as<Key>();
    for (std::size_t row = 0; row < problem.n; ++row) codes[row * d + c] = static_cast<Code>(keys[row] ^ kSign);
  }
  return codes;
}

template <class Code>
Vector<FirstCode<Code>> lexicographic_order(const Vector<Code>& codes, std::size_t d) {
  Vector<FirstCode<Code>> order(codes.size() / d);
  for (std::size_t row = 0; row < order.size(); ++row) order[row] = {codes[row * d], static_cast<std::uint32_t>(row)};
  std::sort(order.begin(), order.end(), [&](const FirstCode<Code>& a, const FirstCode<Code>& b) {
    if (a.code != b.code) return a.code < b.code;
    const Code* const x = codes.data() + a.row * d;
    const Code* const y = codes.data() + b.row * d;
    return std::lexicographical_compare(x + 1, x + d, y + 1, y + d);
  });
  return order;
}

/// Returns the first 16 bits in which the codes of a column differ, point by point.
Vector<std::int16_t> coarse_codes(const Vector<std::int64_t>& points, std::size_t codes) {
  Vector<std::int16_t> coarse(points.size());
  for (std::size_t c = 0; c < codes; ++c) {
    std::int64_t least = points[c];
    std::int64_t greatest = points[c];
    for (std::size_t i = c; i < points.size(); i += codes) {
      least = std::min(least, points[i]);
      greatest = std::max(greatest, points[i]);
    }
    const auto above_least = [least](std::int64_t code) { return std::uint64_t(code) - std::uint64_t(least); };
    const int shift = std::max(0, static_cast<int>(std::bit_width(above_least(greatest))) - 16);
    for (std::size_t i = c; i < points.size(); i += codes) {
      coarse[i] = static_cast<std::int16_t>(static_cast<std::int64_t>(above_least(points[i]) >> shift) +
                                            std::numeric_limits<std::int16_t>::min());
    }
  }
  return coarse;
}

/// Finds the first level as compare_first_level does.
std::uint64_t first_level(const PairPoints<std::int64_t>& all, const Vector<std::int64_t>& points) {
  const Vector<std::int16_t> coarse = coarse_codes(points, all.codes);
  Vector<std::int16_t> columns(all.stride * all.codes, std::numeric_limits<std::int16_t>::max());
  Vector<std::uint32_t> kept(all.size);
  return HWY_DYNAMIC_DISPATCH(compare_first_level)(all, coarse.data(), columns.data(), kept.data());
}

template <class Key>
LevelsSolution levels_by_pairs(const LevelsProblem& problem, const Context& context) {
  using Code = std::make_signed_t<Key>;
  constexpr std::size_t kMaxLanes = 256 / sizeof(std::int16_t);  // of the widest vectors that Highway knows
  const std::size_t n = problem.n;
  const std::size_t d = problem.keys.size();
  const Vector<Code> codes = signed_codes<Key, Code>(problem);
  const auto order = lexicographic_order(codes, d);
  Vector<Code> points;
  points.reserve(n * (d - 1));
  Vector<std::int32_t> heights;
  Vector<std::uint32_t> point_of(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Code* const row = codes.data() + order[i].row * d;
    if (i == 0 || !std::equal(row, row + d, codes.data() + order[i - 1].row * d)) {
      points.insert(points.end(), row + 1, row + d);
      heights.push_back(1);
    }
    heights.back() = std::max(heights.back(), height_of(problem, order[i].row));
    point_of[order[i].row] = static_cast<std::uint32_t>(heights.size() - 1);
  }
  const std::size_t stride = heights.size() + kMaxLanes;
  Vector<Code> columns(stride * (d - 1));
  Vector<Code> ends(stride);
  Vector<std::int32_t> found(heights.size());
  const PairPoints<Code> all{heights.size(), d - 1,          points.data(), heights.data(), problem.max_levels,
                             stride,         columns.data(), ends.data(),   found.data()};
  std::uint64_t tests = 0;
  if constexpr (sizeof(Key) == 4) {
    tests = HWY_DYNAMIC_DISPATCH(compare_narrow_pairs)(all);
  } else {
    if (problem.max_levels == 1) tests = first_level(all, points);
    if (tests == 0) tests = HWY_DYNAMIC_DISPATCH(compare_wide_pairs)(all);
  }
  LevelsSolution solution{Vector<std::int32_t>(n), {}};
  for (std::size_t row = 0; row < n; ++row) solution.levels[row] = found[point_of[row]];
  if (context.count_work) solution.work.dominance_tests = tests;
  return solution;
}

}  // namespace

LevelsSolution pairs(const LevelsProblem& problem, const Context& context) {
  context.check();
  return problem.keys[0].width == KeyWidth::bytes8 ? levels_by_pairs<std::uint64_t>(problem, context)
                                                   : levels_by_pairs<std::uint32_t>(problem, context);
}

}  // namespace skyrank::kernels::levels
#endif  // HWY_ONCE
