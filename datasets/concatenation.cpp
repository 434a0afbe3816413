#include "datasets/concatenation.hpp"

#include <arrow/chunked_array.h>
#include <arrow/compute/cast.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <skyrank/error.hpp>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>

#include "datasets/arrow/arrow_types.hpp"
#include "datasets/file_columns.hpp"
#include "engine/text.hpp"

namespace skyrank::datasets {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;
using ValuesPtr = std::shared_ptr<arrow::ChunkedArray>;
using TablePtr = std::shared_ptr<arrow::Table>;

bool is_date_or_timestamp(const arrow::DataType& type) {
  return type.id() == arrow::Type::DATE32 || type.id() == arrow::Type::TIMESTAMP;
}

/// Some columns of several files, on their way to one table.
class Concatenation {
 public:
  Concatenation(std::vector<InputFile> files, const ReadOptions& options, bool rows)
      : files_(std::move(files)),
        options_(options),
        rows_(rows),
        folders_(folders_of(files_, options)),
        meter_(options.progress) {
    for (const InputFile& file : files_) meter_.expect(file.data().size());
    const ColumnNames names = names_in(files_.front(), options, rows ? &meter_ : nullptr);
    for (std::size_t i = 1; i < files_.size(); ++i) refuse_other_names(names, i);
    refuse_stored_names(folders_, names, files_.front().name());
    refuse_unknown_types(options, with_folders(names, folders_), files_.front().name());
    columns_ = options.columns.value_or(with_folders(names, folders_).names);
    unsupported_ = names.unsupported;
    if (options.skip_unsupported) drop_unsupported();
    std::copy_if(columns_.begin(), columns_.end(), std::back_inserter(stored_columns_),
                 [&](const std::string& name) { return !folders_.find(name); });
    if (!files_.front().is_columnar()) refuse_many_columns(columns_.size(), files_.front().name(), options_);
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
  FileColumns read_stored(const InputFile& file) { return read_file(file, stored_columns_, options_, rows_, meter_); }

  void leave_out(UnsupportedColumn column, const InputFile& file) {
    if (options_.columns && !options_.skip_unsupported) refuse_type(file.name(), column);
    if (has_name(unsupported_, column.name)) return;
    if (files_.size() > 1) column.reason = file.name() + ": " + column.reason;
    unsupported_.push_back(std::move(column));
  }

  void drop_unsupported() {
    std::erase_if(columns_, [&](const std::string& name) { return has_name(unsupported_, name); });
  }

  /// Returns the requested columns of one file: those stored in it, and those of its folders `key=value`.
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

  void refuse_other_names(const ColumnNames& expected, std::size_t index) {
    const InputFile& file = files_[index];
    const std::vector<std::string> our_names = all_names(expected);
    const std::vector<std::string> their_names = all_names(names_in(file, options_, rows_ ? &meter_ : nullptr));
    const std::unordered_set<std::string_view> ours(our_names.begin(), our_names.end());
    const std::unordered_set<std::string_view> theirs(their_names.begin(), their_names.end());
    for (const std::string& name : our_names) {
      if (theirs.contains(name)) continue;
      throw DataError(file.name() + ": has no column '" + name + "', which " + files_.front().name() + " has");
    }
    for (const std::string& name : their_names) {
      if (ours.contains(name)) continue;
      throw DataError(file.name() + ": has a column '" + name + "', which " + files_.front().name() + " lacks");
    }
  }

  static std::vector<std::string> all_names(const ColumnNames& names) {
    std::vector<std::string> all = names.names;
    for (const UnsupportedColumn& column : names.unsupported) all.push_back(column.name);
    return all;
  }

  /// Reads a file whose size the meter expects. At the end all of it counts as done, also columns that are not read,
  /// and nothing more, also where columns were read twice.
  template <class Read>
  std::invoke_result_t<Read> metered(const InputFile& file, Read read) {
    const std::uint64_t begin = meter_.done();
    const std::uint64_t expected = meter_.total();
    auto columns = read_unchanged(file, read);
    meter_.set_done(begin + file.data().size() + meter_.total() - expected);
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
      check(table.status(), files_[i].name(), "column '" + name + "'");
      tables_[i] = *std::move(table);
    }
  }

  TypePtr shared_type(int column) const {
    TypePtr type = tables_.front()->column(column)->type();
    for (std::size_t i = 1; i < tables_.size(); ++i) {
      const TypePtr next = tables_[i]->column(column)->type();
      const TypePtr common = common_type(type, next);
      if (common == nullptr && all_spelled(column)) return arrow::utf8();
      if (common == nullptr) {
        throw DataError(files_[i].name() + ": column '" + columns_[static_cast<std::size_t>(column)] + "' is " +
                        next->ToString() + ", but " + type->ToString() + " in the files before");
      }
      type = common;
    }
    if (type->id() == arrow::Type::TIMESTAMP) return time_type(column, type);
    return type->id() == arrow::Type::UINT64 ? integer_type(column) : type;
  }

  /// The finest unit of times, from that of `finest` on, that holds those of all files exactly; text where there is
  /// none and all files hold texts. Where nothing holds them `finest` is returned, and converting to it tells the
  /// value.
  TypePtr time_type(int column, const TypePtr& finest) const {
    for (int unit = static_cast<const arrow::TimestampType&>(*finest).unit(); unit >= arrow::TimeUnit::SECOND; --unit) {
      const TypePtr type = arrow::timestamp(static_cast<arrow::TimeUnit::type>(unit));
      const bool holds_all = std::ranges::all_of(tables_, [&](const TablePtr& table) {
        const ValuesPtr values = table->column(column);
        return values->type()->Equals(type) || arrow::compute::Cast(values, type).ok();
      });
      if (holds_all) return type;
    }
    return all_spelled(column) ? arrow::utf8() : finest;
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
      throw DataError(files_[*negative].name() + ": column '" + columns_[static_cast<std::size_t>(column)] +
                      "' has negative numbers (" + type_in(*negative, column) + "), and " +
                      files_[*beyond_int64].name() + " has numbers beyond int64 (" + type_in(*beyond_int64, column) +
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
    throw DataError(files_[file].name() + ": column '" + columns_[static_cast<std::size_t>(column)] + "' holds " +
                    *lost + " as " + values->type()->ToString() + ", which " + type->ToString() + ", its type in " +
                    files_[other].name() + ", does not hold exactly; store the column in one type in all files");
  }

  /// Returns true if all files hold the column as it is spelled: as any field of CSV, or as texts of JSON.
  bool all_spelled(int column) const {
    const std::string& name = columns_[static_cast<std::size_t>(column)];
    return std::all_of(files_.begin(), files_.end(), [&](const InputFile& file) {
      return file.is_csv() || (file.is_json() && file.json_lines().find(name)->type->id() == arrow::Type::STRING);
    });
  }

  /// Text is read again, as its spelling says more than the narrower type that it got.
  ValuesPtr retyped(const InputFile& file, const std::string& column, const ValuesPtr& values, const TypePtr& type) {
    // Times mean the same in each unit, and in text they may have a zone, which the type does not tell.
    const bool are_times = is_date_or_timestamp(*values->type()) && is_date_or_timestamp(*type);
    const bool is_spelled = file.is_csv() || (file.is_json() && type->id() == arrow::Type::STRING);
    if (!is_spelled || are_times) return convert(values, type, file.name(), column);
    meter_.expect(file.data().size());
    const TablePtr table = metered(file, [&] {
      return file.is_csv() ? read_csv_file(file, {column}, options_, {{column, type}}, meter_)
                           : read_json_file(file, {column}, options_, {column}, meter_);
    });
    return rows_ ? table->column(0) : table->column(0)->Slice(0, 0);
  }

  TablePtr joined() {
    if (columns_.empty()) {
      std::int64_t rows = 0;
      for (const TablePtr& table : tables_) rows += table->num_rows();
      return arrow::Table::Make(arrow::schema({}), std::vector<ValuesPtr>{}, rows);
    }
    auto table = arrow::ConcatenateTables(std::exchange(tables_, {}));
    check(table.status(), files_.front().name(), "joining files");
    return *std::move(table);
  }

  std::vector<InputFile> files_;
  const ReadOptions& options_;
  bool rows_;
  FolderColumns folders_;
  std::vector<std::string> columns_;
  std::vector<std::string> stored_columns_;  // the columns that are read from files
  std::vector<UnsupportedColumn> unsupported_;
  std::vector<TablePtr> tables_;
  ReadMeter meter_;
};

}  // namespace

FolderColumns folders_of(const std::vector<InputFile>& files, const ReadOptions& options) {
  std::vector<std::vector<FolderValue>> values;
  std::vector<std::string> names;
  for (const InputFile& file : files) {
    values.push_back(file.folders());
    names.push_back(file.name());
  }
  return {values, names, options.types};
}

void refuse_unknown_types(const ReadOptions& options, const ColumnNames& names, const std::string& file) {
  if (options.types.empty()) return;
  const std::set<std::string_view> known(names.names.begin(), names.names.end());
  for (const auto& [column, type] : options.types) {
    if (known.contains(column) || has_name(names.unsupported, column)) continue;
    throw DataError(file + ": there is no column '" + column + "', for which 'types' says " + type.name +
                    query::did_you_mean(column, names.names));
  }
}

void refuse_other_types(const ReadOptions& options, const Table& table, const std::string& file) {
  for (const auto& [name, stated] : options.types) {
    const auto column = std::ranges::find(table.columns(), name, &Column::name);
    if (column == table.columns().end()) continue;
    const DataType& type = column->type();
    if (stated.any_unit ? type.type == Type::timestamp : type == stated.type) continue;
    throw DataError(file + ": column '" + name + "' is " + to_string(type) + " in the file, and not " + stated.name +
                    " as 'types' says; types are for text: leave this one out, or store the column so");
  }
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

FilesTogether concatenate(std::vector<InputFile> files, const ReadOptions& options, bool rows) {
  Concatenation files_together(std::move(files), options, rows);
  TablePtr table = files_together.table();
  return {std::move(table), files_together.unsupported()};
}

}  // namespace skyrank::datasets
