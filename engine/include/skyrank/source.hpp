#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <skyrank/export.hpp>
#include <skyrank/table.hpp>

// Declares tables that are read in units while a query runs. Applications derive from Source for their own storage.
namespace skyrank {
inline namespace v0 {

/// A run of consecutive rows that a source reads or skips as a whole, such as a row group of a Parquet file.
struct SourceUnit {
  std::int64_t rows = 0;  ///< number of rows
  /// Bytes that its texts have once they are decompressed; 0 where that is not known, or is what they have in storage.
  std::uint64_t text_bytes = 0;

  bool operator==(const SourceUnit&) const = default;
};

/// Bounds of a column in each unit, known without reading it. NaN, or a minimum above its maximum, counts as NULL.
struct UnitStatistics {
  Column min;  ///< one row a unit: no value of the unit but NaN is less; NULL where nothing is known
  Column max;  ///< one row a unit: no value of the unit but NaN is greater; NULL where nothing is known
  std::vector<std::optional<std::int64_t>> nulls;  ///< number of NULLs by unit, where it is known
};

/// Bounds of a column in zones of one unit: runs of consecutive rows, such as the pages of a Parquet file.
struct ZoneStatistics {
  std::vector<std::int64_t> rows;  ///< number of rows of each zone, in their order; together those of the unit
  UnitStatistics bounds;           ///< one row a zone
  std::uint64_t bytes = 0;         ///< bytes of storage that were read for them
};

/// Rows that a source read.
struct SourceRows {
  Table table;              ///< the rows, one after the other
  std::uint64_t bytes = 0;  ///< bytes of storage that were read for them
};

/// A column of a unit as numbers that stand for its values, such as indices into a dictionary of a Parquet file.
struct UnitCodes {
  Column codes;             ///< uint32, one a row: the place of the row's value among `values`; NULL for NULL
  Column values;            ///< values of the column, none of them NULL; some may be equal, or stand for no row
  std::uint64_t bytes = 0;  ///< bytes of storage that were read for them
};

/// Seconds that one thread takes to read a column, on a usual server. They decide between plans and change no answer.
struct ReadCost {
  double value = 0;  ///< seconds for the value of a row
  double unit = 0;   ///< seconds for the column of a unit, however few rows that has
};

/// A table that is read while queries are answered, and only as far as they need it (Engine::run). Rows are numbered
/// from 0 through all units. Sources are immutable and safe to use from many threads at once. A query throws DataError
/// where a source gives other numbers of rows, types or statistics than it announces.
class SKYRANK_EXPORT Source {
 public:
  virtual ~Source();

  /// Returns the table without its rows: names and types of all columns, and what the source has besides.
  virtual const Table& schema() const = 0;
  /// Returns the units, in the order of their rows.
  virtual const std::vector<SourceUnit>& units() const = 0;
  /// Returns the size of the columns in storage.
  virtual std::uint64_t bytes() const = 0;
  /// Returns bounds of a column of the schema; nothing where the source has none. The column's type is that of the
  /// schema.
  virtual std::optional<UnitStatistics> statistics(int column) const;

  /// Returns what reading a column of the schema takes; nothing where the source cannot tell: it is then priced as a
  /// file of usual encodings.
  virtual std::optional<ReadCost> read_cost(int column) const;

  /// Reads columns of whole units, both ascending. The table has all columns of the schema; those not asked for have
  /// the right type and length and any values, such as one value with a stride of 0. Throws DataError, ResourceError,
  /// CancelledError.
  virtual SourceRows read(std::span<const std::size_t> units, std::span<const int> columns) const = 0;
  /// Reads columns of a few rows, which are distinct and ascending; else as `read`.
  virtual SourceRows read_rows(std::span<const RowId> rows, std::span<const int> columns) const = 0;

  /// Returns the whole table where it is in memory: queries then use it as it is.
  virtual std::optional<Table> table() const;

  /// Returns bounds of a column of the schema within a unit, from storage; nothing where this has none, or finding them
  /// takes about as long as reading the column. Throws what `read` throws.
  virtual std::optional<ZoneStatistics> zones(std::size_t unit, int column) const;

  /// Returns true if all units may have a column of the schema as codes, which are read sooner than values.
  virtual bool has_codes(int column) const;
  /// Reads a column of the schema in a unit as codes; nothing where it has none. Throws what `read` throws.
  virtual std::optional<UnitCodes> codes(std::size_t unit, int column) const;
};

/// Returns the number of rows of all units. DataError where a unit, or all together, has none that 63 bits hold.
SKYRANK_EXPORT std::int64_t num_rows(const Source& source);

/// Makes a placeholder for a column that is not read: `rows` equal values, which take no memory.
[[deprecated("use unit_source, which needs no columns but those asked for")]] SKYRANK_EXPORT Column
absent_column(std::string name, DataType type, std::int64_t rows);

/// Returns the values of a column at some rows, each in [0, column.size()), in their order, in memory of their own.
SKYRANK_EXPORT Column take(const Column& column, std::span<const RowId> rows);

/// Makes a source of a table in memory, which is one unit.
SKYRANK_EXPORT std::shared_ptr<const Source> in_memory_source(Table table);

/// Makes the same; the former name of in_memory_source().
[[deprecated("use in_memory_source")]] SKYRANK_EXPORT std::shared_ptr<const Source> table_source(Table table);

/// Makes a source of the units [begin, end) of another: a part of its table, whose rows count from 0. Throws DataError
/// unless begin <= end and the source has so many units.
SKYRANK_EXPORT std::shared_ptr<const Source> unit_range(std::shared_ptr<const Source> source, std::size_t begin,
                                                        std::size_t end);

/// Reads columns of one unit, given by their places in the schema, ascending. The table has all rows of the unit and at
/// least these columns, found by name. Called from several threads at once.
using UnitReader = std::function<Table(std::size_t unit, std::span<const int> columns)>;

/// Returns bounds of a column in each unit, or nothing where they are not known. Called from several threads at once.
using UnitStatisticsReader = std::function<std::optional<UnitStatistics>(int column)>;

/// Makes a source of storage that an application reads itself, unit by unit. `schema` is the table without its rows,
/// and `statistics` may be empty. What the functions throw reaches whoever runs the query. A unit that lacks a column,
/// or has another type or number of rows than announced, is a DataError that names it.
SKYRANK_EXPORT std::shared_ptr<const Source> unit_source(Table schema, std::vector<SourceUnit> units, UnitReader read,
                                                         UnitStatisticsReader statistics = {});

}  // namespace v0
}  // namespace skyrank
