#include <algorithm>
#include <cstddef>

#include "kernels/cpu/pick/greedy.hpp"
#include "kernels/cpu/pick/pick.hpp"

namespace skyrank::kernels {
namespace {

/// The volume between a point and the reference; 0 for a point that is not less than it in every objective.
double box_volume(const double* point, const double* reference, std::size_t dims) {
  double volume = 1;
  for (std::size_t j = 0; j < dims; ++j) {
    if (!(point[j] < reference[j])) return 0;
    volume *= reference[j] - point[j];
  }
  return volume;
}

}  // namespace

Vector<std::size_t> pick_by_volume(const PointRows& points, const double* reference, std::size_t count,
                                   const Context& context) {
  const std::size_t dims = points.dims;
  Vector<double> boxes(points.size);
  for (std::size_t i = 0; i < points.size; ++i) boxes[i] = box_volume(points[i], reference, dims);
  Vector<double> picked;
  Vector<double> limited;
  // A point alone dominates its box without the parts of it that the others dominate, which are the boxes of their
  // corners within it.
  const auto gain = [&](std::size_t i) {
    context.check();
    if (boxes[i] == 0) return 0.0;
    limited.resize(picked.size());
    for (std::size_t k = 0; k < picked.size(); ++k) limited[k] = std::max(picked[k], points[i][k % dims]);
    return boxes[i] - hypervolume({limited.data(), picked.size() / dims, dims}, reference, context);
  };
  const auto take = [&](std::size_t i) { picked.insert(picked.end(), points[i], points[i] + dims); };
  return pick_greedily(boxes, count, gain, take);
}

}  // namespace skyrank::kernels
