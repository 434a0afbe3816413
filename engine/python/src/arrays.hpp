#pragma once

#include <nanobind/ndarray.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <skyrank/fronts.hpp>

#include "engine/python/src/bind.hpp"

namespace skyrank::python {

using Array = nb::ndarray<nb::ro, nb::device::cpu>;

/// A matrix in the memory of an array, which must outlive it.
struct Matrix {
  Array array;
  Points points;
};

/// Returns the matrix of a NumPy array with two dimensions; nothing for what has no view here, such as texts.
std::optional<Matrix> matrix_of(nb::handle object);

/// Moves numbers into a NumPy array.
template <class T>
nb::object to_array(std::vector<T> values) {
  auto owner = std::make_unique<std::vector<T>>(std::move(values));
  T* const data = owner->data();
  const std::size_t size = owner->size();
  nb::capsule capsule(owner.release(), [](void* all) noexcept { delete static_cast<std::vector<T>*>(all); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, capsule));
}

}  // namespace skyrank::python
