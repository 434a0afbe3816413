#include "datasets/file_columns.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <algorithm>
#include <skyrank/error.hpp>
#include <utility>

#include "datasets/arrow/arrow_types.hpp"
#include "datasets/columnar/formats.hpp"
#include "datasets/csv/plain_csv.hpp"
#include "datasets/input/uri.hpp"
#include "datasets/text/text_source.hpp"

namespace skyrank::datasets {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;
using ValuesPtr = std::shared_ptr<arrow::ChunkedArray>;
using TablePtr = std::shared_ptr<arrow::Table>;

std::shared_ptr<arrow::Schema> stored_schema(const InputFile& file) {
  return columnar_format(file.format())->schema(file.columnar({}));
}

std::vector<std::string> names_in_text(const InputFile& file, const ReadOptions& options) {
  const auto header = csv_header_of(file, options);
  return header ? header->names : csv_names(file.csv(file.text(1)), options);
}

ColumnNames names_in_json(const InputFile& file, const ReadOptions& options, ReadMeter* meter) {
  ColumnNames names;
  if (meter != nullptr) file.refuse_too_large();
  for (const JsonColumn& column : file.json_lines(options, meter).columns) {
    if (column.type != nullptr || options.types.contains(column.name)) {
      names.names.push_back(column.name);
    } else if (!column.has_members) {
      names.unsupported.push_back(column.as_unsupported(options.flatten));
    }
  }
  return names;
}

int index_of(const arrow::Schema& schema, const std::string& column, const InputFile& file) {
  const std::vector<int> indices = schema.GetAllFieldIndices(column);
  if (indices.empty()) throw DataError(file.name() + ": there is no column '" + column + "'");
  if (indices.size() > 1) throw DataError(file.name() + ": the column name '" + column + "' comes twice");
  const TypePtr type = schema.field(indices.front())->type();
  if (normal_type(type) == nullptr) refuse_type(file.name(), {.name = column, .type = type->ToString()});
  return indices.front();
}

ValuesPtr no_values(const TypePtr& type) { return std::make_shared<arrow::ChunkedArray>(arrow::ArrayVector{}, type); }

FileColumns read_columnar(const InputFile& file, const std::vector<std::string>& columns, const ReadOptions& options,
                          bool rows, BytesRead on_read) {
  const auto schema = stored_schema(file);
  std::vector<int> indices;
  for (const std::string& column : columns) indices.push_back(index_of(*schema, column, file));
  TablePtr stored;
  if (rows) {
    const ColumnarFormat* const format = columnar_format(file.format());
    stored = format->table(file.columnar(std::move(on_read)), indices, options.threads != 1);
  }
  FileColumns result;
  arrow::FieldVector fields;
  std::vector<ValuesPtr> values;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ValuesPtr read = stored == nullptr ? nullptr : stored->GetColumnByName(columns[i]);
    ValuesPtr normal = read == nullptr ? no_values(normal_type(schema->field(indices[i])->type()))
                                       : normalise(read, file.name(), columns[i]);
    if (normal == nullptr) {
      result.left_out.push_back(
          {.name = columns[i], .type = read->type()->ToString(), .reason = reason_against_text(*read).value_or("")});
      continue;
    }
    fields.push_back(arrow::field(columns[i], normal->type()));
    values.push_back(std::move(normal));
  }
  result.table = arrow::Table::Make(arrow::schema(std::move(fields)), std::move(values),
                                    stored == nullptr ? 0 : stored->num_rows());
  return result;
}

}  // namespace

bool has_name(const std::vector<UnsupportedColumn>& columns, const std::string& name) {
  return std::find_if(columns.begin(), columns.end(), [&](const auto& it) { return it.name == name; }) != columns.end();
}

ColumnNames names_in(const InputFile& file, const ReadOptions& options, ReadMeter* meter) {
  ColumnNames names;
  if (file.is_json()) return read_unchanged(file, [&] { return names_in_json(file, options, meter); });
  if (file.is_csv()) {
    names.names = read_unchanged(file, [&] { return names_in_text(file, options); });
    return names;
  }
  const auto schema = read_unchanged(file, [&] { return stored_schema(file); });
  for (const auto& field : schema->fields()) {
    if (normal_type(field->type()) != nullptr) {
      names.names.push_back(field->name());
    } else {
      names.unsupported.push_back({.name = field->name(), .type = field->type()->ToString()});
    }
  }
  return names;
}

TablePtr read_csv_file(const InputFile& file, const std::vector<std::string>& columns, const ReadOptions& options,
                       const GivenTypes& given, ReadMeter& meter) {
  ReadOptions narrowed = options;
  narrowed.columns = columns;
  // The meter counts bytes of the file, which are others than those of a text that was compressed.
  ReadMeter unheard({});
  ReadMeter& heard = file.is_stored_otherwise() ? unheard : meter;
  // Bytes of another machine are read once, and compressed ones decompressed once.
  file.refuse_too_large();
  const bool in_blocks = !file.is_stored_otherwise() && !is_remote(file.name());
  const auto text = in_blocks ? nullptr : file.text(options.threads);
  if (given.empty()) {
    const CsvFile blocks = file.csv_file(in_blocks ? file.data().reader({}) : open_buffer(text, {}));
    if (auto table = plain_csv_table(blocks, narrowed, heard)) return table;
  }
  return csv_table(file.csv(in_blocks ? file.text(options.threads) : text), narrowed, given, heard);
}

TablePtr read_json_file(const InputFile& file, const std::vector<std::string>& columns, const ReadOptions& options,
                        const std::set<std::string>& texts, ReadMeter& meter) {
  file.refuse_too_large();
  const JsonText text = file.json(options.threads, &meter);
  const JsonLines& lines = file.json_lines(options, nullptr);
  JsonReading reading{.texts = texts, .types = options.types, .values = file.take_json_values()};
  return json_table(text, lines, columns, std::move(reading));
}

FileColumns read_file(const InputFile& file, const std::vector<std::string>& columns, const ReadOptions& options,
                      bool rows, ReadMeter& meter) {
  if (file.is_columnar()) {
    BytesRead on_read;
    if (options.progress) on_read = [&meter](std::uint64_t bytes) { meter.add(bytes); };
    return read_columnar(file, columns, options, rows, std::move(on_read));
  }
  TablePtr table = file.is_csv() ? read_csv_file(file, columns, options, {}, meter)
                                 : read_json_file(file, columns, options, {}, meter);
  return {rows ? std::move(table) : table->Slice(0, 0), {}};
}

}  // namespace skyrank::datasets
