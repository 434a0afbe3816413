#include "kernels/cpu/skyline/two_columns.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/parallel_sort.hpp"

// Rows ascend by the first key, then the second. What dominates a row is before it, and so is what equals it. A row is
// dominated if the least second key before it is less than its own, or is its own and was there with a lesser first
// key: if the least pair (second, first) before it is less than its own pair. Equal rows have equal pairs.
namespace skyrank::kernels::skyline {
namespace {

constexpr std::size_t kGrain = 1 << 13;

template <class Key>
struct Point {
  Key first;
  Key second;
  std::uint32_t place;  ///< in the list of rows

  bool operator<(const Point& other) const { return std::tie(first, second) < std::tie(other.first, other.second); }
};

template <class Key>
Vector<Point<Key>> points_in_order(const SkylineProblem& problem, std::span<const std::uint32_t> rows,
                                   const Context& context) {
  const Key* const first = problem.keys[0].as<Key>();
  const Key* const second = problem.keys[1].as<Key>();
  Vector<Point<Key>> points(rows.size());
  parallel_for(rows.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    context.check();
    for (std::size_t i = begin; i < end; ++i) {
      points[i] = {first[rows[i]], second[rows[i]], static_cast<std::uint32_t>(i)};
    }
  });
  parallel_sort(points.begin(), points.end(), std::less<>(), context);
  return points;
}

}  // namespace

template <class Key>
Vector<std::uint8_t> sweep_two_columns(const SkylineProblem& problem, std::span<const std::uint32_t> rows,
                                       const Context& context) {
  Vector<std::uint8_t> stays(rows.size());
  constexpr Key kGreatest = std::numeric_limits<Key>::max();
  Point<Key> least{kGreatest, kGreatest, 0};
  for (const Point<Key>& point : points_in_order<Key>(problem, rows, context)) {
    const auto pair = std::tie(point.second, point.first);
    const auto least_pair = std::tie(least.second, least.first);
    stays[point.place] = least_pair < pair ? 0 : 1;
    if (pair < least_pair) least = point;
  }
  return stays;
}

template Vector<std::uint8_t> sweep_two_columns<std::uint32_t>(const SkylineProblem&, std::span<const std::uint32_t>,
                                                               const Context&);
template Vector<std::uint8_t> sweep_two_columns<std::uint64_t>(const SkylineProblem&, std::span<const std::uint32_t>,
                                                               const Context&);

}  // namespace skyrank::kernels::skyline
