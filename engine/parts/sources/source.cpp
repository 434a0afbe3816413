#include <skyrank/source.hpp>

#include <utility>

#include "engine/checked_size.hpp"
#include "engine/operators/gather.hpp"

namespace skyrank {
inline namespace v0 {

Source::~Source() = default;

std::optional<UnitStatistics> Source::statistics(int) const { return std::nullopt; }

std::optional<ZoneStatistics> Source::zones(std::size_t, int) const { return std::nullopt; }

std::optional<Table> Source::table() const { return std::nullopt; }

std::int64_t num_rows(const Source& source) {
  std::size_t rows = 0;
  for (const SourceUnit& unit : source.units()) {
    rows = checked_add(rows, unit.rows, "the number of rows of all units of a source");
  }
  return static_cast<std::int64_t>(rows);
}

Column absent_column(std::string name, DataType type, std::int64_t rows) {
  // All rows are the one value that these bytes hold, as the column's stride is zero.
  alignas(Int128) static constexpr Int128 kZero = 0;
  if (type.type != Type::string) return Column::view_strided(std::move(name), type, &kZero, rows, 0);
  static constexpr std::int32_t kOffsets[2] = {0, 0};
  static constexpr char kNoCharacters[1] = {};
  ColumnData empty_string;
  empty_string.type = type;
  empty_string.layout = Layout::utf8;
  empty_string.length = 1;
  empty_string.values = kNoCharacters;
  empty_string.offsets32 = kOffsets;
  ColumnData data;
  data.type = type;
  data.layout = Layout::dictionary;
  data.length = rows;
  data.values = &kZero;
  data.dictionary = std::make_shared<const ColumnData>(std::move(empty_string));
  return Column(std::move(name), std::move(data));
}

Column take(const Column& column, std::span<const RowId> rows) { return exec::gather(column, rows, column.name()); }

namespace {

class InMemorySource final : public Source {
 public:
  explicit InMemorySource(Table table) : table_(std::move(table)), units_{{table_.num_rows()}} {
    std::vector<Column> columns;
    for (const Column& column : table_.columns()) columns.push_back(take(column, {}));
    schema_ =
        (columns.empty() ? Table::with_rows(0) : Table(std::move(columns))).with_unsupported(table_.unsupported());
  }

  const Table& schema() const override { return schema_; }
  const std::vector<SourceUnit>& units() const override { return units_; }
  std::uint64_t bytes() const override { return 0; }
  std::optional<Table> table() const override { return table_; }

  SourceRows read(std::span<const std::size_t> units, std::span<const int>) const override {
    return {units.empty() ? schema_ : table_, 0};
  }

  SourceRows read_rows(std::span<const RowId> rows, std::span<const int>) const override {
    if (table_.columns().empty()) return {Table::with_rows(static_cast<std::int64_t>(rows.size())), 0};
    std::vector<Column> columns;
    for (const Column& column : table_.columns()) columns.push_back(take(column, rows));
    return {Table(std::move(columns)), 0};
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
