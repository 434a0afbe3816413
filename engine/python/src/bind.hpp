#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/skyrank.hpp>

// The parts of the extension module `skyrank._core`. The package around it (engine/python/skyrank) turns what users
// give into these few types, and has the documentation; nothing here is public.
namespace skyrank::python {

namespace nb = nanobind;

/// Name of the capsules that carry a `std::shared_ptr<const Source>*` from `skyrank._files` to `skyrank._core`.
inline constexpr const char* kSourceCapsule = "skyrank.source";

/// Name of the capsules that carry a `TableSpec*` from `skyrank._core` to `skyrank._files`.
inline constexpr const char* kTableSpecCapsule = "skyrank.table_spec";

/// Name of the capsules that carry the address of `exec::current_stop` from `skyrank._core` to `skyrank._files`.
inline constexpr const char* kStopsCapsule = "skyrank.stops";

/// Makes SkyRank's exceptions those of the Python module `skyrank._errors`.
void bind_errors();
/// Adds Expression, Preference and Query.
void bind_queries(nb::module_& module);
/// Adds Column and the functions that make columns of memory and of Python objects.
void bind_columns(nb::module_& module);
/// Adds Table, and the import and export of Arrow data.
void bind_tables(nb::module_& module);
/// Adds the import of tensors and Arrow data on a GPU.
void bind_device_input(nb::module_& module);
/// Adds Result.
void bind_results(nb::module_& module);
/// Adds Engine, Partial and Source.
void bind_engine(nb::module_& module);

/// Adds StandingQuery.
void bind_standing(nb::module_& module);

/// Adds Archive.
void bind_archive(nb::module_& module);

/// Adds functions over arrays of rows and columns.
void bind_arrays(nb::module_& module);

/// Adds selection along an axis of arrays.
void bind_select(nb::module_& module);

/// Adds indicators of fronts.
void bind_indicators(nb::module_& module);

/// Adds the readers of files and of partial answers.
void bind_files(nb::module_& module);

/// Adds the command-line tool.
void bind_tool(nb::module_& module);

/// Returns an owner of a Python object, for columns over its memory. Any thread may let go of it.
std::shared_ptr<const void> owner_of(nb::object object);

/// Returns the value that `skyrank._values.plain` made: None, bool, int, float, str, or one of the tuples ("date",
/// days),
/// ("timestamp", ticks, unit) and ("decimal", text). Throws QueryError for an integer beyond 64 bits.
Value to_value(nb::handle object);
/// Returns a value in the spelling of Python.
std::string to_python_text(const Value& value);

/// Returns a time limit in whole milliseconds, at least one. Throws QueryError for 0 seconds or less, and for 10^9 or
/// more.
std::chrono::milliseconds to_time_limit(double seconds);

/// Returns the type that a text such as "int32" or "timestamp[us]" names; ValueError for others.
DataType parse_type(const std::string& text);

/// Takes over all record batches of a stream as one table. One batch is viewed in place; several are joined in memory
/// of their own. A stream of plain arrays is a table of one column, which is called `name`. Columns of types that
/// SkyRank lacks become the table's `unsupported()`. Throws DataError.
Table import_stream(struct ArrowArrayStream* stream, const std::string& name);
/// Takes over one record batch, or an array that is a column called `name`, as `import_stream` does.
Table import_batch(ArrowArray* array, ArrowSchema* schema, const std::string& name);
/// Returns the rows of the pieces one after the other. There are two or more, of one name and type.
Column join_columns(const std::vector<Column>& pieces);

/// Returns a capsule with a table's columns as an Arrow stream.
nb::object stream_capsule(const Table& table);

}  // namespace skyrank::python
