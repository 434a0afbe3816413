// Import of Arrow data as producers give them: streams of several batches, and layouts that the engine's own import
// does not take. Each column is imported by itself, as a struct of one field, so that columns of unknown types can be
// left out and others be converted; the columns share the ownership of their batch.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/arrow_checks.hpp"
#include "engine/arrow_owned.hpp"
#include "engine/placeholder_column.hpp"
#include "engine/python/src/bind.hpp"
#include "engine/query/utf8.hpp"

namespace skyrank::python {
namespace {

/// A batch that was taken over.
struct TakenBatch {
  Owned<ArrowArray> array;
  Owned<ArrowSchema> schema;
};

/// Rows [offset, offset + length) of a field, as its parent has them.
struct Field {
  std::shared_ptr<TakenBatch> batch;
  ArrowArray* array = nullptr;
  ArrowSchema* schema = nullptr;
  std::int64_t offset = 0;
  std::int64_t length = 0;
  std::string name;

  std::string_view format() const { return schema->format == nullptr ? "" : schema->format; }
};

bool readable(const ArrowSchema& schema) {
  const ArrowSchema& values = schema.dictionary == nullptr ? schema : *schema.dictionary;
  return values.format != nullptr && values.dictionary == nullptr && arrow_checks::is_column_format(values.format);
}

/// A struct of one field for the engine's import, and what it points to.
struct Wrapper {
  std::shared_ptr<TakenBatch> batch;
  ArrowArray child_array;
  ArrowSchema child_schema;
  ArrowArray* array = &child_array;
  ArrowSchema* schema = &child_schema;
  const void* no_validity = nullptr;
};

void release_array(ArrowArray* array) {
  delete static_cast<std::shared_ptr<Wrapper>*>(array->private_data);
  array->release = nullptr;
}

void release_schema(ArrowSchema* schema) {
  delete static_cast<std::shared_ptr<Wrapper>*>(schema->private_data);
  schema->release = nullptr;
}

/// Imports a field in one of the layouts that the engine takes.
Column import_plain(const Field& field) {
  const auto wrapper = std::make_shared<Wrapper>();
  wrapper->batch = field.batch;
  wrapper->child_array = *field.array;
  wrapper->child_schema = *field.schema;
  wrapper->child_schema.name = field.name.c_str();
  ArrowArray array{};
  array.length = field.length;
  array.offset = field.offset;
  array.n_buffers = array.n_children = 1;
  array.buffers = &wrapper->no_validity;
  array.children = &wrapper->array;
  array.release = release_array;
  array.private_data = new std::shared_ptr<Wrapper>(wrapper);
  ArrowSchema schema{};
  schema.format = "+s";
  schema.n_children = 1;
  schema.children = &wrapper->schema;
  schema.release = release_schema;
  schema.private_data = new std::shared_ptr<Wrapper>(wrapper);
  return import_arrow(&array, &schema).column(0);
}

[[noreturn]] void fail(const Field& field, const std::string& why) {
  arrow_checks::fail("column '" + field.name + "'", why);
}

/// Returns a column without rows in the type of a field.
Column empty_column(const std::string& name, const ArrowSchema& schema) {
  if (schema.dictionary != nullptr) return empty_column(name, *schema.dictionary);
  const std::string_view format = schema.format;
  const void* buffers[3] = {};
  ArrowArray array{};
  array.n_buffers = arrow_checks::buffers_of_format(format);
  array.buffers = buffers;
  array.release = [](ArrowArray* released) { released->release = nullptr; };
  ArrowSchema copy = schema;
  return import_plain({nullptr, &array, &copy, 0, 0, name});
}

/// Returns the entry of a dictionary of `entries` that a row names; -1 for NULL.
RowId entry_at(const Field& field, const Column& indices, std::int64_t row, std::int64_t entries) {
  if (indices.is_null(row)) return -1;
  const Value index = indices.value(row);
  const auto* const number = std::get_if<std::int64_t>(&index);  // one beyond 64 bits with a sign names no entry
  if (number != nullptr && *number >= 0 && *number < entries) return *number;
  fail(field, "has in row " + std::to_string(row) + " the index " + to_string(index) + " into a dictionary of " +
                  std::to_string(entries) + " entries");
}

/// Decodes a dictionary whose values the engine does not take as such.
Column import_decoded(const Field& field) {
  if (field.array->dictionary == nullptr) fail(field, "lacks the dictionary that its schema announces");
  const auto index_type = arrow_checks::type_of_format(field.format());
  if (!index_type || !is_integer(index_type->type)) {
    fail(field, "has dictionary indices of the format '" + std::string(field.format()) + "', not integers");
  }
  ArrowArray codes = *field.array;
  ArrowSchema codes_schema = *field.schema;
  codes.dictionary = nullptr;
  codes_schema.dictionary = nullptr;
  const Column indices = import_plain({field.batch, &codes, &codes_schema, field.offset, field.length, field.name});
  const Column values = import_plain(
      {field.batch, field.array->dictionary, field.schema->dictionary, 0, field.array->dictionary->length, field.name});
  std::vector<RowId> rows;
  auto valid = std::make_shared<std::vector<std::uint8_t>>(static_cast<std::size_t>(field.length + 7) / 8);
  for (std::int64_t row = 0; row < field.length; ++row) {
    const RowId at = entry_at(field, indices, row, values.size());
    rows.push_back(std::max<RowId>(at, 0));
    const bool present = at >= 0 && !values.is_null(at);
    if (present) (*valid)[static_cast<std::size_t>(row / 8)] |= static_cast<std::uint8_t>(1U << (row % 8));
  }
  const Column decoded =
      values.size() == 0 ? exec::placeholder_column(field.name, values.type(), field.length) : take(values, rows);
  struct Kept {
    std::shared_ptr<const void> values;
    std::shared_ptr<const void> valid;
  };
  ColumnData data = decoded.data();
  data.owner = std::make_shared<Kept>(Kept{data.owner, valid});
  data.validity = {valid->data(), 0};
  return Column(field.name, std::move(data));
}

Column import_field(const Field& field) {
  const bool decoded =
      field.schema->dictionary != nullptr && !arrow_checks::is_string_format(field.schema->dictionary->format);
  return decoded ? import_decoded(field) : import_plain(field);
}

/// Checks a schema that a producer gave. DataError where it does not describe the fields that it announces.
void check_schema(const ArrowSchema& schema) {
  if (schema.release == nullptr) arrow_checks::fail("schema", "is a null pointer or was released already");
  if (schema.format == nullptr) arrow_checks::fail("schema", "has no format");
  const bool described = schema.n_children == 0 || (schema.n_children > 0 && schema.children != nullptr);
  if (!described || std::any_of(schema.children, schema.children + schema.n_children, [](const ArrowSchema* field) {
        return field == nullptr || field->release == nullptr;
      })) {
    arrow_checks::fail("schema", "does not describe its " + std::to_string(schema.n_children) + " fields");
  }
  arrow_checks::check_levels(schema);
}

/// The fields of a schema: those of a struct, or the one array that the schema describes.
std::vector<ArrowSchema*> fields_of(ArrowSchema& schema) {
  if (std::string_view(schema.format) != "+s") return {&schema};
  return {schema.children, schema.children + schema.n_children};
}

std::string name_of(const ArrowSchema& schema, std::size_t index, const std::string& name) {
  if (!name.empty()) return name;
  const bool named = schema.name != nullptr && *schema.name != '\0';
  if (named && query::find_invalid_utf8(schema.name)) {
    arrow_checks::fail("column " + std::to_string(index), "has a name that is not UTF-8");
  }
  return named ? schema.name : "c" + std::to_string(index);
}

void check_struct(const ArrowArray& array, const ArrowSchema& schema) {
  arrow_checks::check_batch_structs(array, schema);
  if (array.null_count == 0 || array.buffers[0] == nullptr) return;
  const Validity validity{static_cast<const std::uint8_t*>(array.buffers[0]), array.offset};
  for (std::int64_t row = 0; row < array.length; ++row) {
    if (!validity(row)) throw DataError("an Arrow batch is NULL in row " + std::to_string(row) + "; a row cannot be");
  }
}

/// Imports the readable columns of a batch.
std::vector<Column> columns_of(const std::shared_ptr<TakenBatch>& batch, ArrowSchema& schema, const std::string& name) {
  ArrowArray& array = *batch->array;
  const std::vector<ArrowSchema*> fields = fields_of(schema);
  const bool single = fields.size() == 1 && fields[0] == &schema;
  if (single) {
    arrow_checks::check_extents(array, "array");
  } else {
    check_struct(array, schema);
  }
  std::vector<Column> columns;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!readable(*fields[i])) continue;
    ArrowArray* const child = single ? &array : array.children[i];
    arrow_checks::check_column_structs(child, fields[i], static_cast<std::int64_t>(i));
    columns.push_back(
        import_field({batch, child, fields[i], single ? 0 : array.offset, array.length, name_of(*fields[i], i, name)}));
  }
  return columns;
}

std::vector<UnsupportedColumn> unsupported_in(ArrowSchema& schema, const std::string& name) {
  std::vector<UnsupportedColumn> unsupported;
  const std::vector<ArrowSchema*> fields = fields_of(schema);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (readable(*fields[i])) continue;
    const std::string format = fields[i]->format == nullptr ? "" : fields[i]->format;
    unsupported.push_back({name_of(*fields[i], i, name), "the Arrow format '" + format + "'"});
  }
  return unsupported;
}

Table table_of(std::vector<Column> columns, std::int64_t rows, std::vector<UnsupportedColumn> unsupported) {
  Table table = columns.empty() ? Table::with_rows(rows) : Table(std::move(columns));
  return unsupported.empty() ? table : table.with_unsupported(std::move(unsupported));
}

void check(int code, ArrowArrayStream& stream) {
  if (code == 0) return;
  const char* const message = stream.get_last_error(&stream);
  throw DataError("the Arrow stream failed: " + std::string(message == nullptr ? "without a message" : message));
}

}  // namespace

Table import_batch(ArrowArray* array, ArrowSchema* schema, const std::string& name) {
  Owned<ArrowSchema> owned = Owned<ArrowSchema>::take(schema);
  const auto batch = std::make_shared<TakenBatch>();
  batch->array = Owned<ArrowArray>::take(array);
  check_schema(*owned);
  return table_of(columns_of(batch, *owned, name), batch->array->length, unsupported_in(*owned, name));
}

Table import_stream(ArrowArrayStream* given, const std::string& name) {
  Owned<ArrowArrayStream> stream = Owned<ArrowArrayStream>::take(given);
  Owned<ArrowSchema> schema;
  check(stream->get_schema(&*stream, &*schema), *stream);
  check_schema(*schema);
  std::vector<std::vector<Column>> pieces;  // by column
  for (const ArrowSchema* const field : fields_of(*schema)) {
    if (readable(*field)) pieces.emplace_back();
  }
  std::int64_t rows = 0;
  for (;;) {
    const auto batch = std::make_shared<TakenBatch>();
    check(stream->get_next(&*stream, &*batch->array), *stream);
    if (batch->array->release == nullptr) break;
    if (batch->array->length == 0) continue;
    std::vector<Column> columns = columns_of(batch, *schema, name);
    rows = arrow_checks::checked_extent(rows + batch->array->length, "stream", "the number of rows");
    for (std::size_t c = 0; c < columns.size(); ++c) pieces[c].push_back(std::move(columns[c]));
  }
  std::vector<Column> columns;
  const std::vector<ArrowSchema*> fields = fields_of(*schema);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!readable(*fields[i])) continue;
    const std::vector<Column>& parts = pieces[columns.size()];
    if (parts.empty()) {
      columns.push_back(empty_column(name_of(*fields[i], i, name), *fields[i]));
    } else {
      columns.push_back(parts.size() == 1 ? parts[0] : join_columns(parts));
    }
  }
  return table_of(std::move(columns), rows, unsupported_in(*schema, name));
}

}  // namespace skyrank::python
