#include "kernels/cpu/indicators/sweep_3d.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/indicators/rank_set.hpp"
#include "kernels/cpu/indicators/value_order.hpp"

// Volume in three dimensions: points by z, which build stairs in x and y. Each point adds the area that it adds to the
// stairs, times its height up to the reference. The stairs are the ranks by x of their points, in a set of bits, whose
// neighbours are found in less time than those of a balanced tree.
//
// Source: Beume, Fonseca, Lopez-Ibanez, Paquete, Vahrenhold: On the Complexity of Computing the Hypervolume Indicator,
// IEEE Transactions on Evolutionary Computation 13(5), 2009, section III.
//
// Cost: O(n log n) for the orders; a point enters the stairs once and leaves them once.
namespace skyrank::kernels::indicators {
namespace {

constexpr std::size_t kCheckPoints = std::size_t{1} << 16;  ///< points between two looks at the stop token

/// Adds a point to the stairs, and returns the area that it adds.
double add(const RawVector<Point3>& points, std::size_t rank, const double* reference, RankSet& stairs) {
  const Point3& point = points[rank];
  const std::size_t before = stairs.before(rank);
  double top = before == RankSet::kNone ? reference[1] : points[before].y;
  if (top <= point.y) return 0;
  double area = 0;
  double left = point.x;
  std::size_t after = stairs.after(rank);
  for (; after != RankSet::kNone && points[after].y >= point.y; after = stairs.after(after)) {
    area += (points[after].x - left) * (top - point.y);
    left = points[after].x;
    top = points[after].y;
    stairs.erase(after);
  }
  area += ((after == RankSet::kNone ? reference[0] : points[after].x) - left) * (top - point.y);
  stairs.insert(rank);
  return area;
}

}  // namespace

SweepOrder sweep_order(const PointRows& points, const Context& context) {
  const auto by_x = value_order(
      points.size, [&](std::size_t i) { return points[i][0]; },
      [&](std::size_t a, std::size_t b) {
        for (std::size_t j = 0; j < 3; ++j) {
          if (points[a][j] != points[b][j]) return points[a][j] < points[b][j];
        }
        return a < b;
      },
      context);
  SweepOrder order{RawVector<Point3>(points.size), {}};
  for (std::size_t rank = 0; rank < points.size; ++rank) {
    const std::size_t row = by_x[rank];
    order.points[rank] = {points[row][0], points[row][1], points[row][2], row};
  }
  order.ranks = value_order(
      points.size, [&](std::size_t rank) { return order.points[rank].z; },
      [&](std::size_t a, std::size_t b) {
        return order.points[a].z != order.points[b].z ? order.points[a].z < order.points[b].z : a < b;
      },
      context);
  return order;
}

RawVector<std::size_t> front_of_rows(const SweepOrder& order, std::size_t rows) {
  const RawVector<Point3>& points = order.points;
  RankSet stairs(points.size());
  RawVector<std::size_t> front;
  std::size_t of_one_z = 0;  // where the points of the last z begin, which go by their rows in the end
  const auto by_row = [&](std::size_t a, std::size_t b) { return points[a].row < points[b].row; };
  for (const std::size_t rank : order.ranks) {
    const Point3& point = points[rank];
    if (point.row >= rows) continue;
    const std::size_t before = stairs.before(rank);
    if (before != RankSet::kNone && points[before].y <= point.y) continue;
    std::size_t after = stairs.after(rank);
    for (; after != RankSet::kNone && points[after].y >= point.y; after = stairs.after(after)) stairs.erase(after);
    stairs.insert(rank);
    if (!front.empty() && points[front[of_one_z]].z != point.z) {
      std::sort(front.begin() + static_cast<std::ptrdiff_t>(of_one_z), front.end(), by_row);
      of_one_z = front.size();
    }
    front.push_back(rank);
  }
  std::sort(front.begin() + static_cast<std::ptrdiff_t>(of_one_z), front.end(), by_row);
  return front;
}

double hypervolume_3d(const PointRows& points, const double* reference, const Context& context) {
  const SweepOrder order = sweep_order(points, context);
  RankSet stairs(points.size);
  double volume = 0;
  for (std::size_t i = 0; i < order.ranks.size(); ++i) {
    if (i % kCheckPoints == 0) context.check();
    const std::size_t rank = order.ranks[i];
    volume += add(order.points, rank, reference, stairs) * (reference[2] - order.points[rank].z);
  }
  return volume;
}

}  // namespace skyrank::kernels::indicators
