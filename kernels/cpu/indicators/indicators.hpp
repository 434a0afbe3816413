#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/common/problem.hpp"

// Indicators of fronts: how much volume points dominate, and how far they are from a reference set. All values are
// finite, and all objectives are minimised. Answers are the same for any number of threads.
namespace skyrank::kernels {

/// Points in memory, row by row, `dims` values each.
struct PointRows {
  const double* values = nullptr;
  std::size_t size = 0;
  std::size_t dims = 0;

  const double* operator[](std::size_t point) const { return values + point * dims; }
};

/// Returns the hypervolume: the volume of what some point dominates up to `reference`, a value for each objective.
/// Points that are not less than it in every objective count for nothing.
double hypervolume(const PointRows& points, const double* reference, const Context& context);

/// Says whether points that others dominate take part in hypervolume contributions.
enum class Dominated : std::uint8_t { left_out, kept };

/// Writes the hypervolume that each point alone adds to that of all points. The contribution of dominated points and of
/// points that occur more than once is 0.
void hypervolume_contributions(const PointRows& points, const double* reference, Dominated dominated,
                               std::span<double> contributions, const Context& context);

/// Distances from a point of a reference set to a point, of which the least over all points is taken.
enum class Distance : std::uint8_t {
  euclidean,  ///< root of the sum of squared differences (IGD)
  worse       ///< the same of the objectives in which the point is worse (IGD+)
};

/// Returns the mean, over the points of `reference_set`, of the distance to the nearest of one or more points.
double mean_distance(Distance distance, const PointRows& points, const PointRows& reference_set,
                     const Context& context);

/// Ways in which a point is worse than another.
enum class Excess : std::uint8_t {
  difference,  ///< greatest difference: point - reference (additive epsilon)
  ratio        ///< greatest ratio: point / reference (multiplicative epsilon); values are above 0
};

/// Returns the least excess that allows each point of `reference_set` one of one or more points.
double least_excess(Excess excess, const PointRows& points, const PointRows& reference_set, const Context& context);

namespace indicators {

/// The algorithms; each file says how it works and what it costs. Points are less than the reference in every
/// objective, and there is at least one.
double hypervolume_2d(const PointRows& points, const double* reference, const Context& context);
double hypervolume_3d(const PointRows& points, const double* reference, const Context& context);
double hypervolume_by_slices(const PointRows& points, const double* reference, const Context& context);  ///< d >= 4

/// Points that others dominate are left out. O(n log n).
void contributions_2d(const PointRows& points, const double* reference, std::span<double> contributions,
                      const Context& context);
void contributions_3d(const PointRows& points, const double* reference, std::span<double> contributions,
                      const Context& context);

/// Any number of dimensions, one volume for each point.
void contributions_by_slices(const PointRows& points, const double* reference, Dominated dominated,
                             std::span<double> contributions, const Context& context);

}  // namespace indicators
}  // namespace skyrank::kernels
