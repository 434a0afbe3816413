#include <algorithm>
#include <cstddef>
#include <limits>
#include <mutex>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pick/pick.hpp"

namespace skyrank::kernels {
namespace {

constexpr std::size_t kGrain = 4096;
constexpr double kPicked = -1;  ///< less than any distance

struct Farthest {
  double distance = kPicked;
  std::size_t point = std::numeric_limits<std::size_t>::max();

  void meet(const Farthest& other) {
    if (other.distance > distance || (other.distance == distance && other.point < point)) *this = other;
  }
};

double squared_distance(const double* a, const double* b, std::size_t dims) {
  double sum = 0;
  for (std::size_t j = 0; j < dims; ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
  return sum;
}

}  // namespace

Vector<std::size_t> pick_by_distance(const PointRows& points, std::size_t count, std::size_t first,
                                     const Context& context) {
  Vector<double> nearest(points.size);  // squared distance to the nearest point that is picked
  std::fill(nearest.begin(), nearest.end(), std::numeric_limits<double>::infinity());
  Vector<std::size_t> picked;
  count = std::min(count, points.size);
  for (std::size_t next = first; picked.size() < count;) {
    context.check();
    picked.push_back(next);
    nearest[next] = kPicked;
    const double* const last = points[next];
    Farthest farthest;
    std::mutex mutex;
    parallel_for(points.size, kGrain, [&](std::size_t begin, std::size_t end) {
      Farthest found;
      for (std::size_t i = begin; i < end; ++i) {
        nearest[i] = std::min(nearest[i], squared_distance(points[i], last, points.dims));
        found.meet({nearest[i], i});
      }
      const std::scoped_lock lock(mutex);
      farthest.meet(found);
    });
    next = farthest.point;
  }
  return picked;
}

}  // namespace skyrank::kernels
