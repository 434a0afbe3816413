#include "datasets/reader.hpp"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <algorithm>
#include <skyrank/error.hpp>
#include <utility>

#include "datasets/arrow_table.hpp"
#include "datasets/arrow_threads.hpp"
#include "datasets/arrow_types.hpp"
#include "datasets/columnar.hpp"
#include "datasets/csv.hpp"
#include "datasets/files.hpp"

namespace skyrank::datasets {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;
using ValuesPtr = std::shared_ptr<arrow::ChunkedArray>;
using TablePtr = std::shared_ptr<arrow::Table>;

enum class Rows { all, none };

struct InputFile {
  std::string name;
  Format format = Format::csv;
  std::shared_ptr<arrow::Buffer> bytes;

  bool is_text() const { return format == Format::csv || format == Format::tsv; }
  CsvText text() const { return {bytes, name, format == Format::tsv ? '\t' : ','}; }
  ColumnarFile columnar() const { return {bytes, name}; }
};

InputFile open_file(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) throw DataError(file.string() + ": is a directory, not a file");
  // The extension first: a picture should be refused by its name, not by its first bytes.
  const Format format = format_of(file);
  if (format == Format::jsonl) throw DataError(file.string() + ": JSON lines can be written but not read");
  return {file.string(), format, map_file(file)};
}

std::shared_ptr<arrow::Schema> stored_schema(const InputFile& file) {
  return file.format == Format::parquet ? parquet_schema(file.columnar()) : ipc_schema(file.columnar());
}

ColumnNames names_in(const InputFile& file, const ReadOptions& options) {
  ColumnNames names;
  if (file.is_text()) {
    names.names = csv_names(file.text(), options);
    return names;
  }
  const auto schema = stored_schema(file);
  for (const auto& field : schema->fields()) {
    if (normal_type(field->type()) != nullptr) {
      names.names.push_back(field->name());
    } else {
      names.unsupported.push_back({field->name(), field->type()->ToString()});
    }
  }
  return names;
}

int index_of(const arrow::Schema& schema, const std::string& column, const InputFile& file) {
  const std::vector<int> indices = schema.GetAllFieldIndices(column);
  if (indices.empty()) throw DataError(file.name + ": there is no column '" + column + "'");
  if (indices.size() > 1) throw DataError(file.name + ": the column name '" + column + "' comes twice");
  const TypePtr type = schema.field(indices.front())->type();
  if (normal_type(type) == nullptr) refuse_type(file.name, column, type->ToString());
  return indices.front();
}

ValuesPtr no_values(const TypePtr& type) { return std::make_shared<arrow::ChunkedArray>(arrow::ArrayVector{}, type); }

TablePtr read_columnar(const InputFile& file, const std::vector<std::string>& columns, const ReadOptions& options,
                       Rows rows, const BytesRead& on_read) {
  const auto schema = stored_schema(file);
  std::vector<int> indices;
  for (const std::string& column : columns) indices.push_back(index_of(*schema, column, file));
  TablePtr stored;
  if (rows == Rows::all) {
    const auto read = file.format == Format::parquet ? parquet_table : ipc_table;
    stored = read(file.columnar(), indices, options.threads != 1, on_read);
  }
  arrow::FieldVector fields;
  std::vector<ValuesPtr> values;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    values.push_back(stored == nullptr ? no_values(normal_type(schema->field(indices[i])->type()))
                                       : normalise(stored->GetColumnByName(columns[i]), file.name, columns[i]));
    fields.push_back(arrow::field(columns[i], values.back()->type()));
  }
  return arrow::Table::Make(arrow::schema(std::move(fields)), std::move(values),
                            stored == nullptr ? 0 : stored->num_rows());
}

TablePtr read_text(const InputFile& file, const std::vector<std::string>& columns, const ReadOptions& options,
                   Rows rows, const GivenTypes& given, const BytesRead& on_read) {
  ReadOptions narrowed = options;
  narrowed.columns = columns;
  TablePtr table = csv_table(file.text(), narrowed, given, on_read);
  return rows == Rows::all ? table : table->Slice(0, 0);
}

/// Some columns of several files, on their way to one table.
class Concatenation {
 public:
  Concatenation(std::vector<InputFile> files, const ReadOptions& options, Rows rows)
      : files_(std::move(files)), options_(options), rows_(rows) {
    for (const InputFile& file : files_) bytes_total_ += static_cast<std::uint64_t>(file.bytes->size());
    const ColumnNames names = names_in(files_.front(), options);
    for (std::size_t i = 1; i < files_.size(); ++i) refuse_other_names(names, i);
    columns_ = options.columns.value_or(names.names);
  }

  TablePtr table() {
    std::uint64_t bytes_before = 0;
    for (const InputFile& file : files_) {
      tables_.push_back(file.is_text() ? read_text(file, columns_, options_, rows_, {}, progress())
                                       : read_columnar(file, columns_, options_, rows_, progress()));
      bytes_before += static_cast<std::uint64_t>(file.bytes->size());
      // Columns that are not read, and columns that are read twice.
      bytes_done_ = bytes_before;
      report();
    }
    if (tables_.size() == 1) return tables_.front();
    for (std::size_t c = 0; c < columns_.size(); ++c) unify(static_cast<int>(c));
    return joined();
  }

 private:
  void refuse_other_names(const ColumnNames& expected, std::size_t index) const {
    const InputFile& file = files_[index];
    const std::vector<std::string> ours = all_names(expected);
    const std::vector<std::string> theirs = all_names(names_in(file, options_));
    for (const std::string& name : ours) {
      if (std::find(theirs.begin(), theirs.end(), name) != theirs.end()) continue;
      throw DataError(file.name + ": has no column '" + name + "', which " + files_.front().name + " has");
    }
    for (const std::string& name : theirs) {
      if (std::find(ours.begin(), ours.end(), name) != ours.end()) continue;
      throw DataError(file.name + ": has a column '" + name + "', which " + files_.front().name + " lacks");
    }
  }

  static std::vector<std::string> all_names(const ColumnNames& names) {
    std::vector<std::string> all = names.names;
    for (const UnsupportedColumn& column : names.unsupported) all.push_back(column.name);
    return all;
  }

  BytesRead progress() {
    if (!options_.progress) return {};
    return [this](std::uint64_t bytes) {
      bytes_done_ += bytes;
      report();
    };
  }

  void report() {
    if (options_.progress) options_.progress(std::min(bytes_done_, bytes_total_), bytes_total_);
  }

  /// Gives a column the same type in all files.
  void unify(int column) {
    const TypePtr type = shared_type(column);
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const ValuesPtr values = tables_[i]->column(column);
      if (values->type()->Equals(type)) continue;
      const ValuesPtr changed = retyped(files_[i], columns_[static_cast<std::size_t>(column)], values, type);
      auto table =
          tables_[i]->SetColumn(column, arrow::field(columns_[static_cast<std::size_t>(column)], type), changed);
      check(table.status(), files_[i].name, "column '" + columns_[static_cast<std::size_t>(column)] + "'");
      tables_[i] = *std::move(table);
    }
  }

  TypePtr shared_type(int column) const {
    TypePtr type = tables_.front()->column(column)->type();
    for (std::size_t i = 1; i < tables_.size(); ++i) {
      const TypePtr next = tables_[i]->column(column)->type();
      const TypePtr common = common_type(type, next);
      if (common == nullptr && all_text()) return arrow::utf8();
      if (common == nullptr) {
        throw DataError(files_[i].name + ": column '" + columns_[static_cast<std::size_t>(column)] + "' is " +
                        next->ToString() + ", but " + type->ToString() + " in the files before");
      }
      type = common;
    }
    return type;
  }

  bool all_text() const {
    return std::all_of(files_.begin(), files_.end(), [](const InputFile& file) { return file.is_text(); });
  }

  /// Text is read again, as its spelling says more than the narrower type that it got.
  ValuesPtr retyped(const InputFile& file, const std::string& column, const ValuesPtr& values,
                    const TypePtr& type) const {
    if (!file.is_text()) return convert(values, type, file.name, column);
    const TablePtr table = read_text(file, {column}, options_, rows_, {{column, type}}, {});
    return table->column(0);
  }

  TablePtr joined() {
    if (columns_.empty()) {
      std::int64_t rows = 0;
      for (const TablePtr& table : tables_) rows += table->num_rows();
      return arrow::Table::Make(arrow::schema({}), std::vector<ValuesPtr>{}, rows);
    }
    auto table = arrow::ConcatenateTables(std::exchange(tables_, {}));
    check(table.status(), files_.front().name, "joining files");
    return *std::move(table);
  }

  std::vector<InputFile> files_;
  const ReadOptions& options_;
  Rows rows_;
  std::vector<std::string> columns_;
  std::vector<TablePtr> tables_;
  std::uint64_t bytes_total_ = 0;
  std::uint64_t bytes_done_ = 0;
};

Table read_files(const std::vector<std::filesystem::path>& paths, ReadOptions options, Rows rows) {
  if (paths.empty()) throw DataError("a table needs at least one file");
  options.threads = prepare_arrow_threads(options.threads);
  std::vector<InputFile> files;
  for (const std::filesystem::path& path : paths) files.push_back(open_file(path));
  TablePtr table = Concatenation(std::move(files), options, rows).table();
  return to_skyrank(std::move(table), paths.front().string());
}

}  // namespace

ColumnNames column_names(const std::vector<std::filesystem::path>& files, const ReadOptions& options) {
  if (files.empty()) throw DataError("a table needs at least one file");
  return names_in(open_file(files.front()), options);
}

Table read(const std::vector<std::filesystem::path>& files, const ReadOptions& options) {
  return read_files(files, options, Rows::all);
}

Table read_schema(const std::vector<std::filesystem::path>& files, const ReadOptions& options) {
  return read_files(files, options, Rows::none);
}

Table read_csv(std::string_view text, const std::string& name, const ReadOptions& options) {
  const CsvText csv{std::make_shared<arrow::Buffer>(reinterpret_cast<const std::uint8_t*>(text.data()),
                                                    static_cast<std::int64_t>(text.size())),
                    name, ','};
  return to_skyrank(csv_table(csv, options, {}, {}), name);
}

}  // namespace skyrank::datasets
