#include "datasets/folder_source.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <algorithm>
#include <utility>

#include "datasets/arrow/arrow_table.hpp"
#include "engine/placeholder_column.hpp"

namespace skyrank::datasets {
namespace {

/// The place of a column of the table: in the files, or among the folders.
struct Place {
  bool is_folder = false;
  int index = 0;
};

class FolderSource final : public Source {
 public:
  FolderSource(std::shared_ptr<const FilesSource> files, FolderColumns folders, const std::vector<std::string>& names)
      : files_(std::move(files)), folders_(std::move(folders)) {
    const Table& stored = files_->schema();
    std::vector<Column> columns;
    for (const std::string& name : names) {
      const auto folder = folders_.find(name);
      // Columns of types that SkyRank lacks are left out.
      if (!folder && !stored.find(name)) continue;
      places_.push_back({folder.has_value(), folder ? static_cast<int>(*folder) : *stored.find(name)});
      columns.push_back(folder ? take(in_files(*folder), {}) : stored.column(name));
    }
    schema_ = columns.empty() ? Table::with_rows(0) : Table(std::move(columns));
    schema_ = schema_.with_unsupported(stored.unsupported());
  }

  const Table& schema() const override { return schema_; }
  const std::vector<SourceUnit>& units() const override { return files_->units(); }
  std::uint64_t bytes() const override { return files_->bytes(); }

  std::optional<UnitStatistics> statistics(int column) const override {
    const Place place = places_[static_cast<std::size_t>(column)];
    if (!place.is_folder) return files_->statistics(place.index);
    std::vector<RowId> file_of_unit;
    for (std::size_t unit = 0; unit < units().size(); ++unit) {
      file_of_unit.push_back(static_cast<RowId>(files_->file_of(unit)));
    }
    const Column values = take(in_files(static_cast<std::size_t>(place.index)), file_of_unit);
    std::vector<std::optional<std::int64_t>> nulls;
    for (std::size_t unit = 0; unit < units().size(); ++unit) {
      nulls.emplace_back(values.is_null(static_cast<std::int64_t>(unit)) ? units()[unit].rows : 0);
    }
    return UnitStatistics{values, values, std::move(nulls)};
  }

  std::optional<ZoneStatistics> zones(std::size_t unit, int column) const override {
    const Place place = places_[static_cast<std::size_t>(column)];
    if (!place.is_folder) return files_->zones(unit, place.index);
    const std::int64_t rows = units()[unit].rows;
    const Column value = take(in_files(static_cast<std::size_t>(place.index)),
                              std::vector<RowId>{static_cast<RowId>(files_->file_of(unit))});
    return ZoneStatistics{{rows}, {value, value, {value.is_null(0) ? rows : 0}}};
  }

  std::optional<ReadCost> read_cost(int column) const override {
    const Place place = places_[static_cast<std::size_t>(column)];
    return place.is_folder ? ReadCost() : files_->read_cost(place.index);  // one value a file takes no time
  }

  bool has_codes(int column) const override {
    const Place place = places_[static_cast<std::size_t>(column)];
    return !place.is_folder && files_->has_codes(place.index);
  }

  std::optional<UnitCodes> codes(std::size_t unit, int column) const override {
    const Place place = places_[static_cast<std::size_t>(column)];
    return place.is_folder ? std::nullopt : files_->codes(unit, place.index);
  }

  SourceRows read(std::span<const std::size_t> units, std::span<const int> columns) const override {
    const SourceRows stored = files_->read(units, in_stored(columns));
    const auto values = [&](std::size_t folder) { return in_units(folder, units); };
    return {with_folders(stored.table, columns, values), stored.bytes};
  }

  SourceRows read_rows(std::span<const RowId> rows, std::span<const int> columns) const override {
    const SourceRows stored = files_->read_rows(rows, in_stored(columns));
    const auto values = [&](std::size_t folder) { return take(in_files(folder), files_of(rows)); };
    return {with_folders(stored.table, columns, values), stored.bytes};
  }

 private:
  /// The columns that the files store, by their places there.
  std::vector<int> in_stored(std::span<const int> columns) const {
    std::vector<int> stored;
    for (const int column : columns) {
      const Place place = places_[static_cast<std::size_t>(column)];
      if (!place.is_folder) stored.push_back(place.index);
    }
    std::sort(stored.begin(), stored.end());
    return stored;
  }

  /// A table of all columns, of which `columns` have values: `values` makes those of folders.
  template <class Values>
  Table with_folders(const Table& stored, std::span<const int> columns, const Values& values) const {
    const std::int64_t rows = stored.num_rows();
    if (schema_.columns().empty()) return Table::with_rows(rows).with_unsupported(schema_.unsupported());
    std::vector<Column> all;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const Column& column = schema_.column(static_cast<int>(i));
      const bool is_read = std::find(columns.begin(), columns.end(), static_cast<int>(i)) != columns.end();
      if (!places_[i].is_folder) {
        all.push_back(stored.column(places_[i].index));
      } else if (is_read && rows > 0) {
        all.push_back(values(static_cast<std::size_t>(places_[i].index)));
      } else {
        all.push_back(exec::placeholder_column(column.name(), column.type(), rows));
      }
    }
    return Table(std::move(all)).with_unsupported(schema_.unsupported());
  }

  /// The values of a folder's column, one a file.
  Column in_files(std::size_t folder) const {
    arrow::ArrayVector values;
    for (std::size_t file = 0; file < folders_.num_files(); ++file) {
      values.push_back(folders_.rows_of(folder, file, 1)->chunk(0));
    }
    return as_column(folder, std::move(values));
  }

  /// The same in each row of some units.
  Column in_units(std::size_t folder, std::span<const std::size_t> units) const {
    arrow::ArrayVector values;
    for (const std::size_t unit : units) {
      values.push_back(folders_.rows_of(folder, files_->file_of(unit), files_->units()[unit].rows)->chunk(0));
    }
    return as_column(folder, std::move(values));
  }

  Column as_column(std::size_t folder, arrow::ArrayVector values) const {
    const std::string& name = folders_.names()[folder];
    const auto column = std::make_shared<arrow::ChunkedArray>(std::move(values));
    const auto schema = arrow::schema({arrow::field(name, column->type())});
    return to_skyrank(arrow::Table::Make(schema, {column}), "folders").column(0);
  }

  /// The file that has each of some rows, which ascend.
  std::vector<RowId> files_of(std::span<const RowId> rows) const {
    std::vector<RowId> files;
    std::size_t unit = 0;
    std::int64_t end = 0;
    for (const RowId row : rows) {
      while (row >= end) end += files_->units()[unit++].rows;
      files.push_back(static_cast<RowId>(files_->file_of(unit - 1)));
    }
    return files;
  }

  std::shared_ptr<const FilesSource> files_;
  FolderColumns folders_;
  std::vector<Place> places_;  // by column
  Table schema_;
};

}  // namespace

std::shared_ptr<const Source> folder_source(std::shared_ptr<const FilesSource> files, FolderColumns folders,
                                            const std::optional<std::vector<std::string>>& columns) {
  std::vector<std::string> names = files->stored_names();
  for (const std::string& name : folders.names()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) return nullptr;
  }
  names.insert(names.end(), folders.names().begin(), folders.names().end());
  return std::make_shared<FolderSource>(std::move(files), std::move(folders), columns.value_or(names));
}

}  // namespace skyrank::datasets
