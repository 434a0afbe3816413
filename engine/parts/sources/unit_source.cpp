#include <skyrank/source.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/decimal.hpp"
#include "engine/operators/gather/gather.hpp"
#include "engine/parts/sources/checked_source.hpp"
#include "engine/parts/states/concatenate.hpp"

// Makes sources of what applications read one unit at a time, and of consecutive units of another source.
namespace skyrank {
inline namespace v0 {
namespace {

[[noreturn]] void fail(std::size_t unit, const std::string& what) {
  throw DataError("unit " + std::to_string(unit) + " of the source " + what);
}

/// Storage that an application reads, one unit at a time.
class UnitSource final : public Source {
 public:
  UnitSource(const Table& schema, std::vector<SourceUnit> units, UnitReader read, UnitStatisticsReader statistics)
      : schema_(exec::without_rows(schema)),
        units_(std::move(units)),
        read_(std::move(read)),
        statistics_(std::move(statistics)) {
    if (read_ == nullptr) throw DataError("a source of units needs a function that reads them");
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      if (units_[unit].rows < 0) fail(unit, "is announced with " + std::to_string(units_[unit].rows) + " rows");
    }
    static_cast<void>(num_rows(*this));
  }

  const Table& schema() const override { return schema_; }
  const std::vector<SourceUnit>& units() const override { return units_; }
  std::uint64_t bytes() const override { return 0; }

  std::optional<UnitStatistics> statistics(int column) const override {
    if (statistics_ == nullptr) return std::nullopt;
    auto statistics = statistics_(column);
    if (!statistics) return std::nullopt;
    exec::check_statistics(*statistics, schema_.column(column), units_);
    return statistics;
  }

  SourceRows read(std::span<const std::size_t> units, std::span<const int> columns) const override {
    std::vector<Table> tables;
    std::int64_t rows = 0;
    for (const std::size_t unit : units) {
      tables.push_back(read_unit(unit, columns));
      rows += units_[unit].rows;
    }
    return {in_schema(tables, columns, rows), 0};
  }

  SourceRows read_rows(std::span<const RowId> rows, std::span<const int> columns) const override {
    std::vector<Table> tables;
    std::int64_t begin = 0;
    std::size_t next = 0;
    for (std::size_t unit = 0; unit < units_.size() && next < rows.size(); ++unit) {
      const std::int64_t end = begin + units_[unit].rows;
      std::vector<RowId> here;
      for (; next < rows.size() && rows[next] < end; ++next) here.push_back(rows[next] - begin);
      begin = end;
      if (here.empty() || columns.empty()) continue;
      tables.push_back(exec::gather(read_unit(unit, columns), here));
    }
    return {in_schema(tables, columns, static_cast<std::int64_t>(rows.size())), 0};
  }

 private:
  /// The columns of one unit, in their order and as announced.
  Table read_unit(std::size_t unit, std::span<const int> columns) const {
    if (columns.empty()) return Table::with_rows(units_[unit].rows);
    const Table table = read_(unit, columns);
    std::unordered_map<std::string_view, const Column*> by_name;
    for (const Column& column : table.columns()) by_name.emplace(column.name(), &column);
    std::vector<Column> wanted;
    for (const int place : columns) {
      const Column& expected = schema_.column(place);
      const auto found = by_name.find(expected.name());
      if (found == by_name.end()) fail(unit, "lacks the column '" + expected.name() + "', which the schema has");
      const Column& column = *found->second;
      if (column.type() != expected.type()) {
        fail(unit, "has the column '" + expected.name() + "' as " + to_string(column.type()) + ", the schema as " +
                       to_string(expected.type()));
      }
      wanted.push_back(column);
    }
    if (table.num_rows() != units_[unit].rows) {
      fail(unit, "has " + std::to_string(table.num_rows()) + " rows, but was announced with " +
                     std::to_string(units_[unit].rows));
    }
    return Table(std::move(wanted));
  }

  /// A table of all columns of the schema, of which `columns` were read.
  Table in_schema(const std::vector<Table>& tables, std::span<const int> columns, std::int64_t rows) const {
    const Table read = tables.empty()       ? Table::with_rows(rows)
                       : tables.size() == 1 ? tables.front()
                                            : exec::concatenate(tables);
    return exec::in_schema(schema_, read, tables.empty() ? std::span<const int>() : columns);
  }

  Table schema_;
  std::vector<SourceUnit> units_;
  UnitReader read_;
  UnitStatisticsReader statistics_;
};

/// Consecutive units of another source.
class UnitRange final : public Source {
 public:
  UnitRange(std::shared_ptr<const Source> source, std::size_t begin, std::size_t end)
      : source_(std::move(source)), begin_(begin) {
    const std::vector<SourceUnit>& all = source_->units();
    if (begin > end || end > all.size()) {
      throw DataError("there are no units " + std::to_string(begin) + " to " + std::to_string(end) +
                      " in a source of " + std::to_string(all.size()));
    }
    const auto place = [&](std::size_t unit) { return all.begin() + static_cast<std::ptrdiff_t>(unit); };
    units_.assign(place(begin), place(end));
    for (std::size_t unit = 0; unit < begin; ++unit) first_row_ += all[unit].rows;
  }

  const Table& schema() const override { return source_->schema(); }
  const std::vector<SourceUnit>& units() const override { return units_; }

  std::uint64_t bytes() const override {
    const auto all = static_cast<UInt128>(std::max<std::int64_t>(1, num_rows(*source_)));
    return static_cast<std::uint64_t>(static_cast<UInt128>(num_rows(*this)) * source_->bytes() / all);
  }

  std::optional<UnitStatistics> statistics(int column) const override {
    std::optional<UnitStatistics> all = source_->statistics(column);
    if (!all) return std::nullopt;
    exec::check_statistics(*all, schema().column(column), source_->units());
    std::vector<RowId> places(units_.size());
    std::iota(places.begin(), places.end(), static_cast<RowId>(begin_));
    const auto first = all->nulls.begin() + static_cast<std::ptrdiff_t>(begin_);
    return UnitStatistics{
        take(all->min, places), take(all->max, places), {first, first + static_cast<std::ptrdiff_t>(units_.size())}};
  }

  std::optional<ZoneStatistics> zones(std::size_t unit, int column) const override {
    return source_->zones(unit + begin_, column);
  }

  std::optional<ReadCost> read_cost(int column) const override { return source_->read_cost(column); }
  bool has_codes(int column) const override { return source_->has_codes(column); }
  std::optional<UnitCodes> codes(std::size_t unit, int column) const override {
    return source_->codes(unit + begin_, column);
  }

  SourceRows read(std::span<const std::size_t> units, std::span<const int> columns) const override {
    std::vector<std::size_t> moved(units.begin(), units.end());
    for (std::size_t& unit : moved) unit += begin_;
    return source_->read(moved, columns);
  }

  SourceRows read_rows(std::span<const RowId> rows, std::span<const int> columns) const override {
    std::vector<RowId> moved(rows.begin(), rows.end());
    for (RowId& row : moved) row += first_row_;
    return source_->read_rows(moved, columns);
  }

  std::optional<Table> table() const override {
    return units_.size() == source_->units().size() ? source_->table() : std::nullopt;
  }

 private:
  std::shared_ptr<const Source> source_;
  std::size_t begin_;
  RowId first_row_ = 0;
  std::vector<SourceUnit> units_;
};

}  // namespace

std::shared_ptr<const Source> unit_range(std::shared_ptr<const Source> source, std::size_t begin, std::size_t end) {
  if (source == nullptr) throw DataError("a range of units needs a source");
  return std::make_shared<UnitRange>(std::move(source), begin, end);
}

std::shared_ptr<const Source> unit_source(Table schema, std::vector<SourceUnit> units, UnitReader read,
                                          UnitStatisticsReader statistics) {
  return std::make_shared<UnitSource>(schema, std::move(units), std::move(read), std::move(statistics));
}

}  // namespace v0
}  // namespace skyrank
