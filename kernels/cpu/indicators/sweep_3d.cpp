#include "kernels/cpu/indicators/sweep_3d.hpp"

#include <cstddef>
#include <tuple>

#include "kernels/cpu/indicators/rank_set.hpp"
#include "kernels/cpu/parallel_sort.hpp"

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

bool by_x(const Point3& a, const Point3& b) {
  if (a.x != b.x) return a.x < b.x;
  return std::tie(a.y, a.z, a.row) < std::tie(b.y, b.z, b.row);
}

bool by_z(const SweepOrder::Step& a, const SweepOrder::Step& b) { return a.z != b.z ? a.z < b.z : a.rank < b.rank; }

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
  SweepOrder order{RawVector<Point3>(points.size), RawVector<SweepOrder::Step>(points.size)};
  for (std::size_t i = 0; i < points.size; ++i) order.points[i] = {points[i][0], points[i][1], points[i][2], i};
  parallel_sort(order.points.begin(), order.points.end(), by_x, context);
  for (std::size_t i = 0; i < points.size; ++i) order.steps[i] = {order.points[i].z, i};
  parallel_sort(order.steps.begin(), order.steps.end(), by_z, context);
  return order;
}

double hypervolume_3d(const PointRows& points, const double* reference, const Context& context) {
  const SweepOrder order = sweep_order(points, context);
  RankSet stairs(points.size);
  double volume = 0;
  for (std::size_t i = 0; i < order.steps.size(); ++i) {
    if (i % kCheckPoints == 0) context.check();
    const SweepOrder::Step& step = order.steps[i];
    volume += add(order.points, step.rank, reference, stairs) * (reference[2] - step.z);
  }
  return volume;
}

}  // namespace skyrank::kernels::indicators
