#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <skyrank/source.hpp>

#include "datasets/columnar/columnar.hpp"
#include "datasets/input/data_file.hpp"
#include "datasets/input/files_source.hpp"
#include "datasets/input/read_options.hpp"

// Files whose columns lie apart in units, such as row groups, as a source: what does not depend on the format.
namespace skyrank::datasets {

/// A file of a table.
struct TableFile {
  std::string name;
  std::shared_ptr<DataFile> data;
};

/// A unit of one of the files, by its number within the file.
struct FileUnit {
  std::size_t file = 0;
  int index = 0;
  std::int64_t rows = 0;
  std::uint64_t text_bytes = 0;  ///< bytes of its texts, or 0, as in SourceUnit
};

/// Some values of a unit's column.
struct UnitValues {
  std::shared_ptr<arrow::ChunkedArray> values;
  /// By row asked for: its place in `values`. Nothing where these are the values asked for, in their order.
  std::optional<std::vector<std::int64_t>> places;
};

/// The fields of a file that are columns of the table.
struct SourceFields {
  std::vector<int> fields;  ///< ascending, by column
  Table schema;             ///< without rows
};

/// Returns why the values of a field of bytes are no text, judged by some of them; nothing where they are.
using TextSample = std::function<std::optional<std::string>(int field)>;

/// Returns the fields of `options.columns` (all, if there are none) of a file. Columns of bytes that are no text are
/// left out, or refused by a DataError where they are asked for by name. Nothing where `read` refuses the columns,
/// which it then says.
std::optional<SourceFields> source_fields(const arrow::Schema& schema, const ReadOptions& options,
                                          const std::string& file, const TextSample& sample);

/// Reads the first `rows` values of a field in a unit, or more, and checks that they lie inside their memory.
using SampleReader = std::function<std::shared_ptr<arrow::ChunkedArray>(const FileUnit& unit, std::int64_t rows)>;

/// Returns why a field of bytes is no text: looks at the first rows of the first, the middle and the last unit.
std::optional<std::string> reason_against_text(std::span<const FileUnit> units, const SampleReader& read);

/// Returns the texts of the dictionary that a field has in a unit, in their order; nothing where the unit does not
/// tell.
using ReadDictionary = std::function<std::optional<std::vector<std::string>>(const FileUnit& unit, int field)>;

/// Gives columns that are ordered dictionaries the order that their dictionaries in all units agree on. A column of
/// which a unit has no dictionary ranks by its bytes. DataError where orders contradict each other.
void set_orders(SourceFields& columns, const arrow::Schema& stored, const std::vector<FileUnit>& units,
                const std::string& file, const ReadDictionary& read);

/// A source over files of one format and one schema. Subclasses read units of one file.
class ColumnarSource : public FilesSource {
 public:
  const Table& schema() const override { return columns_.schema; }
  const std::vector<SourceUnit>& units() const override { return units_; }
  std::uint64_t bytes() const override { return bytes_; }
  std::optional<ZoneStatistics> zones(std::size_t unit, int column) const override;
  std::optional<UnitCodes> codes(std::size_t unit, int column) const override;
  SourceRows read(std::span<const std::size_t> units, std::span<const int> columns) const override;
  SourceRows read_rows(std::span<const RowId> rows, std::span<const int> columns) const override;

  std::size_t file_of(std::size_t unit) const override { return places_[unit].file; }
  std::vector<std::string> stored_names() const override;

 protected:
  /// Units and fields of a file that are read.
  struct Selection {
    std::vector<int> units;    ///< ascending
    std::vector<int> fields;   ///< ascending
    bool is_one_file = false;  ///< all that is read is of one file: no other one's columns have to be of the same types
    bool threads = false;      ///< several threads may read
  };

  /// `bytes` are those of the columns in all files.
  ColumnarSource(std::vector<TableFile> files, std::shared_ptr<arrow::Schema> stored, SourceFields columns,
                 std::vector<FileUnit> units, std::uint64_t bytes, const ReadOptions& options);

  const std::vector<FileUnit>& places() const { return places_; }
  const std::vector<int>& fields() const { return columns_.fields; }
  const arrow::Schema& stored_schema() const { return *stored_; }
  const TableFile& file(std::size_t index) const { return files_[index]; }

 private:
  class Meter;

  /// Reads bounds of a field within a unit of file `f`, where the format has some.
  virtual std::optional<ZoneStatistics> read_zones(std::size_t f, const ColumnarFile& file, int unit, int field) const;
  /// Reads a field within a unit of file `f` as a dictionary and indices of 32 bits into it; null where the format has
  /// none.
  virtual std::shared_ptr<arrow::Array> read_codes(std::size_t f, const ColumnarFile& file, int unit, int field) const;
  /// Reads fields of some units of file `f`, one after the other.
  virtual std::shared_ptr<arrow::Table> read_units(std::size_t f, const ColumnarFile& file,
                                                   const Selection& selection) const = 0;
  /// Reads values of fields of a unit, which ascend; so do `rows`, which are counted within the unit.
  virtual std::vector<UnitValues> read_values(std::size_t f, const ColumnarFile& file, int unit,
                                              std::span<const int> fields,
                                              std::span<const std::int64_t> rows) const = 0;

  template <class Read>
  SourceRows counted(const Read& read) const;
  template <class Read>
  auto with_file(std::size_t f, Meter& meter, const Read& read) const;
  std::shared_ptr<arrow::Table> read_file(std::size_t f, const Selection& selection, Meter& meter) const;
  Table in_schema(const std::vector<std::shared_ptr<arrow::Table>>& tables, std::span<const int> columns) const;
  std::vector<std::vector<UnitValues>> read_parts(const std::vector<RowsOfUnit>& parts, std::span<const int> columns,
                                                  Meter& meter) const;
  Column chosen(const std::vector<UnitValues>& parts, int column) const;

  std::vector<TableFile> files_;
  std::shared_ptr<arrow::Schema> stored_;
  SourceFields columns_;
  std::vector<FileUnit> places_;  // by unit
  std::vector<SourceUnit> units_;
  std::uint64_t bytes_ = 0;
  ReadOptions options_;
  mutable std::mutex mutex_;  // over opening and closing files
};

}  // namespace skyrank::datasets
