#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "kernels/cpu/indicators/indicators.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/indicators/distances.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Distances from points of a reference set to the nearest of some points: all pairs, a vector of points at a time. Each
// lane adds up the objectives in their order, so that distances are the same on every machine.
//
// Sources: Coello, Reyes Sierra: A Study of the Parallelization of a Coevolutionary Multi-objective Evolutionary
// Algorithm, MICAI 2004 (IGD); Ishibuchi et al.: Modified Distance Calculation in Generational Distance and Inverted
// Generational Distance, EMO 2015 (IGD+); Zitzler et al.: Performance Assessment of Multiobjective Optimizers, IEEE
// Transactions on Evolutionary Computation 7(2), 2003 (epsilon).
//
// Cost: O(d n r), shared out by points of the reference set.
HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::indicators {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<double>;
using Values = hn::Vec<Tag>;

/// Adds an objective to a distance.
template <Distance kDistance>
HWY_INLINE Values with_objective(Values distance, Values point, Values reference) {
  if constexpr (kDistance == Distance::additive) return hn::Max(distance, hn::Sub(point, reference));
  if constexpr (kDistance == Distance::multiplicative) return hn::Max(distance, hn::Div(point, reference));
  Values difference = hn::Sub(point, reference);
  if constexpr (kDistance == Distance::worse) difference = hn::Max(difference, hn::Zero(Tag()));
  return hn::Add(distance, hn::Mul(difference, difference));
}

/// `columns` has `stride` values of each objective, a multiple of the lanes.
template <Distance kDistance>
double nearest(const double* columns, std::size_t stride, std::size_t dims, const double* reference) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr bool kGreatest = kDistance == Distance::additive || kDistance == Distance::multiplicative;
  const Tag tag;
  Values least = hn::Set(tag, kInfinity);
  for (std::size_t i = 0; i < stride; i += hn::Lanes(tag)) {
    Values distance = hn::Set(tag, kGreatest ? -kInfinity : 0);
    for (std::size_t j = 0; j < dims; ++j) {
      distance =
          with_objective<kDistance>(distance, hn::Load(tag, columns + j * stride + i), hn::Set(tag, reference[j]));
    }
    least = hn::Min(least, distance);
  }
  const double found = hn::GetLane(hn::MinOfLanes(tag, least));
  return kGreatest ? found : std::sqrt(found);
}

double find(Distance distance, const double* columns, std::size_t stride, std::size_t dims, const double* reference) {
  switch (distance) {
    case Distance::euclidean: return nearest<Distance::euclidean>(columns, stride, dims, reference);
    case Distance::worse: return nearest<Distance::worse>(columns, stride, dims, reference);
    case Distance::additive: return nearest<Distance::additive>(columns, stride, dims, reference);
    case Distance::multiplicative: break;
  }
  return nearest<Distance::multiplicative>(columns, stride, dims, reference);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::indicators
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels {
namespace indicators {
namespace {

HWY_EXPORT(find);

constexpr std::size_t kLanes = 8;                            ///< most lanes of doubles
constexpr std::size_t kSerialValues = std::size_t{1} << 15;  ///< values that one thread compares in 10 us or so

}  // namespace
}  // namespace indicators

void nearest_distances(Distance distance, const PointRows& points, const PointRows& reference_set,
                       std::span<double> distances, const Context& context) {
  using indicators::kLanes;
  const std::size_t dims = points.dims;
  const std::size_t stride = (points.size + kLanes - 1) / kLanes * kLanes;
  Array<double> columns(stride * dims);
  for (std::size_t j = 0; j < dims; ++j) {
    for (std::size_t i = 0; i < stride; ++i) columns[j * stride + i] = points[std::min(i, points.size - 1)][j];
  }
  const std::size_t grain = 1 + indicators::kSerialValues / (stride * dims);
  parallel_for(reference_set.size, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if ((i - begin) % grain == 0) context.check();
      distances[i] = HWY_DYNAMIC_DISPATCH(indicators::find)(distance, columns.get(), stride, dims, reference_set[i]);
    }
  });
}

}  // namespace skyrank::kernels
#endif
