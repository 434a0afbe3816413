#include <skyrank/archive.hpp>

#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <skyrank/indicators.hpp>

#include "engine/python/src/arrays.hpp"
#include "engine/python/src/bind.hpp"

// Archives. Calls hold the GIL, as one takes a microsecond.
namespace skyrank::python {
namespace {

/// The most objectives that points have.
constexpr std::size_t kMaxObjectives = 64;

Archive* make_archive(const std::vector<bool>& maximise, const nb::list& step, std::int64_t capacity,
                      const std::vector<double>& reference) {
  std::vector<Value> steps;
  for (const nb::handle one : step) steps.push_back(to_value(one));
  return new Archive({.maximise = maximise, .step = std::move(steps), .capacity = capacity, .reference = reference});
}

/// Reads a tuple or a list of numbers; nothing for others.
std::optional<std::span<const double>> numbers_of(nb::handle object, std::array<double, kMaxObjectives + 1>& values) {
  const bool is_tuple = PyTuple_Check(object.ptr()) != 0;
  if (!is_tuple && PyList_Check(object.ptr()) == 0) return std::nullopt;
  const auto size = static_cast<std::size_t>(is_tuple ? PyTuple_Size(object.ptr()) : PyList_Size(object.ptr()));
  for (std::size_t i = 0; i < std::min(size, values.size()); ++i) {
    const auto at = static_cast<Py_ssize_t>(i);
    PyObject* const item = is_tuple ? PyTuple_GetItem(object.ptr(), at) : PyList_GetItem(object.ptr(), at);
    if (PyFloat_Check(item) == 0 && PyLong_Check(item) == 0) return std::nullopt;
    values[i] = PyFloat_AsDouble(item);
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
  }
  return std::span<const double>(values.data(), std::min(size, values.size()));
}

/// Returns the values of a vector of float64; nothing for others.
std::optional<std::span<const double>> vector_of(const Array& array, std::array<double, kMaxObjectives + 1>& values) {
  if (array.ndim() != 1 || array.dtype() != nb::dtype<double>()) return std::nullopt;
  const auto* const data = static_cast<const double*>(array.data());
  const std::size_t size = std::min<std::size_t>(array.shape(0), values.size());
  if (array.stride(0) == 1) return std::span<const double>(data, size);
  for (std::size_t i = 0; i < size; ++i) values[i] = data[static_cast<std::int64_t>(i) * array.stride(0)];
  return std::span<const double>(values.data(), size);
}

nb::object mask_of(const std::vector<bool>& kept) {
  const std::size_t size = kept.size();
  auto owner = std::make_unique<bool[]>(size);
  std::copy(kept.begin(), kept.end(), owner.get());
  bool* const data = owner.get();
  nb::capsule capsule(owner.release(), [](void* all) noexcept { delete[] static_cast<bool*>(all); });
  return nb::cast(nb::ndarray<nb::numpy, bool, nb::ndim<1>>(data, {size}, capsule));
}

/// Adds one point or many. Returns True or False, a mask, or None for what has to be made an array first.
nb::object add(Archive& archive, nb::handle points) {
  std::array<double, kMaxObjectives + 1> values;
  if (const auto point = numbers_of(points, values)) return nb::bool_(archive.add(*point));
  Array array;
  if (!nb::try_cast(points, array, false)) return nb::none();
  if (const auto point = vector_of(array, values)) return nb::bool_(archive.add(*point));
  const std::optional<Matrix> matrix = matrix_of(points);
  if (!matrix || !is_type_of_points(matrix->points.type)) return nb::none();
  return mask_of(archive.add(matrix->points));
}

nb::object points_of(const Archive& archive) {
  auto owner = std::make_unique<std::vector<double>>(archive.points());
  double* const data = owner->data();
  const auto columns = static_cast<std::size_t>(archive.objectives());
  const std::size_t rows = columns == 0 ? 0 : owner->size() / columns;
  nb::capsule capsule(owner.release(), [](void* all) noexcept { delete static_cast<std::vector<double>*>(all); });
  return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<2>>(data, {rows, columns}, capsule));
}

}  // namespace

void bind_archive(nb::module_& module) {
  nb::class_<Archive>(module, "Archive")
      .def(nb::new_(&make_archive), nb::arg(), nb::arg(), nb::arg(), nb::arg())
      .def("add", &add)
      .def("points", &points_of)
      .def("ids", [](const Archive& self) { return to_array(self.ids()); })
      .def("size", &Archive::size)
      .def("objectives", &Archive::objectives)
      .def("next_id", &Archive::next_id);
}

}  // namespace skyrank::python
