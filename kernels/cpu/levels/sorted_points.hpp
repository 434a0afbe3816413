#pragma once

#include <cstdint>

#include "kernels/common/problem.hpp"
#include "kernels/cpu/levels/levels.hpp"
#include "kernels/cpu/levels/points.hpp"
#include "kernels/cpu/levels/sorted_rows.hpp"

// The common first step of the algorithms for Pareto levels: keys become ints of 32 bits (ranks, for wide keys), rows
// are sorted lexicographically, and equal rows become one point. O(d n log n).
namespace skyrank::kernels::levels {

/// Different rows in lexicographic order; place i of the sorted rows is a row like point point_of[i].
struct SortedPoints {
  Points points;
  Scratch<PackedRow> rows;
  Vector<std::uint32_t> point_of;
  Vector<std::int32_t> heights;  ///< heights of the points
};

/// Sorts the rows of a problem of two keys or more.
SortedPoints sorted_points(const LevelsProblem& problem, const Context& context);

/// Returns the level of each row, at most `max_levels`, from those of the points.
Vector<std::int32_t> levels_of_rows(const SortedPoints& sorted, const Vector<std::int32_t>& of_points,
                                    std::int32_t max_levels);

}  // namespace skyrank::kernels::levels
