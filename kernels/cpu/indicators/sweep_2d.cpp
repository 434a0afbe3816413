#include <algorithm>
#include <cstddef>

#include "kernels/cpu/indicators/indicators.hpp"
#include "kernels/cpu/indicators/value_order.hpp"

// Volumes in two dimensions: points by x, of which each adds a rectangle below the least y so far. The contribution of
// a point of the front is the rectangle between its two neighbours.
//
// Source: Fonseca, Paquete, Lopez-Ibanez: An Improved Dimension-Sweep Algorithm for the Hypervolume Indicator, CEC
// 2006.
//
// Cost: O(n log n).
namespace skyrank::kernels::indicators {
namespace {

struct Point2 {
  double x = 0;
  double y = 0;
  std::size_t row = 0;

  bool same_place(const Point2& other) const { return x == other.x && y == other.y; }
};

/// Returns points in the order of (x, y, row).
RawVector<Point2> by_x(const PointRows& points, const Context& context) {
  const auto order = value_order(
      points.size, [&](std::size_t i) { return points[i][0]; },
      [&](std::size_t a, std::size_t b) {
        if (points[a][0] != points[b][0]) return points[a][0] < points[b][0];
        return points[a][1] != points[b][1] ? points[a][1] < points[b][1] : a < b;
      },
      context);
  RawVector<Point2> sorted(points.size);
  for (std::size_t i = 0; i < points.size; ++i) sorted[i] = {points[order[i]][0], points[order[i]][1], order[i]};
  return sorted;
}

}  // namespace

double hypervolume_2d(const PointRows& points, const double* reference, const Context& context) {
  double volume = 0;
  double least = reference[1];
  for (const Point2& point : by_x(points, context)) {
    if (point.y >= least) continue;
    volume += (reference[0] - point.x) * (least - point.y);
    least = point.y;
  }
  return volume;
}

void contributions_2d(const PointRows& points, const double* reference, std::span<double> contributions,
                      const Context& context) {
  const RawVector<Point2> sorted = by_x(points, context);
  RawVector<Point2> front;
  RawVector<bool> unique;
  for (const Point2& point : sorted) {
    if (front.empty() || point.y < front.back().y) {
      front.push_back(point);
      unique.push_back(true);
    } else if (point.same_place(front.back())) {
      unique.back() = false;
    }
  }
  std::fill(contributions.begin(), contributions.end(), 0.0);
  for (std::size_t i = 0; i < front.size(); ++i) {
    if (!unique[i]) continue;
    const double right = i + 1 < front.size() ? front[i + 1].x : reference[0];
    const double top = i > 0 ? front[i - 1].y : reference[1];
    contributions[front[i].row] = (right - front[i].x) * (top - front[i].y);
  }
}

}  // namespace skyrank::kernels::indicators
