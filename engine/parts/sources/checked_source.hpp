#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <skyrank/source.hpp>

// Checks everything that the sources of applications say and return before it is believed.
namespace skyrank::exec {

/// Throws DataError unless statistics of a column have one bound of its type for each unit, and numbers of NULLs that
/// are none or more and at most the unit's rows.
void check_statistics(const UnitStatistics& statistics, const Column& column, const std::vector<SourceUnit>& units);

/// Throws DataError unless zones have the rows of a unit of `rows` rows, and their bounds are as above.
void check_zones(const ZoneStatistics& zones, const Column& column, std::int64_t rows);

/// Throws DataError unless codes are those of `rows` rows and stand for values of the column's type.
void check_codes(const UnitCodes& codes, const Column& column, std::int64_t rows);

/// A view of a source that passes on only what the source announced. Applications derive classes from Source, and other
/// rows, columns or statistics than those would lead out of the bounds of memory, or to a wrong answer.
class CheckedSource final : public Source {
 public:
  /// Views a source, which must outlive the view. Throws DataError where a unit has less than 0 rows, or all have more
  /// than 2^63 - 1.
  explicit CheckedSource(const Source& source);

  const Table& schema() const override { return source_.schema(); }
  const std::vector<SourceUnit>& units() const override { return source_.units(); }
  std::uint64_t bytes() const override { return source_.bytes(); }
  std::optional<Table> table() const override { return source_.table(); }

  /// Throws what the source throws, and DataError for statistics of another shape. Bounds that cannot be, as NaN or a
  /// minimum above the maximum, are NULL.
  std::optional<UnitStatistics> statistics(int column) const override;
  std::optional<ZoneStatistics> zones(std::size_t unit, int column) const override;
  /// Costs that are no numbers of seconds are not known.
  std::optional<ReadCost> read_cost(int column) const override;
  bool has_codes(int column) const override { return source_.has_codes(column); }
  /// Throws what the source throws, and DataError for codes of other rows or that stand for no value.
  std::optional<UnitCodes> codes(std::size_t unit, int column) const override;
  /// Throws what the source throws, and DataError for another number of rows or other columns than asked for.
  SourceRows read(std::span<const std::size_t> units, std::span<const int> columns) const override;
  SourceRows read_rows(std::span<const RowId> rows, std::span<const int> columns) const override;

 private:
  void check_rows(const Table& read, std::int64_t rows, std::span<const int> columns) const;

  const Source& source_;
};

}  // namespace skyrank::exec
