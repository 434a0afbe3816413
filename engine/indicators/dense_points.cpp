#include "engine/indicators/dense_points.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include <skyrank/error.hpp>

#include "kernels/common/problem.hpp"

namespace skyrank::exec {
namespace {

constexpr std::int64_t kMaxRows = std::numeric_limits<std::int32_t>::max();

template <class Value>
void copy_rows(const Points& points, double* to) {
  const auto* row = static_cast<const std::byte*>(points.values);
  for (std::int64_t i = 0; i < points.rows; ++i, row += points.row_stride) {
    const std::byte* at = row;
    for (std::int64_t j = 0; j < points.columns; ++j, at += points.column_stride) {
      Value value;
      std::memcpy(&value, at, sizeof(Value));
      *to++ = static_cast<double>(value);
    }
  }
}

void copy_values(const Points& points, double* to) {
  switch (points.type) {
    case Type::float32: return copy_rows<float>(points, to);
    case Type::float64: return copy_rows<double>(points, to);
    case Type::int32: return copy_rows<std::int32_t>(points, to);
    case Type::int64: return copy_rows<std::int64_t>(points, to);
    case Type::uint32: return copy_rows<std::uint32_t>(points, to);
    case Type::uint64: return copy_rows<std::uint64_t>(points, to);
    default: return;  // refused before
  }
}

}  // namespace

void check_points(const Points& points, const std::string& name) {
  if (!is_type_of_points(points.type)) {
    throw DataError(name + " are floats or integers of 32 or 64 bits, not " + to_string(DataType{points.type}));
  }
  if (points.rows < 0 || points.rows > kMaxRows) {
    throw DataError(name + " have 0 to " + std::to_string(kMaxRows) + " rows, not " + std::to_string(points.rows));
  }
  if (points.columns < 1 || points.columns > std::int64_t{kernels::kMaxDims}) {
    throw DataError(name + " have 1 to " + std::to_string(kernels::kMaxDims) + " columns, not " +
                    std::to_string(points.columns));
  }
  if (points.values == nullptr && points.rows > 0) throw DataError(name + " are a null pointer");
}

DensePoints dense_values(const Points& points) {
  DensePoints dense;
  dense.size = static_cast<std::size_t>(points.rows);
  dense.dims = static_cast<std::size_t>(points.columns);
  dense.values.resize(dense.size * dense.dims);
  copy_values(points, dense.values.data());
  return dense;
}

DensePoints dense_points(const Points& points, const char* name, Infinities infinities) {
  check_points(points, name);
  DensePoints dense = dense_values(points);
  const bool finite = infinities == Infinities::refused;
  for (std::size_t i = 0; i < dense.values.size(); ++i) {
    const double value = dense.values[i];
    if (finite ? std::isfinite(value) : !std::isnan(value)) continue;
    throw DataError(std::string(name) + (finite ? " have finite values" : " have no NaN") + "; row " +
                    std::to_string(i / dense.dims) + ", column " + std::to_string(i % dense.dims) + " is " +
                    std::to_string(value));
  }
  return dense;
}

}  // namespace skyrank::exec
