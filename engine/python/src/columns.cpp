#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/column_traits.hpp"
#include "engine/python/src/bind.hpp"

namespace skyrank::python {
namespace {

template <class T>
const T* pointer(std::uintptr_t address) {
  return reinterpret_cast<const T*>(address);  // NOLINT(performance-no-int-to-ptr): NumPy gives integers
}

/// Views `rows` values at an address, `stride` bytes apart. `valid` is the address of a bitmap, or 0 where no row is
/// NULL. The column keeps `owner` alive.
Column column_of_memory(const std::string& name, const std::string& type, std::uintptr_t address, std::int64_t rows,
                        std::int64_t stride, std::uintptr_t valid, const nb::object& owner) {
  // A zone stands behind the unit of timestamps: timestamp[us, Europe/Oslo].
  const std::size_t comma = type.find(", ");
  ColumnData data;
  data.type = parse_type(comma == std::string::npos ? type : type.substr(0, comma) + "]");
  data.length = rows;
  data.values = pointer<void>(address);
  data.stride = stride;
  data.validity = {pointer<std::uint8_t>(valid), 0};
  data.owner = owner_of(owner);
  const Column column(name, std::move(data));
  if (comma == std::string::npos) return column;
  exec::ColumnTraits traits;
  traits.zone = type.substr(comma + 2, type.size() - comma - 3);
  return exec::with_traits(column, std::make_shared<const exec::ColumnTraits>(std::move(traits)));
}

/// Returns the text of a Python string; DataError for one without a form in UTF-8.
std::string utf8_of(nb::handle text, const std::string& column, std::size_t row) {
  Py_ssize_t size = 0;
  const char* const bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (bytes != nullptr) return {bytes, static_cast<std::size_t>(size)};
  if (PyErr_ExceptionMatches(PyExc_UnicodeError) == 0) throw nb::python_error();
  PyErr_Clear();
  throw DataError("column '" + column + "' has in row " + std::to_string(row) +
                  " a text that is no Unicode: it has half of a surrogate pair");
}

/// Copies texts; None is NULL.
Column column_of_texts(const std::string& name, const nb::sequence& values) {
  std::vector<std::string> texts;
  std::vector<bool> valid;
  bool nulls = false;
  for (nb::handle value : values) {
    nulls |= value.is_none();
    valid.push_back(!value.is_none());
    texts.push_back(value.is_none() ? std::string() : utf8_of(value, name, texts.size()));
  }
  return Column::own(name, texts, nulls ? valid : std::vector<bool>());
}

/// Returns where the values of a column lie and which type they have: (type, address, rows, stride, has NULLs), for
/// columns of fixed width. Values on a GPU are copied to the host.
nb::object memory_of(const Column& column) {
  const ColumnData& data = column.data();
  if (data.layout != Layout::plain || is_decimal(data.type.type)) return nb::none();
  if (data.length > 0) (void)column.value(0);
  return nb::make_tuple(to_string(data.type), reinterpret_cast<std::uintptr_t>(data.values), data.length, data.stride,
                        column.may_have_nulls());
}

/// Returns the text of a value as CSV files spell it, or None for NULL. Throws DataError for bytes that are no UTF-8.
nb::object text_at(const Column& column, std::int64_t row) {
  if (column.is_null(row)) return nb::none();
  const bool is_text = column.type().type == Type::string;
  const std::string text = is_text ? std::string(column.data().string_at(row)) : to_string(column.value(row));
  PyObject* const decoded = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr);
  if (decoded != nullptr) return nb::steal(decoded);
  if (PyErr_ExceptionMatches(PyExc_UnicodeError) == 0) throw nb::python_error();
  PyErr_Clear();
  throw DataError("column '" + column.name() + "' has in row " + std::to_string(row) + " bytes that are no UTF-8");
}

nb::list texts_of(const Column& column) {
  nb::list texts;
  for (std::int64_t row = 0; row < column.size(); ++row) texts.append(text_at(column, row));
  return texts;
}

nb::list valid_of(const Column& column) {
  nb::list valid;
  for (std::int64_t row = 0; row < column.size(); ++row) valid.append(!column.is_null(row));
  return valid;
}

}  // namespace

std::shared_ptr<const void> owner_of(nb::object object) {
  PyObject* const kept = object.release().ptr();
  return {kept, [](PyObject* released) {
            if (!nb::is_alive()) return;  // the interpreter is gone, and the memory with it
            const nb::gil_scoped_acquire gil;
            Py_DECREF(released);
          }};
}

void bind_columns(nb::module_& module) {
  nb::class_<Column>(module, "Column")
      .def_prop_ro("name", &Column::name)
      .def_prop_ro("type", [](const Column& c) { return to_string(c.type()); })
      .def_prop_ro("zone", [](const Column& c) { return exec::zone_of(c.data()); })
      .def_prop_ro("categories",
                   [](const Column& c) -> std::optional<std::vector<std::string>> {
                     const auto order = exec::order_of(c.data());
                     return order == nullptr ? std::nullopt : std::optional(order->texts());
                   })
      .def("__len__", &Column::size)
      .def("memory", &memory_of)
      .def("text_at", &text_at)
      .def("texts", &texts_of)
      .def("valid", &valid_of);
  module.def("column_of_memory", &column_of_memory);
  module.def("column_of_texts", &column_of_texts);
}

}  // namespace skyrank::python
