#include "datasets/reader.hpp"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <algorithm>
#include <iterator>
#include <skyrank/error.hpp>
#include <type_traits>
#include <utility>

#include "datasets/arrow/arrow_table.hpp"
#include "datasets/arrow/arrow_threads.hpp"
#include "datasets/arrow/arrow_types.hpp"
#include "datasets/columnar/columnar.hpp"
#include "datasets/columnar/ipc_source.hpp"
#include "datasets/columnar/parquet_source.hpp"
#include "datasets/csv/csv.hpp"
#include "datasets/files.hpp"
#include "datasets/folder_columns.hpp"
#include "datasets/folder_source.hpp"
#include "datasets/input/data_file.hpp"

namespace skyrank::datasets {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;
using ValuesPtr = std::shared_ptr<arrow::ChunkedArray>;
using TablePtr = std::shared_ptr<arrow::Table>;

enum class Rows { all, none };

struct InputFile {
  std::string name;
  Format format = Format::csv;
  std::shared_ptr<DataFile> data;
  std::vector<FolderValue> folders;

  bool is_text() const { return format == Format::csv || format == Format::tsv; }
  CsvText text(std::shared_ptr<arrow::Buffer> bytes) const {
    return {std::move(bytes), name, format == Format::tsv ? '\t' : ','};
  }
  ColumnarFile columnar(BytesRead on_read) const { return {data->reader(std::move(on_read)), data->size(), name}; }
};

/// The format of what no name tells, as `/dev/stdin`.
Format sniff_format(DataFile& file) {
  const std::string start = file.prefix(6)->ToString();
  if (start.starts_with("PAR1")) return Format::parquet;
  return start == "ARROW1" || start.starts_with("\xFF\xFF\xFF\xFF") ? Format::arrow : Format::csv;
}

InputFile open_file(const std::filesystem::path& file, const ReadOptions& options) {
  std::error_code error;
  const auto kind = std::filesystem::status(file, error).type();
  if (kind == std::filesystem::file_type::directory) throw DataError(file.string() + ": is a directory, not a file");
  // The extension first: a picture should be refused by its name, not by its first bytes.
  std::optional<Format> format = known_format(file);
  const bool has_own_name = kind == std::filesystem::file_type::regular && !file.string().starts_with("/dev/");
  if (!format && (has_own_name || error)) format = format_of(file);
  if (format == Format::jsonl) throw DataError(file.string() + ": JSON lines can be written but not read");
  auto data = std::make_shared<DataFile>(file, *options.pipes, options.stop);
  if (!format) format = sniff_format(*data);
  std::vector<FolderValue> folders;
  if (options.folder_root) folders = folder_values(file, *options.folder_root);
  return {file.string(), *format, std::move(data), std::move(folders)};
}

/// Runs `read`. Where the file changed meanwhile, this is the error to report: what was read, or what was wrong with
/// it, means nothing.
template <class Read>
auto read_unchanged(const InputFile& file, Read read) {
  try {
    auto result = read();
    file.data->check_unchanged();
    file.data->close();
    return result;
  } catch (const DataError&) {
    file.data->check_unchanged();
    throw;
  }
}

std::shared_ptr<arrow::Schema> stored_schema(const InputFile& file) {
  const ColumnarFile stored = file.columnar({});
  return file.format == Format::parquet ? parquet_schema(stored) : ipc_schema(stored);
}

std::vector<std::string> names_in_text(const InputFile& file, const ReadOptions& options) {
  constexpr std::int64_t kUsualHeader = std::int64_t{64} << 10;
  const auto names = csv_names_from_prefix(file.text(file.data->prefix(kUsualHeader)), options);
  return names ? *names : csv_names(file.text(file.data->content(1)), options);
}

/// Names of the stored columns.
ColumnNames names_in(const InputFile& file, const ReadOptions& options) {
  ColumnNames names;
  if (file.is_text()) {
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

int index_of(const arrow::Schema& schema, const std::string& column, const InputFile& file) {
  const std::vector<int> indices = schema.GetAllFieldIndices(column);
  if (indices.empty()) throw DataError(file.name + ": there is no column '" + column + "'");
  if (indices.size() > 1) throw DataError(file.name + ": the column name '" + column + "' comes twice");
  const TypePtr type = schema.field(indices.front())->type();
  if (normal_type(type) == nullptr) refuse_type(file.name, {.name = column, .type = type->ToString()});
  return indices.front();
}

ValuesPtr no_values(const TypePtr& type) { return std::make_shared<arrow::ChunkedArray>(arrow::ArrayVector{}, type); }

/// Columns of one file.
struct FileColumns {
  TablePtr table;
  std::vector<UnsupportedColumn> left_out;
};

UnsupportedColumn not_text(const std::string& column, const arrow::ChunkedArray& bytes) {
  const auto row = first_row_not_utf8(bytes);
  return {
      .name = column,
      .type = bytes.type()->ToString(),
      .reason = row ? "row " + std::to_string(*row) + " is not UTF-8 text" : "its dictionary is not all UTF-8 text"};
}

FileColumns read_columnar(const InputFile& file, const std::vector<std::string>& columns, const ReadOptions& options,
                          Rows rows, const BytesRead& on_read) {
  const auto schema = stored_schema(file);
  std::vector<int> indices;
  for (const std::string& column : columns) indices.push_back(index_of(*schema, column, file));
  TablePtr stored;
  if (rows == Rows::all) {
    const auto read = file.format == Format::parquet ? parquet_table : ipc_table;
    stored = read(file.columnar(on_read), indices, options.threads != 1);
  }
  FileColumns result;
  arrow::FieldVector fields;
  std::vector<ValuesPtr> values;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ValuesPtr read = stored == nullptr ? nullptr : stored->GetColumnByName(columns[i]);
    ValuesPtr normal = read == nullptr ? no_values(normal_type(schema->field(indices[i])->type()))
                                       : normalise(read, file.name, columns[i]);
    if (normal == nullptr) {
      result.left_out.push_back(not_text(columns[i], *read));
      continue;
    }
    fields.push_back(arrow::field(columns[i], normal->type()));
    values.push_back(std::move(normal));
  }
  result.table = arrow::Table::Make(arrow::schema(std::move(fields)), std::move(values),
                                    stored == nullptr ? 0 : stored->num_rows());
  return result;
}

TablePtr read_text(const InputFile& file, const std::vector<std::string>& columns, const ReadOptions& options,
                   Rows rows, const GivenTypes& given, ReadMeter& meter) {
  ReadOptions narrowed = options;
  narrowed.columns = columns;
  TablePtr table = csv_table(file.text(file.data->content(options.threads)), narrowed, given, meter);
  return rows == Rows::all ? table : table->Slice(0, 0);
}

FolderColumns folders_of(const std::vector<InputFile>& files) {
  std::vector<std::vector<FolderValue>> values;
  std::vector<std::string> names;
  for (const InputFile& file : files) {
    values.push_back(file.folders);
    names.push_back(file.name);
  }
  return {values, names};
}

bool has_name(const std::vector<UnsupportedColumn>& columns, const std::string& name) {
  return std::find_if(columns.begin(), columns.end(), [&](const auto& it) { return it.name == name; }) != columns.end();
}

void refuse_stored_names(const FolderColumns& folders, const ColumnNames& stored, const std::string& file) {
  for (const std::string& name : folders.names()) {
    const bool is_readable = std::find(stored.names.begin(), stored.names.end(), name) != stored.names.end();
    if (!is_readable && !has_name(stored.unsupported, name)) continue;
    throw DataError(file + ": stores a column '" + name + "', and its folder '" + name +
                    "=...' gives another; rename the folders or the column");
  }
}

ColumnNames with_folders(ColumnNames names, const FolderColumns& folders) {
  names.names.insert(names.names.end(), folders.names().begin(), folders.names().end());
  return names;
}

/// Some columns of several files, on their way to one table.
class Concatenation {
 public:
  Concatenation(std::vector<InputFile> files, const ReadOptions& options, Rows rows)
      : files_(std::move(files)),
        options_(options),
        rows_(rows),
        folders_(folders_of(files_)),
        meter_(options.progress) {
    for (const InputFile& file : files_) meter_.expect(file.data->size());
    const ColumnNames names = names_in(files_.front(), options);
    for (std::size_t i = 1; i < files_.size(); ++i) refuse_other_names(names, i);
    refuse_stored_names(folders_, names, files_.front().name);
    columns_ = options.columns.value_or(with_folders(names, folders_).names);
    unsupported_ = names.unsupported;
    if (options.skip_unsupported) drop_unsupported();
    std::copy_if(columns_.begin(), columns_.end(), std::back_inserter(stored_columns_),
                 [&](const std::string& name) { return !folders_.find(name); });
  }

  TablePtr table() {
    for (const InputFile& file : files_) {
      FileColumns read = metered(file, [&] { return read_stored(file); });
      for (const UnsupportedColumn& column : read.left_out) leave_out(column, file);
      tables_.push_back(std::move(read.table));
    }
    drop_unsupported();
    for (std::size_t i = 0; i < tables_.size(); ++i) tables_[i] = with_folder_columns(tables_[i], i);
    if (tables_.size() == 1) return tables_.front();
    for (std::size_t c = 0; c < columns_.size(); ++c) unify(static_cast<int>(c));
    return joined();
  }

  /// Columns of the files that the table lacks; complete once it was read.
  const std::vector<UnsupportedColumn>& unsupported() const { return unsupported_; }

 private:
  FileColumns read_stored(const InputFile& file) {
    if (!file.is_text()) return read_columnar(file, stored_columns_, options_, rows_, on_read());
    return {read_text(file, stored_columns_, options_, rows_, {}, meter_), {}};
  }

  void leave_out(UnsupportedColumn column, const InputFile& file) {
    if (options_.columns && !options_.skip_unsupported) refuse_type(file.name, column);
    if (has_name(unsupported_, column.name)) return;
    if (files_.size() > 1) column.reason = file.name + ": " + column.reason;
    unsupported_.push_back(std::move(column));
  }

  void drop_unsupported() {
    std::erase_if(columns_, [&](const std::string& name) { return has_name(unsupported_, name); });
  }

  /// The columns wanted of one file: those read, and those of its folders.
  TablePtr with_folder_columns(const TablePtr& stored, std::size_t file) const {
    arrow::FieldVector fields;
    std::vector<ValuesPtr> values;
    for (const std::string& name : columns_) {
      const auto folder = folders_.find(name);
      values.push_back(folder ? folders_.rows_of(*folder, file, stored->num_rows()) : stored->GetColumnByName(name));
      fields.push_back(arrow::field(name, values.back()->type()));
    }
    return arrow::Table::Make(arrow::schema(std::move(fields)), std::move(values), stored->num_rows());
  }

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

  BytesRead on_read() {
    if (!options_.progress) return {};
    return [this](std::uint64_t bytes) { meter_.add(bytes); };
  }

  /// Reads a file whose size the meter expects. At the end all of it counts as done, also columns that are not read,
  /// and nothing more, also where columns were read twice.
  template <class Read>
  std::invoke_result_t<Read> metered(const InputFile& file, Read read) {
    const std::uint64_t begin = meter_.done();
    const std::uint64_t expected = meter_.total();
    auto columns = read_unchanged(file, read);
    meter_.set_done(begin + file.data->size() + meter_.total() - expected);
    return columns;
  }

  /// Gives a column the same type in all files.
  void unify(int column) {
    const TypePtr type = shared_type(column);
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const ValuesPtr values = tables_[i]->column(column);
      if (values->type()->Equals(type)) continue;
      const std::string& name = columns_[static_cast<std::size_t>(column)];
      refuse_lost_digits(values, type, column, i);
      const ValuesPtr changed = retyped(files_[i], name, values, type);
      auto table = tables_[i]->SetColumn(column, arrow::field(name, changed->type()), changed);
      check(table.status(), files_[i].name, "column '" + name + "'");
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
    return type->id() == arrow::Type::UINT64 ? integer_type(column) : type;
  }

  /// The type of integers with and without a sign: their values decide.
  TypePtr integer_type(int column) const {
    std::optional<std::size_t> negative;
    std::optional<std::size_t> beyond_int64;
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      const IntegerRange range = integer_range(tables_[i]->column(column));
      if (range.has_negative && !negative) negative = i;
      if (range.beyond_int64 && !beyond_int64) beyond_int64 = i;
    }
    if (negative && beyond_int64) {
      throw DataError(files_[*negative].name + ": column '" + columns_[static_cast<std::size_t>(column)] +
                      "' has negative numbers (" + type_in(*negative, column) + "), and " + files_[*beyond_int64].name +
                      " has numbers beyond int64 (" + type_in(*beyond_int64, column) +
                      "); no integer type holds both: store the column as float64 or text in both");
    }
    return negative ? arrow::int64() : arrow::uint64();
  }

  std::string type_in(std::size_t file, int column) const { return tables_[file]->column(column)->type()->ToString(); }

  /// Integers become floats only where no digit is lost.
  void refuse_lost_digits(const ValuesPtr& values, const TypePtr& type, int column, std::size_t file) const {
    const auto lost = first_inexact(*values, *type);
    if (!lost) return;
    std::size_t other = 0;
    while (other + 1 < tables_.size() && !arrow::is_floating(tables_[other]->column(column)->type()->id())) ++other;
    throw DataError(files_[file].name + ": column '" + columns_[static_cast<std::size_t>(column)] + "' holds " + *lost +
                    " as " + values->type()->ToString() + ", which " + type->ToString() + ", its type in " +
                    files_[other].name + ", does not hold exactly; store the column in one type in all files");
  }

  bool all_text() const {
    return std::all_of(files_.begin(), files_.end(), [](const InputFile& file) { return file.is_text(); });
  }

  /// Text is read again, as its spelling says more than the narrower type that it got.
  ValuesPtr retyped(const InputFile& file, const std::string& column, const ValuesPtr& values, const TypePtr& type) {
    if (!file.is_text()) return convert(values, type, file.name, column);
    meter_.expect(file.data->size());
    const TablePtr table = metered(file, [&] {
      return read_text(file, {column}, options_, rows_, {{column, type}}, meter_);
    });
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
  FolderColumns folders_;
  std::vector<std::string> columns_;
  std::vector<std::string> stored_columns_;  // the columns that are read from files
  std::vector<UnsupportedColumn> unsupported_;
  std::vector<TablePtr> tables_;
  ReadMeter meter_;
};

ReadOptions with_pipes(ReadOptions options) {
  if (options.pipes == nullptr) options.pipes = make_pipe_cache();
  return options;
}

Table read_files(const std::vector<std::filesystem::path>& paths, ReadOptions options, Rows rows) {
  if (paths.empty()) throw DataError("a table needs at least one file");
  options.threads = prepare_arrow_threads(options.threads);
  std::vector<InputFile> files;
  options = with_pipes(std::move(options));
  for (const std::filesystem::path& path : paths) {
    files.push_back(open_file(path, options));
    files.back().data->close();
  }
  Concatenation files_together(std::move(files), options, rows);
  TablePtr table = files_together.table();
  return to_skyrank(std::move(table), paths.front().string()).with_unsupported(files_together.unsupported());
}

}  // namespace

std::shared_ptr<PipeCache> make_pipe_cache() { return std::make_shared<PipeCache>(); }

ColumnNames column_names(const std::vector<std::filesystem::path>& files, const ReadOptions& options) {
  if (files.empty()) throw DataError("a table needs at least one file");
  const ReadOptions with_cache = with_pipes(options);
  const InputFile first = open_file(files.front(), with_cache);
  const ColumnNames names = names_in(first, with_cache);
  const FolderColumns folders({first.folders}, {first.name});
  refuse_stored_names(folders, names, first.name);
  return with_folders(names, folders);
}

Table read(const std::vector<std::filesystem::path>& files, const ReadOptions& options) {
  return read_files(files, options, Rows::all);
}

Table read_schema(const std::vector<std::filesystem::path>& files, const ReadOptions& options) {
  return read_files(files, options, Rows::none);
}

std::shared_ptr<const Source> open_source(const std::vector<std::filesystem::path>& paths, const ReadOptions& options) {
  ReadOptions prepared = with_pipes(options);
  prepared.threads = prepare_arrow_threads(options.threads);
  std::vector<InputFile> files;
  std::vector<TableFile> stored;
  for (const std::filesystem::path& path : paths) {
    files.push_back(open_file(path, prepared));
    InputFile& file = files.back();
    if (file.is_text() || file.format != files.front().format) return nullptr;
    if (paths.size() > 1) file.data->close();
    stored.push_back({file.name, file.data});
  }
  if (files.empty()) return nullptr;
  FolderColumns folders = folders_of(files);
  if (options.columns) {
    std::erase_if(*prepared.columns, [&](const std::string& name) { return folders.find(name).has_value(); });
  }
  const bool is_parquet = files.front().format == Format::parquet;
  auto source = is_parquet ? parquet_source(std::move(stored), prepared) : ipc_source(std::move(stored), prepared);
  if (source == nullptr || folders.names().empty()) return source;
  return folder_source(std::move(source), std::move(folders), options.columns);
}

Table read_csv(std::string_view text, const std::string& name, const ReadOptions& options) {
  const CsvText csv{std::make_shared<arrow::Buffer>(reinterpret_cast<const std::uint8_t*>(text.data()),
                                                    static_cast<std::int64_t>(text.size())),
                    name, ','};
  ReadMeter unheard({});
  return to_skyrank(csv_table(csv, options, {}, unheard), name);
}

}  // namespace skyrank::datasets
