#include "engine/parts/sources/checked_source.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/expression/evaluate.hpp"
#include "engine/operators/gather/gather.hpp"
#include "engine/parts/sources/prune.hpp"

namespace skyrank::exec {
namespace {

/// Returns the condition that no bound is NaN and no minimum is above its maximum, over a table of the two. It is NULL
/// where one of them is.
query::BoundExpression are_in_order(DataType type) {
  const query::BoundPtr min = make_column(type, 0);
  const query::BoundPtr max = make_column(type, 1);
  const auto up_to = [](const query::BoundPtr& a, const query::BoundPtr& b) {
    return make_condition(query::Op::less_equal, {a, b});
  };
  query::BoundExpression condition;
  condition.type = Type::boolean;
  condition.root = make_condition(query::Op::logical_and, {up_to(min, max), up_to(min, min), up_to(max, max)});
  return condition;
}

/// Takes bounds away that cannot be: whoever found NaN, or a minimum above the maximum, may have lost other values.
void drop_impossible_bounds(UnitStatistics& statistics) {
  query::BoundExpression condition = are_in_order(statistics.min.type());
  condition.root = make_condition(query::Op::logical_not, {std::move(condition.root)});
  const std::int64_t count = statistics.min.size();
  const Table bounds({statistics.min.renamed("min"), statistics.max.renamed("max")});
  const Vector<RowId> impossible = filter(condition, bounds, Rows{count});
  if (impossible.empty()) return;
  std::vector<RowId> kept(static_cast<std::size_t>(count));
  std::iota(kept.begin(), kept.end(), RowId{0});
  for (const RowId unit : impossible) kept[static_cast<std::size_t>(unit)] = -1;  // NULL
  statistics.min = gather(statistics.min, kept, statistics.min.name());
  statistics.max = gather(statistics.max, kept, statistics.max.name());
}

}  // namespace

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

void check_codes(const UnitCodes& codes, const Column& column, std::int64_t rows) {
  const std::string name = "the codes of column '" + column.name() + "'";
  const ColumnData& data = codes.codes.data();
  if (codes.values.type() != column.type() || codes.values.may_have_nulls()) {
    throw DataError(name + " need values of type " + to_string(column.type()) + " without NULL");
  }
  const bool is_array = data.type == Type::uint32 && data.layout == Layout::plain &&
                        data.stride == static_cast<std::int64_t>(sizeof(std::uint32_t));
  if (!is_array || codes.codes.size() != rows) {
    throw DataError(name + " must be an array of uint32 of the " + std::to_string(rows) + " rows of their unit");
  }
  const auto* const of_rows = static_cast<const std::uint32_t*>(data.values);
  const std::int64_t values = codes.values.size();
  std::uint32_t highest = 0;
  for (std::int64_t row = 0; row < rows; ++row) highest = std::max(highest, of_rows[row]);
  for (std::int64_t row = 0; highest >= values && row < rows; ++row) {
    if (of_rows[row] < values || codes.codes.is_null(row)) continue;
    throw DataError(name + " stand for " + std::to_string(values) + " values; row " + std::to_string(row) +
                    " of the unit has code " + std::to_string(of_rows[row]));
  }
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
  if (!statistics) return statistics;
  check_statistics(*statistics, schema().column(column), units());
  drop_impossible_bounds(*statistics);
  return statistics;
}

std::optional<ZoneStatistics> CheckedSource::zones(std::size_t unit, int column) const {
  std::optional<ZoneStatistics> zones = source_.zones(unit, column);
  if (!zones) return zones;
  check_zones(*zones, schema().column(column), units()[unit].rows);
  drop_impossible_bounds(zones->bounds);
  return zones;
}

std::optional<ReadCost> CheckedSource::read_cost(int column) const {
  const auto is_time = [](double seconds) { return std::isfinite(seconds) && seconds >= 0; };
  const std::optional<ReadCost> cost = source_.read_cost(column);
  return cost && is_time(cost->value) && is_time(cost->unit) ? cost : std::nullopt;
}

std::optional<UnitCodes> CheckedSource::codes(std::size_t unit, int column) const {
  std::optional<UnitCodes> codes = source_.codes(unit, column);
  if (codes) check_codes(*codes, schema().column(column), units()[unit].rows);
  return codes;
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
