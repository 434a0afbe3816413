#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/common/problem.hpp"
#include "kernels/cpu/indicators/indicators.hpp"

// Picks a few of many points that stand for all, one after the other, each the best beside those picked before. Of
// equal ones the lowest position is picked. Answers are positions in the order of picking, `count` of them or all that
// there are, and the same for any number of threads.
namespace skyrank::kernels {

/// Picks `first`, then always the point that is farthest from the nearest of those picked, by Euclidean distance: at
/// most twice as far from some point as the best choice (Gonzalez, "Clustering to Minimize the Maximum Intercluster
/// Distance", 1985; Tao et al., "Distance-Based Representative Skyline", ICDE 2009). All values are finite. O(count n
/// d).
Vector<std::size_t> pick_by_distance(const PointRows& points, std::size_t count, std::size_t first,
                                     const Context& context);

/// Picks always the point that adds most to the hypervolume of those picked, up to `reference`; points that are not
/// less than it in every objective add nothing. At least 1 - 1/e of the most that is possible, but for rounding.
Vector<std::size_t> pick_by_volume(const PointRows& points, const double* reference, std::size_t count,
                                   const Context& context);

/// An order of n rows by key columns on the host, of any widths. Row a dominates row b where, in the first step in
/// which a key of theirs differs, no key of a is greater.
struct StepsOfKeys {
  std::size_t n = 0;
  std::vector<std::vector<KeyColumn>> steps;
};

/// Picks, among the rows `candidates`, always the one that dominates most rows that none picked before dominates: at
/// least 1 - 1/e of the most that is possible (Lin, Yuan, Zhang and Zhang, "Selecting Stars: The k Most Representative
/// Skyline Operator", ICDE 2007). Returns positions in `candidates`. O(candidates n d) and as much again for each row
/// whose gain has to be counted anew.
Vector<std::size_t> pick_by_coverage(const StepsOfKeys& rows, std::span<const std::int64_t> candidates,
                                     std::size_t count, const Context& context);

}  // namespace skyrank::kernels
