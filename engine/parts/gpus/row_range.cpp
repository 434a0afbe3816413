#include "engine/parts/gpus/row_range.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "engine/runtime/column_cache.hpp"
#include "engine/runtime/device_values.hpp"

namespace skyrank::exec {

Column rows_of(const Column& column, RowId begin, RowId end) {
  copy_to_host(column.data());  // a part of what a caller has on one GPU may be for another
  ColumnData data = column.data();
  drop_kept(data);  // of all rows
  data.length = end - begin;
  data.validity.offset += begin;
  switch (data.layout) {
    case Layout::plain:
    case Layout::views:
    case Layout::dictionary: data.values = static_cast<const std::byte*>(data.values) + begin * data.stride; break;
    case Layout::bits: data.bit_offset += begin; break;
    case Layout::utf8: data.offsets32 += begin; break;
    case Layout::large_utf8: data.offsets64 += begin; break;
  }
  return {column.name(), std::move(data)};
}

Table rows_of(const Table& table, RowId begin, RowId end) {
  if (table.num_columns() == 0) return Table::with_rows(end - begin);
  std::vector<Column> columns;
  for (const Column& column : table.columns()) columns.push_back(rows_of(column, begin, end));
  return Table(std::move(columns)).with_unsupported(table.unsupported());
}

}  // namespace skyrank::exec
