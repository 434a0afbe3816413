#include <skyrank/indicators.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/indicators/dense_points.hpp"
#include "engine/indicators/fetched_points.hpp"
#include "kernels/cpu/caller_threads.hpp"
#include "kernels/cpu/indicators/indicators.hpp"
#include "kernels/cuda/indicators/distances.hpp"
#include "kernels/cuda/indicators/volumes.hpp"
#include "kernels/cuda/runtime/failure.hpp"
#include "kernels/cuda/runtime/scope.hpp"

// Checks the points of indicators, and computes these on the CPU or on the GPU that has the points.
namespace skyrank {
namespace {

using exec::DensePoints;
using exec::FetchedPoints;

/// The device that points came from, and that may find an indicator of them.
using Place = std::optional<int>;

bool is_maximised(const IndicatorOptions& options, std::size_t column) {
  if (options.maximise.empty()) return false;
  return options.maximise.size() == 1 ? options.maximise.front() : options.maximise[column];
}

void check_maximise(const IndicatorOptions& options, std::size_t dims) {
  const std::size_t size = options.maximise.size();
  if (size > 1 && size != dims) {
    throw DataError("`maximise` has one value for all objectives or " + std::to_string(dims) + ", one for each, not " +
                    std::to_string(size));
  }
}

/// Changes the values of maximised objectives, so that all are minimised.
template <class Change>
void change_maximised(DensePoints& points, const IndicatorOptions& options, const Change& change) {
  for (std::size_t j = 0; j < points.dims; ++j) {
    if (!is_maximised(options, j)) continue;
    for (std::size_t i = 0; i < points.size; ++i) {
      double& value = points.values[i * points.dims + j];
      value = change(value);
    }
  }
}

void minimise(DensePoints& points, const IndicatorOptions& options) {
  change_maximised(points, options, [](double value) { return -value; });
}

/// Does the same for ratios of values.
void minimise_ratios(DensePoints& points, const IndicatorOptions& options) {
  change_maximised(points, options, [](double value) { return 1 / value; });
}

std::vector<double> minimised_reference(std::span<const double> reference, std::size_t dims,
                                        const IndicatorOptions& options) {
  if (reference.size() != 1 && reference.size() != dims) {
    throw DataError("the reference has one value for all objectives or " + std::to_string(dims) +
                    ", one for each, not " + std::to_string(reference.size()));
  }
  std::vector<double> values(dims);
  for (std::size_t j = 0; j < dims; ++j) {
    const double value = reference.size() == 1 ? reference[0] : reference[j];
    if (!std::isfinite(value)) throw DataError("the reference has finite values, not " + std::to_string(value));
    values[j] = is_maximised(options, j) ? -value : value;
  }
  return values;
}

/// Calls `work` with its context: on as many threads as the options say, or, of a device, on this one.
template <class Work>
void find_indicator(const IndicatorOptions& options, const Place& place, const Work& work) {
  kernels::Context context;
  context.stop = options.stop;
  try {
    if (place) {
      const kernels::cuda::DeviceScope there({.ordinal = *place});
      work(context);
    } else {
      kernels::on_caller_threads(options.threads, [&] { work(context); });
    }
  } catch (const kernels::Cancelled&) {
    throw CancelledError("the indicator was cancelled");
  } catch (const kernels::cuda::OutOfMemory& failure) {
    throw ResourceError(failure.what());
  } catch (const kernels::cuda::Failure& failure) {
    throw DeviceError(failure.what());
  } catch (const std::bad_alloc&) {
    throw ResourceError("out of memory while an indicator was found");
  }
}

kernels::cuda::FrontRows front_rows(const DensePoints& points) {
  return {points.values.data(), points.size, points.dims};
}

/// Returns the device that points came from if it has kernels for volumes of so many dimensions, which take less time
/// there.
Place place_of_volumes(const DensePoints& points, std::size_t min_dims, const Place& place) {
  const bool is_there = points.dims >= min_dims && points.size <= kernels::cuda::kMaxFrontRows;
  return is_there ? place : std::nullopt;
}

/// Two sets of points of the same objectives, all of which are minimised.
struct Sets {
  DensePoints points;
  DensePoints reference_set;
};

Sets sets_of(const Points& points, const Points& reference_set, const IndicatorOptions& options) {
  Sets sets{exec::dense_points(points, "points"), exec::dense_points(reference_set, "points of the reference set")};
  if (sets.points.dims != sets.reference_set.dims) {
    throw DataError("the points have " + std::to_string(sets.points.dims) + " columns, and the reference set has " +
                    std::to_string(sets.reference_set.dims));
  }
  if (sets.reference_set.size == 0) throw DataError("the reference set has no points");
  check_maximise(options, sets.points.dims);
  return sets;
}

/// Returns the device that sets came from if their pairs take less time there.
Place place_of_pairs(const Sets& sets, const Place& place) {
  constexpr double kMinValues = 1e7;
  const double pairs = static_cast<double>(sets.points.size) * static_cast<double>(sets.reference_set.size);
  return pairs * static_cast<double>(sets.points.dims) >= kMinValues ? place : std::nullopt;
}

double distance_of(kernels::Distance distance, Sets sets, const IndicatorOptions& options, const Place& from) {
  if (sets.points.size == 0) return std::numeric_limits<double>::infinity();
  minimise(sets.points, options);
  minimise(sets.reference_set, options);
  const Place place = place_of_pairs(sets, from);
  double found = 0;
  find_indicator(options, place, [&](const kernels::Context& context) {
    if (!place) {
      found = kernels::mean_distance(distance, sets.points.rows(), sets.reference_set.rows(), context);
      return;
    }
    using kernels::cuda::PointDistance;
    const auto kind = distance == kernels::Distance::worse ? PointDistance::squared_worse : PointDistance::squared;
    for (const double square :
         kernels::cuda::least_distances(kind, front_rows(sets.points), front_rows(sets.reference_set), context)) {
      found += std::sqrt(square);
    }
    found /= static_cast<double>(sets.reference_set.size);
  });
  return found;
}

double excess_of(kernels::Excess excess, const Sets& sets, const IndicatorOptions& options, const Place& from) {
  if (sets.points.size == 0) return std::numeric_limits<double>::infinity();
  const Place place = place_of_pairs(sets, from);
  double found = 0;
  find_indicator(options, place, [&](const kernels::Context& context) {
    if (!place) {
      found = kernels::least_excess(excess, sets.points.rows(), sets.reference_set.rows(), context);
      return;
    }
    using kernels::cuda::PointDistance;
    const auto kind = excess == kernels::Excess::ratio ? PointDistance::ratio : PointDistance::difference;
    const std::vector<double> least =
        kernels::cuda::least_distances(kind, front_rows(sets.points), front_rows(sets.reference_set), context);
    found = *std::max_element(least.begin(), least.end());
  });
  return found;
}

void check_positive(const DensePoints& points, const char* name) {
  for (const double value : points.values) {
    if (value > 0) continue;
    throw DataError(std::string(name) + " of the multiplicative epsilon have values above 0, not " +
                    std::to_string(value));
  }
}

double volume_of(DensePoints points, std::span<const double> reference, const IndicatorOptions& options,
                 const Place& from) {
  check_maximise(options, points.dims);
  const std::vector<double> limits = minimised_reference(reference, points.dims, options);
  minimise(points, options);
  const Place place = place_of_volumes(points, kernels::cuda::kMinHypervolumeDims, from);
  double volume = 0;
  find_indicator(options, place, [&](const kernels::Context& context) {
    volume = place ? kernels::cuda::hypervolume(front_rows(points), limits.data(), context)
                   : kernels::hypervolume(points.rows(), limits.data(), context);
  });
  return volume;
}

std::vector<double> contributions_of(DensePoints points, std::span<const double> reference, DominatedPoints dominated,
                                     const IndicatorOptions& options, const Place& from) {
  check_maximise(options, points.dims);
  const std::vector<double> limits = minimised_reference(reference, points.dims, options);
  minimise(points, options);
  const bool counts = dominated == DominatedPoints::counted;
  const Place place = place_of_volumes(points, kernels::cuda::kMinContributionDims, from);
  std::vector<double> contributions(points.size);
  find_indicator(options, place, [&](const kernels::Context& context) {
    if (place) {
      kernels::cuda::hypervolume_contributions(front_rows(points), limits.data(), counts, contributions, context);
    } else {
      const auto rule = counts ? kernels::Dominated::kept : kernels::Dominated::left_out;
      kernels::hypervolume_contributions(points.rows(), limits.data(), rule, contributions, context);
    }
  });
  return contributions;
}

double additive_of(Sets sets, const IndicatorOptions& options, const Place& from) {
  minimise(sets.points, options);
  minimise(sets.reference_set, options);
  return excess_of(kernels::Excess::difference, sets, options, from);
}

double multiplicative_of(Sets sets, const IndicatorOptions& options, const Place& from) {
  check_positive(sets.points, "points");
  check_positive(sets.reference_set, "reference sets");
  minimise_ratios(sets.points, options);
  minimise_ratios(sets.reference_set, options);
  return excess_of(kernels::Excess::ratio, sets, options, from);
}

/// Returns what `find(sets, place)` finds of two sets in the memory of a device.
template <class Find>
double of_fetched_sets(const Points& points, const Points& reference_set, const IndicatorOptions& options, void* stream,
                       const Find& find) {
  const FetchedPoints own(points, "points", stream);
  const FetchedPoints references(reference_set, "points of the reference set", stream);
  return find(sets_of(own.points(), references.points(), options), own.device());
}

}  // namespace

inline namespace v0 {

double hypervolume(const Points& points, std::span<const double> reference, const IndicatorOptions& options) {
  return volume_of(exec::dense_points(points, "points"), reference, options, std::nullopt);
}

double hypervolume(const Points& points, std::span<const double> reference, const IndicatorOptions& options,
                   void* stream) {
  const FetchedPoints fetched(points, "points", stream);
  return volume_of(exec::dense_points(fetched.points(), "points"), reference, options, fetched.device());
}

std::vector<double> hypervolume_contributions(const Points& points, std::span<const double> reference,
                                              DominatedPoints dominated, const IndicatorOptions& options) {
  return contributions_of(exec::dense_points(points, "points"), reference, dominated, options, std::nullopt);
}

std::vector<double> hypervolume_contributions(const Points& points, std::span<const double> reference,
                                              DominatedPoints dominated, const IndicatorOptions& options,
                                              void* stream) {
  const FetchedPoints fetched(points, "points", stream);
  const Points on_host = fetched.points();
  return contributions_of(exec::dense_points(on_host, "points"), reference, dominated, options, fetched.device());
}

double igd(const Points& points, const Points& reference_set, const IndicatorOptions& options) {
  return distance_of(kernels::Distance::euclidean, sets_of(points, reference_set, options), options, std::nullopt);
}

double igd(const Points& points, const Points& reference_set, const IndicatorOptions& options, void* stream) {
  return of_fetched_sets(points, reference_set, options, stream, [&](Sets sets, const Place& place) {
    return distance_of(kernels::Distance::euclidean, std::move(sets), options, place);
  });
}

double igd_plus(const Points& points, const Points& reference_set, const IndicatorOptions& options) {
  return distance_of(kernels::Distance::worse, sets_of(points, reference_set, options), options, std::nullopt);
}

double igd_plus(const Points& points, const Points& reference_set, const IndicatorOptions& options, void* stream) {
  return of_fetched_sets(points, reference_set, options, stream, [&](Sets sets, const Place& place) {
    return distance_of(kernels::Distance::worse, std::move(sets), options, place);
  });
}

double epsilon_additive(const Points& points, const Points& reference_set, const IndicatorOptions& options) {
  return additive_of(sets_of(points, reference_set, options), options, std::nullopt);
}

double epsilon_additive(const Points& points, const Points& reference_set, const IndicatorOptions& options,
                        void* stream) {
  return of_fetched_sets(points, reference_set, options, stream,
                         [&](Sets sets, const Place& place) { return additive_of(std::move(sets), options, place); });
}

double epsilon_multiplicative(const Points& points, const Points& reference_set, const IndicatorOptions& options) {
  return multiplicative_of(sets_of(points, reference_set, options), options, std::nullopt);
}

double epsilon_multiplicative(const Points& points, const Points& reference_set, const IndicatorOptions& options,
                              void* stream) {
  return of_fetched_sets(points, reference_set, options, stream, [&](Sets sets, const Place& place) {
    return multiplicative_of(std::move(sets), options, place);
  });
}

}  // namespace v0
}  // namespace skyrank
