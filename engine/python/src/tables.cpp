#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/stl/tuple.h>

#include "engine/arrow_owned.hpp"
#include "engine/python/src/bind.hpp"

namespace skyrank::python {
namespace {

/// A table on its way out as a stream of one batch.
struct Exported {
  Table table;
  bool given = false;
  std::string error;
};

Exported& exported(ArrowArrayStream* stream) { return *static_cast<Exported*>(stream->private_data); }

/// Exports the table into one of the two structs, which no exception may leave.
int export_into(Exported& source, ArrowArray* array, ArrowSchema* schema) noexcept {
  Owned<ArrowArray> spare_array;
  Owned<ArrowSchema> spare_schema;
  try {
    export_arrow(source.table, array == nullptr ? &*spare_array : array, schema == nullptr ? &*spare_schema : schema);
    return 0;
  } catch (const std::exception& error) {
    source.error = error.what();
    return ENOMEM;
  }
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) { return export_into(exported(stream), nullptr, out); }

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  Exported& source = exported(stream);
  if (source.given) {
    *out = ArrowArray{};
    return 0;
  }
  source.given = true;
  return export_into(source, out, nullptr);
}

void release_stream(ArrowArrayStream* stream) {
  delete &exported(stream);
  stream->release = nullptr;
}

/// Releases what nobody took out of a capsule.
template <class Struct>
void release_unused(void* pointer) noexcept {
  const std::unique_ptr<Struct> content(static_cast<Struct*>(pointer));
  if (content->release != nullptr) content->release(content.get());
}

template <class Struct>
Struct* content_of(const nb::capsule& capsule, const char* name) {
  if (capsule.name() == nullptr || std::string(capsule.name()) != name) {
    throw nb::type_error(("the object's Arrow method gave a capsule that is no " + std::string(name)).c_str());
  }
  auto* const content = static_cast<Struct*>(capsule.data());
  if (content->release == nullptr) throw nb::value_error("the Arrow data was taken by another consumer before");
  return content;
}

Table table_of_stream(const nb::capsule& capsule, const std::string& name) {
  auto* const stream = content_of<ArrowArrayStream>(capsule, "arrow_array_stream");
  const nb::gil_scoped_release no_gil;  // the producer may run Python code in threads of its own
  return import_stream(stream, name);
}

Table table_of_batch(const nb::capsule& schema, const nb::capsule& array, const std::string& name) {
  return import_batch(content_of<ArrowArray>(array, "arrow_array"), content_of<ArrowSchema>(schema, "arrow_schema"),
                      name);
}

/// A column that is left out: its name, its type, and why.
using LeftOut = std::tuple<std::string, std::string, std::string>;

Table table_of_columns(const std::vector<Column>& columns, const std::vector<Table>& others,
                       const std::vector<LeftOut>& left_out) {
  std::vector<Column> all = columns;
  for (const Table& other : others) all.insert(all.end(), other.columns().begin(), other.columns().end());
  std::vector<UnsupportedColumn> unsupported;
  for (const auto& [name, type, reason] : left_out) unsupported.push_back({name, type, reason});
  return Table(std::move(all)).with_unsupported(std::move(unsupported));
}

/// Returns the table with the columns in the order of `names`, which name each once.
Table reordered(const Table& table, const std::vector<std::string>& names) {
  std::vector<Column> columns;
  for (const std::string& name : names) columns.push_back(table.column(name));
  return columns.empty() ? table : Table(std::move(columns));
}

nb::object schema_capsule(const Table& table) {
  auto schema = std::make_unique<ArrowSchema>();
  Owned<ArrowArray> array;
  export_arrow(table, &*array, schema.get());
  return nb::capsule(schema.release(), "arrow_schema", release_unused<ArrowSchema>);
}

std::vector<std::string> texts_of_warnings(const Table& table, const Query& query) {
  std::vector<std::string> texts;
  for (const Warning& warning : warnings_of(query, table)) texts.push_back(to_string(warning));
  return texts;
}

std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const Column& column : table.columns()) names.push_back(column.name());
  return names;
}

}  // namespace

nb::object stream_capsule(const Table& table) {
  auto stream = std::make_unique<ArrowArrayStream>();
  *stream = {get_schema, get_next, [](ArrowArrayStream* failed) { return exported(failed).error.c_str(); },
             release_stream, new Exported{table, false, {}}};
  return nb::capsule(stream.release(), "arrow_array_stream", release_unused<ArrowArrayStream>);
}

void bind_tables(nb::module_& module) {
  nb::class_<Table>(module, "Table")
      .def("__len__", &Table::num_rows)
      .def("names", &names_of)
      .def("column", [](const Table& t, int index) { return t.column(index); })
      .def("column", [](const Table& t, const std::string& name) { return t.column(name); })
      .def("reordered", &reordered)
      .def("unsupported",
           [](const Table& t) {
             nb::list columns;
             for (const auto& [name, type, reason] : t.unsupported())
               columns.append(nb::make_tuple(name, type, reason));
             return columns;
           })
      .def("warnings", &texts_of_warnings)
      .def("stream", &stream_capsule)
      .def("schema", &schema_capsule);
  module.def("table_of_columns", &table_of_columns, nb::arg(), nb::arg(), nb::arg() = std::vector<LeftOut>());
  module.def("table_of_stream", &table_of_stream);
  module.def("table_of_batch", &table_of_batch);
}

}  // namespace skyrank::python
