#include "engine/standing/row_format.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/column_traits.hpp"
#include "engine/executor/key_columns.hpp"
#include "engine/executor/run_whole.hpp"
#include "engine/operators/gather/gather.hpp"
#include "engine/parts/states/global_rows.hpp"
#include "engine/query/written_names.hpp"
#include "engine/time.hpp"

namespace skyrank::exec {
namespace {

std::vector<int> all_columns(const Table& table) {
  std::vector<int> all(static_cast<std::size_t>(table.num_columns()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Throws BindError where strings of a column rank by another order than those of the schema.
void check_order(const Column& column, const Column& expected) {
  const auto order = order_of(column.data());
  const auto known = order_of(expected.data());
  if (order == known || (order != nullptr && known != nullptr && order->texts() == known->texts())) return;
  throw BindError("column '" + column.name() + "' has ordered categories that are not those of the schema");
}

/// Throws for a window that is none, and returns its column of times.
std::optional<int> time_column(const StandingWindow& window, const Table& schema, const Location& location) {
  if (const auto* rows = std::get_if<RowWindow>(&window); rows != nullptr && rows->rows < 1) {
    throw QueryError("a window needs 1 or more rows, not " + std::to_string(rows->rows), location);
  }
  const auto* time = std::get_if<TimeWindow>(&window);
  if (time == nullptr) return std::nullopt;
  if (time->last.count() <= 0) throw QueryError("a window by time needs a length above 0", location);
  const DataType type = schema.column(time->by).type();
  if (!is_temporal(type.type)) {
    throw BindError("a window by time needs a column of dates or timestamps; '" + time->by + "' is " + to_string(type),
                    location);
  }
  return schema.find(time->by);
}

std::int64_t ticks_at(const Column& column, std::int64_t row) {
  const void* values = column.data().values;
  return column.type().type == Type::date ? static_cast<const std::int32_t*>(values)[row]
                                          : static_cast<const std::int64_t*>(values)[row];
}

std::size_t bytes_of(const ColumnData& column) {
  const auto rows = static_cast<std::size_t>(column.length);
  const std::size_t valid = column.validity.bits != nullptr ? (rows + 7) / 8 : 0;
  if (rows == 0) return 0;
  if (column.layout == Layout::utf8) {
    return valid + rows * sizeof(std::int32_t) + static_cast<std::size_t>(column.offsets32[rows] - column.offsets32[0]);
  }
  if (column.layout == Layout::large_utf8) {
    return valid + rows * sizeof(std::int64_t) + static_cast<std::size_t>(column.offsets64[rows] - column.offsets64[0]);
  }
  return valid + rows * static_cast<std::size_t>(std::max(width_in_bytes(column.type.type), 1));
}

}  // namespace

RowFormat::RowFormat(const Query& query, const Table& schema, const StandingWindow& window) : query_(query) {
  if (any_device_only(schema, all_columns(schema))) {
    throw BindError("a standing query does not support columns that are on a GPU alone", query::location_of(query));
  }
  schema_ = without_rows(schema);
  time_column_ = time_column(window, schema_, query::location_of(query));
  query.validate();
  query::refuse_unsupported(query, query::names_of(schema), schema.unsupported());
  keyed_ = bind_to(query, schema_);
  read_ = query::columns_read(keyed_.query);
  bound_ = query::over_columns_read(keyed_.query);
  if (bound_.ties == Ties::any) bound_.ties = Ties::first;
  no_rows_ = chosen_columns(with_key_columns(keyed_, schema_), read_);
}

Table RowFormat::checked(const Table& rows) const {
  const Location location = query::location_of(query_);
  std::vector<Column> columns;
  for (const Column& expected : schema_.columns()) {
    const Column& column = rows.column(expected.name());
    if (column.type() != expected.type()) {
      throw BindError("column '" + column.name() + "' is " + to_string(column.type()) + "; the schema says " +
                          to_string(expected.type()),
                      location);
    }
    check_order(column, expected);
    columns.push_back(with_traits(column, traits_of(expected.data())));
  }
  for (const Column& column : rows.columns()) {
    if (!schema_.find(column.name())) throw BindError("the schema has no column '" + column.name() + "'", location);
  }
  if (columns.empty()) return Table::with_rows(rows.num_rows());
  Table table(std::move(columns));
  if (any_device_only(table, all_columns(table))) {
    throw BindError("a standing query does not support columns that are on a GPU alone", location);
  }
  return table;
}

Table RowFormat::kept(const Table& rows, const std::function<RowId(RowId)>& id_of) const {
  return with_global_rows([&] { return chosen_columns(with_key_columns(keyed_, rows), read_); }, id_of);
}

std::vector<Int128> RowFormat::times(const Table& rows) const {
  std::vector<Int128> times;
  if (!time_column_) return times;
  const Column column = gather_all(rows.column(*time_column_));
  times.reserve(static_cast<std::size_t>(column.size()));
  for (RowId row = 0; row < column.size(); ++row) {
    times.push_back(column.is_null(row) ? kNoTime : nanoseconds(ticks_at(column, row), column.type()));
  }
  return times;
}

std::size_t bytes_of(const Table& table) {
  std::size_t bytes = 0;
  for (const Column& column : table.columns()) bytes += bytes_of(column.data());
  return bytes;
}

}  // namespace skyrank::exec
