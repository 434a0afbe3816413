#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "kernels/cpu/levels/levels.hpp"
#include "kernels/cpu/levels/sorted_points.hpp"

// Levels by three keys: a binary search over levels, each of which keeps a staircase.
//
// Rows go by in lexicographic order, so that a row is dominated by one of a level exactly if one of its rows is nowhere
// greater in the other two keys. Of the level's rows it is enough to keep those that no other one of it beats in both:
// with the second key ascending, the third descends. The last of them whose second key is no greater than the row's has
// the least third key of all such rows, and decides. A row that a level dominates is dominated by all levels before it,
// so a binary search finds its level. It enters the staircase there and takes out what it beats.
//
// Sources: the two-dimensional front of Kung, Luccio, Preparata: On Finding the Maxima of a Set of Vectors, Journal of
// the ACM 22(4), 1975, section 3, kept for each level as in ENS-BS (insertion.cpp).
//
// Cost: O(n log n) for the order, then O(n log levels log rows-of-a-level) on one thread, whatever the rows. 10^6
// uniform and 10^6 anticorrelated rows take less than pareto_rank of moocore 0.3.2, which is the target.
namespace skyrank::kernels::levels {
namespace {

constexpr std::size_t kCheckPoints = std::size_t{1} << 14;  ///< points between two looks at the stop token

/// The least third code of a level's rows by their second code.
class Staircase {
 public:
  /// Returns true if a row of the level is nowhere greater in both codes.
  bool dominates(std::int32_t second, std::int32_t third) const {
    const auto after = steps_.upper_bound(second);
    return after != steps_.begin() && std::prev(after)->second <= third;
  }

  /// Adds a row that the level does not dominate.
  void insert(std::int32_t second, std::int32_t third) {
    auto step = steps_.lower_bound(second);
    while (step != steps_.end() && step->second >= third) step = steps_.erase(step);
    steps_.emplace_hint(step, second, third);
  }

 private:
  using Step = std::pair<const std::int32_t, std::int32_t>;
  std::map<std::int32_t, std::int32_t, std::less<>, CountingAllocator<Step>> steps_;
};

/// Returns the first level before `max_levels` that does not dominate a row, or `max_levels`.
std::int32_t first_free_level(const Vector<Staircase>& levels, const std::int32_t* point, std::int32_t max_levels) {
  const auto dominates = [&](const Staircase& level) { return level.dominates(point[1], point[2]); };
  // If only some levels are wanted, most rows are beyond them.
  if (levels.size() == static_cast<std::size_t>(max_levels) && dominates(levels.back())) return max_levels;
  return static_cast<std::int32_t>(std::partition_point(levels.begin(), levels.end(), dominates) - levels.begin());
}

}  // namespace

LevelsSolution staircases(const LevelsProblem& problem, const Context& context) {
  const SortedPoints sorted = sorted_points(problem, context);
  const Points& points = sorted.points;
  Vector<Staircase> levels;
  Vector<std::int32_t> found(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i % kCheckPoints == 0) context.check();
    const std::int32_t* const point = points[i];
    found[i] = first_free_level(levels, point, problem.max_levels);
    const std::int32_t past = end_of_levels(found[i], sorted.heights[i], problem.max_levels);
    if (levels.size() < static_cast<std::size_t>(past)) levels.resize(static_cast<std::size_t>(past));
    for (std::int32_t level = found[i]; level < past; ++level) {
      levels[static_cast<std::size_t>(level)].insert(point[1], point[2]);
    }
  }
  return {levels_of_rows(sorted, found, problem.max_levels), {}};
}

}  // namespace skyrank::kernels::levels
