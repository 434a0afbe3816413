#include <skyrank/source.hpp>

#include <utility>

#include "engine/checked_size.hpp"
#include "engine/operators/gather/gather.hpp"
#include "engine/placeholder_column.hpp"

namespace skyrank {
inline namespace v0 {

Source::~Source() = default;

std::optional<UnitStatistics> Source::statistics(int) const { return std::nullopt; }

std::optional<ReadCost> Source::read_cost(int) const { return std::nullopt; }

std::optional<ZoneStatistics> Source::zones(std::size_t, int) const { return std::nullopt; }

bool Source::has_codes(int) const { return false; }

std::optional<UnitCodes> Source::codes(std::size_t, int) const { return std::nullopt; }

std::optional<Table> Source::table() const { return std::nullopt; }

std::int64_t num_rows(const Source& source) {
  std::size_t rows = 0;
  for (const SourceUnit& unit : source.units()) {
    rows = checked_add(rows, unit.rows, "the number of rows of all units of a source");
  }
  return static_cast<std::int64_t>(rows);
}

Column absent_column(std::string name, DataType type, std::int64_t rows) {
  return exec::placeholder_column(std::move(name), type, rows);
}

Column take(const Column& column, std::span<const RowId> rows) { return exec::gather(column, rows, column.name()); }

namespace {

class InMemorySource final : public Source {
 public:
  explicit InMemorySource(Table table)
      : table_(std::move(table)), schema_(exec::without_rows(table_)), units_{{table_.num_rows()}} {}

  const Table& schema() const override { return schema_; }
  const std::vector<SourceUnit>& units() const override { return units_; }
  std::uint64_t bytes() const override { return 0; }
  std::optional<Table> table() const override { return table_; }

  SourceRows read(std::span<const std::size_t> units, std::span<const int>) const override {
    return {units.empty() ? schema_ : table_, 0};
  }

  SourceRows read_rows(std::span<const RowId> rows, std::span<const int>) const override {
    return {exec::gather(table_, rows), 0};
  }

 private:
  Table table_;
  Table schema_;
  std::vector<SourceUnit> units_;
};

}  // namespace

std::shared_ptr<const Source> in_memory_source(Table table) {
  return std::make_shared<InMemorySource>(std::move(table));
}

std::shared_ptr<const Source> table_source(Table table) { return in_memory_source(std::move(table)); }

}  // namespace v0
}  // namespace skyrank
