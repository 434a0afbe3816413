#include <skyrank/fronts.hpp>

#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/python/src/arrays.hpp"
#include "engine/python/src/bind.hpp"

// NumPy arrays of rows and columns: tables that view them, and fronts of small ones, which are answered where they are.
// A query would take longer for its table, plan and threads than for such an answer.
namespace skyrank::python {
namespace {

/// Values up to which an answer takes less time than the plan of a query, or about a millisecond.
constexpr std::size_t kMaxValues = std::size_t{1} << 14;

std::optional<Type> integer_type(bool is_signed, int bits) {
  switch (bits) {
    case 8: return is_signed ? Type::int8 : Type::uint8;
    case 16: return is_signed ? Type::int16 : Type::uint16;
    case 32: return is_signed ? Type::int32 : Type::uint32;
    case 64: return is_signed ? Type::int64 : Type::uint64;
    default: return std::nullopt;
  }
}

std::optional<Type> type_of(const nb::dlpack::dtype& type) {
  if (type.lanes != 1) return std::nullopt;
  switch (static_cast<nb::dlpack::dtype_code>(type.code)) {
    case nb::dlpack::dtype_code::Float:
      if (type.bits == 16) return Type::float16;
      if (type.bits == 32) return Type::float32;
      return type.bits == 64 ? std::optional(Type::float64) : std::nullopt;
    case nb::dlpack::dtype_code::Int: return integer_type(true, type.bits);
    case nb::dlpack::dtype_code::UInt: return integer_type(false, type.bits);
    case nb::dlpack::dtype_code::Bool: return type.bits == 8 ? std::optional(Type::boolean) : std::nullopt;
    default: return std::nullopt;
  }
}

/// Returns the points of a small array of rows and columns; nothing for what a query has to look at.
std::optional<Matrix> small_points(nb::handle object) {
  auto found = matrix_of(object);
  if (!found || !is_type_of_points(found->points.type)) return std::nullopt;
  const std::int64_t columns = found->points.columns;
  if (found->array.size() > kMaxValues || columns < 1 || columns > 64) return std::nullopt;
  return found;
}

/// Returns a table that views an array column by column, or None where a view cannot be had.
std::optional<Table> table_of_matrix(const nb::object& object, const std::vector<std::string>& names) {
  const auto found = matrix_of(object);
  if (!found) return std::nullopt;
  const Points& points = found->points;
  const auto bytes = static_cast<std::int64_t>(found->array.itemsize());
  const auto address = reinterpret_cast<std::uintptr_t>(points.values);
  const bool ascends = points.row_stride > 0 || points.rows <= 1;
  if (!ascends || address % static_cast<std::uintptr_t>(bytes) != 0) return std::nullopt;
  const std::shared_ptr<const void> owner = owner_of(object);
  std::vector<Column> columns;
  for (std::size_t c = 0; c < names.size(); ++c) {
    ColumnData data;
    data.type = {points.type};
    data.length = points.rows;
    data.values = static_cast<const std::byte*>(points.values) + static_cast<std::int64_t>(c) * points.column_stride;
    data.stride = points.rows > 1 ? points.row_stride : bytes;
    data.owner = owner;
    columns.emplace_back(names[c], std::move(data));
  }
  return Table(std::move(columns));
}

/// Returns the Pareto rank of each row, or None where a query has to answer.
nb::object small_ranks(nb::handle object) {
  const auto found = small_points(object);
  if (!found) return nb::none();
  return to_array(pareto_ranks(found->points));
}

template <class T>
Column chosen_values(const Points& points, std::int64_t column, const std::vector<RowId>& rows) {
  std::vector<T> values(rows.size());
  const auto* const first = static_cast<const std::byte*>(points.values) + column * points.column_stride;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::memcpy(&values[i], first + rows[i] * points.row_stride, sizeof(T));
  }
  return Column::own("c" + std::to_string(column), std::move(values));
}

Column chosen_values(const Points& points, std::int64_t column, const std::vector<RowId>& rows) {
  switch (points.type) {
    case Type::float32: return chosen_values<float>(points, column, rows);
    case Type::int32: return chosen_values<std::int32_t>(points, column, rows);
    case Type::int64: return chosen_values<std::int64_t>(points, column, rows);
    case Type::uint32: return chosen_values<std::uint32_t>(points, column, rows);
    case Type::uint64: return chosen_values<std::uint64_t>(points, column, rows);
    default: return chosen_values<double>(points, column, rows);
  }
}

/// Returns the rows that no other row dominates as the answer of a query, or nothing where a query has to answer.
std::optional<Result> small_skyline(nb::handle object) {
  const auto found = small_points(object);
  if (!found) return std::nullopt;
  const Points& points = found->points;
  Result result;
  result.rows = nondominated_rows(points);
  result.levels.assign(result.rows.size(), 1);
  std::vector<Column> columns{Column::own("row", result.rows)};
  for (std::int64_t c = 0; c < points.columns; ++c) columns.push_back(chosen_values(points, c, result.rows));
  result.table = Table(std::move(columns));
  result.plan.op = "skyline";
  result.plan.device = "cpu";
  result.plan.reason = "an array of few values is answered without a plan";
  result.plan.measured_rows = static_cast<std::int64_t>(result.rows.size());
  return result;
}

}  // namespace

/// Returns the matrix of a NumPy array with two dimensions; nothing for what has no view here, such as texts.
std::optional<Matrix> matrix_of(nb::handle object) {
  Matrix found;
  if (!nb::try_cast(object, found.array, false)) return std::nullopt;
  const Array& array = found.array;
  const std::optional<Type> type = type_of(array.dtype());
  if (!type || array.ndim() != 2) return std::nullopt;
  const auto bytes = static_cast<std::int64_t>(array.itemsize());
  found.points = {array.data(),
                  *type,
                  static_cast<std::int64_t>(array.shape(0)),
                  static_cast<std::int64_t>(array.shape(1)),
                  array.stride(0) * bytes,
                  array.stride(1) * bytes};
  return found;
}

void bind_arrays(nb::module_& module) {
  module.def("table_of_matrix", &table_of_matrix);
  module.def("small_ranks", &small_ranks);
  module.def("small_skyline", &small_skyline);
}

}  // namespace skyrank::python
