#include "engine/parts/sources/checked_source.hpp"

#include <string>

#include <skyrank/error.hpp>

namespace skyrank::exec {

void check_statistics(const UnitStatistics& statistics, const Column& column, const std::vector<SourceUnit>& units) {
  const auto count = static_cast<std::int64_t>(units.size());
  const DataType type = column.type();
  if (statistics.min.size() != count || statistics.max.size() != count || statistics.nulls.size() != units.size() ||
      statistics.min.type() != type || statistics.max.type() != type) {
    throw DataError("the statistics of column '" + column.name() + "' need " + std::to_string(count) +
                    " bounds of type " + to_string(type) + ", one for each unit of the source");
  }
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    const std::optional<std::int64_t>& nulls = statistics.nulls[unit];
    if (!nulls || (*nulls >= 0 && *nulls <= units[unit].rows)) continue;
    throw DataError("the statistics of column '" + column.name() + "' tell of " + std::to_string(*nulls) +
                    " NULLs in unit " + std::to_string(unit) + " of the source, which has " +
                    std::to_string(units[unit].rows) + " rows");
  }
}

void check_zones(const ZoneStatistics& zones, const Column& column, std::int64_t rows) {
  std::vector<SourceUnit> units;
  std::int64_t left = rows;
  for (const std::int64_t zone : zones.rows) {
    if (zone < 0 || zone > left) break;
    left -= zone;
    units.push_back({zone});
  }
  if (left != 0 || units.size() != zones.rows.size()) {
    throw DataError("the zones of column '" + column.name() + "' do not have the " + std::to_string(rows) +
                    " rows of their unit");
  }
  check_statistics(zones.bounds, column, units);
}

CheckedSource::CheckedSource(const Source& source) : source_(source) {
  std::int64_t rows = 0;
  for (std::size_t unit = 0; unit < units().size(); ++unit) {
    const std::int64_t more = units()[unit].rows;
    if (more < 0 || __builtin_add_overflow(rows, more, &rows)) {
      throw DataError("unit " + std::to_string(unit) + " of the source is announced with " + std::to_string(more) +
                      " rows; all units together have 0 to 9223372036854775807");
    }
  }
}

std::optional<UnitStatistics> CheckedSource::statistics(int column) const {
  std::optional<UnitStatistics> statistics = source_.statistics(column);
  if (statistics) check_statistics(*statistics, schema().column(column), units());
  return statistics;
}

std::optional<ZoneStatistics> CheckedSource::zones(std::size_t unit, int column) const {
  std::optional<ZoneStatistics> zones = source_.zones(unit, column);
  if (zones) check_zones(*zones, schema().column(column), units()[unit].rows);
  return zones;
}

SourceRows CheckedSource::read(std::span<const std::size_t> units, std::span<const int> columns) const {
  std::int64_t rows = 0;
  for (const std::size_t unit : units) rows += this->units()[unit].rows;
  SourceRows read = source_.read(units, columns);
  check_rows(read.table, rows, columns);
  return read;
}

SourceRows CheckedSource::read_rows(std::span<const RowId> rows, std::span<const int> columns) const {
  SourceRows read = source_.read_rows(rows, columns);
  check_rows(read.table, static_cast<std::int64_t>(rows.size()), columns);
  return read;
}

void CheckedSource::check_rows(const Table& read, std::int64_t rows, std::span<const int> columns) const {
  if (read.num_rows() != rows) {
    throw DataError("the source gave " + std::to_string(read.num_rows()) + " rows where it was asked for " +
                    std::to_string(rows));
  }
  if (read.num_columns() != schema().num_columns()) {
    throw DataError("the source gave " + std::to_string(read.num_columns()) + " columns; its schema has " +
                    std::to_string(schema().num_columns()));
  }
  for (const int column : columns) {
    const Column& announced = schema().column(column);
    if (read.column(column).type() == announced.type()) continue;
    throw DataError("the source gave the column '" + announced.name() + "' as " +
                    to_string(read.column(column).type()) + ", its schema has it as " + to_string(announced.type()));
  }
}

}  // namespace skyrank::exec
