#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include <skyrank/export.hpp>
#include <skyrank/fronts.hpp>

// Indicators: how good a front of points is, for those who optimise several objectives. Answers are exact up to
// rounding, and the same for any number of threads.
namespace skyrank {
inline namespace v0 {

/// Says how indicators read points, and how they are found.
struct IndicatorOptions {
  /// Objectives of which larger values are better: one value for each column, or one for all; empty: none.
  std::vector<bool> maximise = {};
  int threads = 0;            ///< threads; 0: those of the caller's TBB arena, by default one a core
  std::stop_token stop = {};  ///< ends the work soon after it is requested
};

/// Returns the hypervolume of points: the volume of what at least one of them dominates, up to a reference point.
/// Points that are not better than it in every objective count for nothing. 0 for no points.
///
///     const std::vector<double> points = {5, 5, 4, 6, 2, 7, 7, 4};
///     const skyrank::Points front{
///         .values = points.data(), .rows = 4, .columns = 2, .row_stride = 16, .column_stride = 8};
///     const double volume = skyrank::hypervolume(front, std::vector<double>{10, 10});  // 38
///
/// `reference` has a value for each objective, or one for all. Takes O(n log n) for two objectives (Fonseca et al., CEC
/// 2006) and three (Beume et al., IEEE TEVC 13(5), 2009), O(n^2 log n) for four (slices as in HV4D, Guerreiro et al.,
/// CCCG 2012); for more up to n times as much for each further one, with limit sets as in WFG (While et al., IEEE TEVC
/// 16(1), 2012).
///
/// DataError for points of another type, with no or more than 64 columns, for NaN and infinite values, and for a
/// reference or `maximise` of another size. CancelledError, and ResourceError where memory runs out.
SKYRANK_EXPORT double hypervolume(const Points& points, std::span<const double> reference,
                                  const IndicatorOptions& options = {});

/// Says what becomes of points that others dominate, in hypervolume contributions.
enum class DominatedPoints : std::uint8_t {
  ignored,  ///< they change no contribution
  counted   ///< they reduce the contribution of a point that alone dominates them
};

/// Returns, for each point, the hypervolume that all points have more than all without it. 0 for dominated points,
/// for those that occur more than once, and for those that are not better than the reference in every objective.
///
/// Takes O(n log n) for up to three objectives (Emmerich and Fonseca, EMO 2011), if dominated points are ignored;
/// otherwise a hypervolume of one dimension less for each pair, at most. Errors as of `hypervolume`.
SKYRANK_EXPORT std::vector<double> hypervolume_contributions(const Points& points, std::span<const double> reference,
                                                             DominatedPoints dominated = DominatedPoints::ignored,
                                                             const IndicatorOptions& options = {});

/// Returns the inverted generational distance: the mean, over the points of a reference set, of the Euclidean distance
/// to the nearest point (Coello and Reyes Sierra, MICAI 2004). Infinite for no points.
///
/// This function and the three below compare all pairs. DataError as for `hypervolume`, and for an empty reference set,
/// or one with another number of columns.
SKYRANK_EXPORT double igd(const Points& points, const Points& reference_set, const IndicatorOptions& options = {});

/// Returns the same of distances that count only the objectives in which a point is worse than the reference (IGD+,
/// Ishibuchi et al., EMO 2015). It never prefers a dominated set. Infinite for no points.
SKYRANK_EXPORT double igd_plus(const Points& points, const Points& reference_set, const IndicatorOptions& options = {});

/// Returns the least number that, subtracted from all objectives of all points, makes them weakly dominate each point
/// of the reference set (Zitzler et al., IEEE TEVC 7(2), 2003). Infinite for no points.
SKYRANK_EXPORT double epsilon_additive(const Points& points, const Points& reference_set,
                                       const IndicatorOptions& options = {});

/// Returns the least factor by which all objectives of all points have to be divided for the same. Infinite for no
/// points. All values are above 0, or DataError.
SKYRANK_EXPORT double epsilon_multiplicative(const Points& points, const Points& reference_set,
                                             const IndicatorOptions& options = {});

// ---- On a GPU ----

/// Returns the hypervolume of points in the memory of a CUDA device, once what is on `stream`, a cudaStream_t of that
/// device (null: the default stream), is done. Waits for the answer.
///
/// The device finds the volume of five objectives and more, of up to 65,534 points: slices of limit sets, a warp each.
/// The host finds the others from a copy, which takes less time. The answer is the same in every run, and that of the
/// host up to rounding.
///
/// DataError as above, and for points in the host's memory. DeviceError where the device fails, and in a build without
/// GPU kernels.
SKYRANK_EXPORT double hypervolume(const Points& points, std::span<const double> reference,
                                  const IndicatorOptions& options, void* stream);

/// Returns the contributions of such points. The device finds those of four objectives and more.
SKYRANK_EXPORT std::vector<double> hypervolume_contributions(const Points& points, std::span<const double> reference,
                                                             DominatedPoints dominated, const IndicatorOptions& options,
                                                             void* stream);

/// Returns the inverted generational distance of two sets in the memory of a device. This function and the three below
/// compare their pairs there if there are many; their values are those of the host.
SKYRANK_EXPORT double igd(const Points& points, const Points& reference_set, const IndicatorOptions& options,
                          void* stream);

/// Returns IGD+ of two such sets.
SKYRANK_EXPORT double igd_plus(const Points& points, const Points& reference_set, const IndicatorOptions& options,
                               void* stream);

/// Returns the additive epsilon of two such sets.
SKYRANK_EXPORT double epsilon_additive(const Points& points, const Points& reference_set,
                                       const IndicatorOptions& options, void* stream);

/// Returns the multiplicative epsilon of two such sets.
SKYRANK_EXPORT double epsilon_multiplicative(const Points& points, const Points& reference_set,
                                             const IndicatorOptions& options, void* stream);

}  // namespace v0
}  // namespace skyrank
