#include <skyrank/indicators.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/indicators/dense_points.hpp"
#include "kernels/cpu/caller_threads.hpp"
#include "kernels/cpu/indicators/indicators.hpp"

namespace skyrank {
namespace {

using exec::DensePoints;

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

/// Calls `work` with its context, on as many threads as the options say.
template <class Work>
void find_indicator(const IndicatorOptions& options, const Work& work) {
  kernels::Context context;
  context.stop = options.stop;
  try {
    kernels::on_caller_threads(options.threads, [&] { work(context); });
  } catch (const kernels::Cancelled&) {
    throw CancelledError("the indicator was cancelled");
  } catch (const std::bad_alloc&) {
    throw ResourceError("out of memory while an indicator was found");
  }
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

double distance_of(kernels::Distance distance, const Points& points, const Points& reference_set,
                   const IndicatorOptions& options) {
  Sets sets = sets_of(points, reference_set, options);
  if (sets.points.size == 0) return std::numeric_limits<double>::infinity();
  minimise(sets.points, options);
  minimise(sets.reference_set, options);
  double found = 0;
  find_indicator(options, [&](const kernels::Context& context) {
    found = kernels::mean_distance(distance, sets.points.rows(), sets.reference_set.rows(), context);
  });
  return found;
}

double excess_of(kernels::Excess excess, const Sets& sets, const IndicatorOptions& options) {
  if (sets.points.size == 0) return std::numeric_limits<double>::infinity();
  double found = 0;
  find_indicator(options, [&](const kernels::Context& context) {
    found = kernels::least_excess(excess, sets.points.rows(), sets.reference_set.rows(), context);
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

}  // namespace

inline namespace v0 {

double hypervolume(const Points& points, std::span<const double> reference, const IndicatorOptions& options) {
  DensePoints dense = exec::dense_points(points, "points");
  check_maximise(options, dense.dims);
  const std::vector<double> limits = minimised_reference(reference, dense.dims, options);
  minimise(dense, options);
  double volume = 0;
  find_indicator(options, [&](const kernels::Context& context) {
    volume = kernels::hypervolume(dense.rows(), limits.data(), context);
  });
  return volume;
}

std::vector<double> hypervolume_contributions(const Points& points, std::span<const double> reference,
                                              DominatedPoints dominated, const IndicatorOptions& options) {
  DensePoints dense = exec::dense_points(points, "points");
  check_maximise(options, dense.dims);
  const std::vector<double> limits = minimised_reference(reference, dense.dims, options);
  minimise(dense, options);
  const auto rule = dominated == DominatedPoints::counted ? kernels::Dominated::kept : kernels::Dominated::left_out;
  std::vector<double> contributions(dense.size);
  find_indicator(options, [&](const kernels::Context& context) {
    kernels::hypervolume_contributions(dense.rows(), limits.data(), rule, contributions, context);
  });
  return contributions;
}

double igd(const Points& points, const Points& reference_set, const IndicatorOptions& options) {
  return distance_of(kernels::Distance::euclidean, points, reference_set, options);
}

double igd_plus(const Points& points, const Points& reference_set, const IndicatorOptions& options) {
  return distance_of(kernels::Distance::worse, points, reference_set, options);
}

double epsilon_additive(const Points& points, const Points& reference_set, const IndicatorOptions& options) {
  Sets sets = sets_of(points, reference_set, options);
  minimise(sets.points, options);
  minimise(sets.reference_set, options);
  return excess_of(kernels::Excess::difference, sets, options);
}

double epsilon_multiplicative(const Points& points, const Points& reference_set, const IndicatorOptions& options) {
  Sets sets = sets_of(points, reference_set, options);
  check_positive(sets.points, "points");
  check_positive(sets.reference_set, "reference sets");
  minimise_ratios(sets.points, options);
  minimise_ratios(sets.reference_set, options);
  return excess_of(kernels::Excess::ratio, sets, options);
}

}  // namespace v0
}  // namespace skyrank
