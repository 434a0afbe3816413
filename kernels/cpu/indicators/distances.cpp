#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <mutex>
#include <numeric>

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
#ifndef SKYRANK_KERNELS_CPU_INDICATORS_DISTANCES
#define SKYRANK_KERNELS_CPU_INDICATORS_DISTANCES
namespace skyrank::kernels::indicators {
namespace {

/// Points column by column, whole vectors of them: the last point stands in place of those that are missing.
struct PointVectors {
  const double* values = nullptr;
  std::size_t stride = 0;  ///< values of a column
  std::size_t dims = 0;

  const double* column(std::size_t j) const { return values + j * stride; }
};

}  // namespace
}  // namespace skyrank::kernels::indicators
#endif

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::indicators {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<double>;
using Values = hn::Vec<Tag>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <Distance kDistance>
double nearest_of(const PointVectors& points, const double* reference) {
  const Tag tag;
  Values least = hn::Set(tag, kInfinity);
  for (std::size_t i = 0; i < points.stride; i += hn::Lanes(tag)) {
    Values squares = hn::Zero(tag);
    for (std::size_t j = 0; j < points.dims; ++j) {
      Values difference = hn::Sub(hn::Load(tag, points.column(j) + i), hn::Set(tag, reference[j]));
      if (kDistance == Distance::worse) difference = hn::Max(difference, hn::Zero(tag));
      squares = hn::Add(squares, hn::Mul(difference, difference));
    }
    least = hn::Min(least, squares);
  }
  return std::sqrt(hn::GetLane(hn::MinOfLanes(tag, least)));
}

/// Returns the least excess over all points, or any number up to `enough` if that is less.
template <Excess kExcess>
double excess_of(const PointVectors& points, const double* reference, double enough) {
  const Tag tag;
  Values least = hn::Set(tag, kInfinity);
  for (std::size_t i = 0; i < points.stride; i += hn::Lanes(tag)) {
    Values greatest = hn::Set(tag, -kInfinity);
    for (std::size_t j = 0; j < points.dims; ++j) {
      const Values values = hn::Load(tag, points.column(j) + i);
      const Values other = hn::Set(tag, reference[j]);
      greatest = hn::Max(greatest, kExcess == Excess::ratio ? hn::Div(values, other) : hn::Sub(values, other));
    }
    least = hn::Min(least, greatest);
    if (!hn::AllTrue(tag, hn::Gt(greatest, hn::Set(tag, enough)))) return enough;
  }
  return hn::GetLane(hn::MinOfLanes(tag, least));
}

double nearest(Distance distance, const PointVectors& points, const double* reference) {
  return distance == Distance::worse ? nearest_of<Distance::worse>(points, reference)
                                     : nearest_of<Distance::euclidean>(points, reference);
}

double excess(Excess excess, const PointVectors& points, const double* reference, double enough) {
  return excess == Excess::ratio ? excess_of<Excess::ratio>(points, reference, enough)
                                 : excess_of<Excess::difference>(points, reference, enough);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::indicators
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels {
namespace indicators {
namespace {

HWY_EXPORT(nearest);
HWY_EXPORT(excess);

constexpr std::size_t kLanes = 8;                            ///< most lanes of doubles
constexpr std::size_t kSerialValues = std::size_t{1} << 15;  ///< values that one thread compares in 10 us or so

double nearest_point(Distance distance, const PointVectors& points, const double* reference) {
  return HWY_DYNAMIC_DISPATCH(nearest)(distance, points, reference);
}

double excess_over(Excess kind, const PointVectors& points, const double* reference, double enough) {
  return HWY_DYNAMIC_DISPATCH(excess)(kind, points, reference, enough);
}

/// Copies points column by column.
class PointCopies {
 public:
  explicit PointCopies(const PointRows& points) {
    vectors_.dims = points.dims;
    vectors_.stride = (points.size + kLanes - 1) / kLanes * kLanes;
    values_ = Array<double>(vectors_.stride * points.dims);
    vectors_.values = values_.get();
    for (std::size_t j = 0; j < points.dims; ++j) {
      for (std::size_t i = 0; i < vectors_.stride; ++i) {
        values_[j * vectors_.stride + i] = points[std::min(i, points.size - 1)][j];
      }
    }
  }

  const PointVectors& vectors() const { return vectors_; }
  /// Points of a reference set that one thread takes at a time.
  std::size_t grain() const { return 1 + kSerialValues / (vectors_.stride * vectors_.dims); }

 private:
  Array<double> values_;
  PointVectors vectors_;
};

}  // namespace
}  // namespace indicators

double mean_distance(Distance distance, const PointRows& points, const PointRows& reference_set,
                     const Context& context) {
  const indicators::PointCopies copies(points);
  RawVector<double> distances(reference_set.size);
  parallel_for(reference_set.size, copies.grain(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if ((i - begin) % copies.grain() == 0) context.check();
      distances[i] = indicators::nearest_point(distance, copies.vectors(), reference_set[i]);
    }
  });
  // In one order, whatever the threads.
  return std::accumulate(distances.begin(), distances.end(), 0.0) / static_cast<double>(reference_set.size);
}

double least_excess(Excess excess, const PointRows& points, const PointRows& reference_set, const Context& context) {
  const indicators::PointCopies copies(points);
  std::mutex mutex;
  double greatest = -std::numeric_limits<double>::infinity();
  parallel_for(reference_set.size, copies.grain(), [&](std::size_t begin, std::size_t end) {
    double enough = -std::numeric_limits<double>::infinity();
    {
      const std::scoped_lock lock(mutex);
      enough = greatest;
    }
    for (std::size_t i = begin; i < end; ++i) {
      if ((i - begin) % copies.grain() == 0) context.check();
      enough = std::max(enough, indicators::excess_over(excess, copies.vectors(), reference_set[i], enough));
    }
    const std::scoped_lock lock(mutex);
    greatest = std::max(greatest, enough);
  });
  return greatest;
}

}  // namespace skyrank::kernels
#endif
