#include <skyrank/indicators.hpp>

#include <nanobind/ndarray.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "engine/indicators/distinct_rows.hpp"
#include "engine/python/src/arrays.hpp"
#include "engine/python/src/bind.hpp"
#include "engine/python/src/interruptible.hpp"

// Indicators of fronts, and what optimisers ask of small fronts, over NumPy arrays of points.
namespace skyrank::python {
namespace {

using Flags = std::vector<bool>;

Matrix points_of(nb::handle object) {
  std::optional<Matrix> found = matrix_of(object);
  if (!found) throw DataError("points are a matrix of numbers in the memory of the CPU");
  return std::move(*found);
}

/// Returns true in a child of the process that loaded the module, which has none of its threads.
bool is_forked() {
  static const pid_t process = getpid();
  return process != getpid();
}

/// Finds an indicator without the GIL. Ctrl-C stops it if `is_long`.
template <class Find>
auto find(bool is_long, const Flags& maximise, const Find& find_with) {
  IndicatorOptions options;
  options.maximise = maximise;
  if (is_forked()) options.threads = 1;
  if (!is_long) {
    const nb::gil_scoped_release no_gil;
    return find_with(options);
  }
  const bool main_thread = nb::cast<bool>(nb::module_::import_("skyrank._input").attr("on_main_thread")());
  return interruptible(main_thread, [&](std::stop_token stop) {
    options.stop = std::move(stop);
    return find_with(options);
  });
}

/// Returns false if volumes of points are found in some milliseconds.
bool is_long_volume(const Points& points) {
  switch (points.columns) {
    case 1:
    case 2:
    case 3: return points.rows > 10'000;
    case 4: return points.rows > 1'000;
    case 5: return points.rows > 300;
    case 6: return points.rows > 80;
    default: return points.rows > 20;
  }
}

/// Does the same for contributions, each of which takes a volume of some of the points.
bool is_long_contribution(const Points& points, bool ignore_dominated) {
  if (ignore_dominated && points.columns <= 3) return is_long_volume(points);
  return is_long_volume(points) || points.rows > 100;
}

double python_hypervolume(nb::handle array, const std::vector<double>& reference, const Flags& maximise) {
  const Matrix matrix = points_of(array);
  return find(is_long_volume(matrix.points), maximise,
              [&](const IndicatorOptions& options) { return hypervolume(matrix.points, reference, options); });
}

nb::object python_contributions(nb::handle array, const std::vector<double>& reference, const Flags& maximise,
                                bool ignore_dominated) {
  const Matrix matrix = points_of(array);
  const auto dominated = ignore_dominated ? DominatedPoints::ignored : DominatedPoints::counted;
  return to_array(
      find(is_long_contribution(matrix.points, ignore_dominated), maximise, [&](const IndicatorOptions& options) {
        return hypervolume_contributions(matrix.points, reference, dominated, options);
      }));
}

using Indicator = double (*)(const Points&, const Points&, const IndicatorOptions&);

template <Indicator kIndicator>
double python_indicator(nb::handle array, nb::handle reference_set, const Flags& maximise) {
  constexpr std::int64_t kMaxShort = 10'000'000;  // pairs that are compared in some milliseconds
  const Matrix points = points_of(array);
  const Matrix references = points_of(reference_set);
  const bool is_long = points.points.rows > kMaxShort / (references.points.rows + 1);
  return find(is_long, maximise,
              [&](const IndicatorOptions& options) { return kIndicator(points.points, references.points, options); });
}

// ---- On a GPU ----

/// The address of a matrix, its rows and columns, and the bytes from one to the next of each.
using MatrixLayout = std::vector<std::int64_t>;

/// Returns a pointer to an address, as libraries give it.
void* gpu_pointer(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

Points gpu_points(const MatrixLayout& layout, const std::string& type) {
  Points points;
  points.values = gpu_pointer(static_cast<std::uintptr_t>(layout.at(0)));
  points.rows = layout.at(1);
  points.columns = layout.at(2);
  points.row_stride = layout.at(3);
  points.column_stride = layout.at(4);
  for (const Type named : {Type::float32, Type::float64, Type::int32, Type::int64, Type::uint32, Type::uint64}) {
    if (to_string(DataType{named}) == type) points.type = named;
  }
  return points;
}

double python_hypervolume_on_gpu(const MatrixLayout& layout, const std::string& type, std::uintptr_t stream,
                                 const std::vector<double>& reference, const Flags& maximise) {
  const Points points = gpu_points(layout, type);
  return find(is_long_volume(points), maximise, [&](const IndicatorOptions& options) {
    return hypervolume(points, reference, options, gpu_pointer(stream));
  });
}

nb::object python_contributions_on_gpu(const MatrixLayout& layout, const std::string& type, std::uintptr_t stream,
                                       const std::vector<double>& reference, const Flags& maximise,
                                       bool ignore_dominated) {
  const Points points = gpu_points(layout, type);
  const auto dominated = ignore_dominated ? DominatedPoints::ignored : DominatedPoints::counted;
  return to_array(find(is_long_contribution(points, ignore_dominated), maximise, [&](const IndicatorOptions& options) {
    return hypervolume_contributions(points, reference, dominated, options, gpu_pointer(stream));
  }));
}

/// Compares two sets of points that are ready.
double python_indicator_on_gpu(const std::string& name, const MatrixLayout& layout, const std::string& type,
                               const MatrixLayout& reference_layout, const std::string& reference_type,
                               const Flags& maximise) {
  using Found = double (*)(const Points&, const Points&, const IndicatorOptions&, void*);
  const std::pair<const char*, Found> indicators[] = {{"igd", igd},
                                                      {"igd_plus", igd_plus},
                                                      {"epsilon_additive", epsilon_additive},
                                                      {"epsilon_multiplicative", epsilon_multiplicative}};
  const Points points = gpu_points(layout, type);
  const Points references = gpu_points(reference_layout, reference_type);
  for (const auto& [own, indicator] : indicators) {
    if (own != name) continue;
    return find(true, maximise, [&, found = indicator](const IndicatorOptions& options) {
      return found(points, references, options, nullptr);
    });
  }
  throw DataError("there is no indicator named " + name);
}

nb::object python_crowding(nb::handle array) {
  const Matrix matrix = points_of(array);
  return to_array(without_gil([&] { return crowding_distances(matrix.points); }));
}

nb::object python_survivors(nb::handle array, std::int64_t count, const std::optional<Array>& violations) {
  const Matrix matrix = points_of(array);
  std::span<const double> amounts;
  if (violations) amounts = {static_cast<const double*>(violations->data()), violations->size()};
  return to_array(without_gil([&] { return nsga2_survivors(matrix.points, count, amounts); }));
}

nb::object python_distinct_rows(nb::handle array) {
  const Matrix matrix = points_of(array);
  return to_array(exec::distinct_rows(matrix.points));
}

/// Returns the rows that no other row dominates.
nb::object python_nondominated_rows(nb::handle array) {
  const Matrix matrix = points_of(array);
  return to_array(without_gil([&] { return nondominated_rows(matrix.points); }));
}

}  // namespace

void bind_indicators(nb::module_& module) {
  is_forked();  // remembers the process
  module.def("hypervolume", &python_hypervolume);
  module.def("hypervolume_contributions", &python_contributions);
  module.def("igd", &python_indicator<igd>);
  module.def("igd_plus", &python_indicator<igd_plus>);
  module.def("epsilon_additive", &python_indicator<epsilon_additive>);
  module.def("epsilon_multiplicative", &python_indicator<epsilon_multiplicative>);
  module.def("hypervolume_on_gpu", &python_hypervolume_on_gpu);
  module.def("hypervolume_contributions_on_gpu", &python_contributions_on_gpu);
  module.def("indicator_on_gpu", &python_indicator_on_gpu);
  module.def("crowding_distances", &python_crowding);
  module.def("nsga2_survivors", &python_survivors, nb::arg("array"), nb::arg("count"),
             nb::arg("violations").none().noconvert());
  module.def("distinct_rows", &python_distinct_rows);
  module.def("nondominated_rows", &python_nondominated_rows);
}

}  // namespace skyrank::python
