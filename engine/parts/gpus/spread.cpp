#include "engine/parts/gpus/spread.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/column_traits.hpp"
#include "engine/device/resident.hpp"
#include "engine/parts/gpus/row_range.hpp"
#include "engine/parts/gpus/turns.hpp"
#include "engine/runtime/column_cache.hpp"
#include "engine/runtime/table_sample_cache.hpp"
#include "kernels/cuda/runtime/scope.hpp"

namespace skyrank::exec {
namespace {

/// Ascending ends of the parts, the last one the number of rows.
std::vector<RowId> ends_of_shares(std::int64_t rows, std::size_t parts) {
  std::vector<RowId> ends;
  const auto count = static_cast<std::int64_t>(parts);
  for (std::int64_t i = 1; i < count; ++i) {
    const RowId share = rows / count * i + rows % count * i / count;
    ends.push_back(std::min(rows, (share + kRowAlignment - 1) / kRowAlignment * kRowAlignment));
  }
  ends.push_back(rows);
  return ends;
}

std::vector<Table> tables_between(const Table& table, const std::vector<RowId>& ends) {
  std::vector<Table> tables;
  RowId begin = 0;
  for (const RowId end : ends) {
    tables.push_back(rows_of(table, begin, end));
    begin = end;
  }
  return tables;
}

/// The parts' ends and devices in one list, as a name for them.
std::vector<std::int64_t> name_of(const std::vector<RowId>& ends, const std::vector<int>& devices) {
  std::vector<std::int64_t> name(ends.begin(), ends.end());
  name.insert(name.end(), devices.begin(), devices.end());
  return name;
}

std::vector<RowId> ends_of(const SpreadColumn& spread) {
  std::vector<RowId> ends;
  RowId end = 0;
  for (const Column& part : spread.parts) ends.push_back(end += part.size());
  return ends;
}

/// The views of a table that has columns of the same spread, and others.
std::vector<Table> tables_of(const Table& table, const SpreadColumn& like) {
  const std::vector<RowId> ends = ends_of(like);
  std::vector<Table> tables;
  RowId begin = 0;
  for (std::size_t part = 0; part < ends.size(); ++part) {
    std::vector<Column> columns;
    for (const Column& column : table.columns()) {
      const auto spread = spread_of(column.data());
      const bool same = spread != nullptr && spread->devices == like.devices && ends_of(*spread) == ends;
      columns.push_back(same ? spread->parts[part].renamed(column.name()) : rows_of(column, begin, ends[part]));
    }
    tables.push_back(Table(std::move(columns)).with_unsupported(table.unsupported()));
    begin = ends[part];
  }
  return tables;
}

}  // namespace

TableParts split_over_gpus(const EngineState& engine, const Table& table) {
  const std::vector<RowId> ends = ends_of_shares(table.num_rows(), engine.gpus.size());
  const auto make = [&] { return tables_between(table, ends); };
  PartTables* const kept = KeptAccess::parts(table);
  return {kept == nullptr ? make() : kept->get(name_of(ends, engine.gpus), make), engine.gpus};
}

std::optional<TableParts> spread_parts(const EngineState& engine, const Table& table, const std::vector<int>& columns) {
  std::shared_ptr<const SpreadColumn> first;
  for (const int index : columns) {
    if (auto spread = spread_of(table.column(index).data()); spread != nullptr && first == nullptr) first = spread;
  }
  if (first == nullptr) return std::nullopt;
  const auto is_ours = [&](int device) { return std::ranges::find(engine.gpus, device) != engine.gpus.end(); };
  if (!std::ranges::all_of(first->devices, is_ours)) return std::nullopt;
  PartTables& kept = *KeptAccess::parts(table);
  return TableParts{kept.get(name_of(ends_of(*first), first->devices), [&] { return tables_of(table, *first); }),
                    first->devices};
}

Table spread_over_gpus(const EngineState& engine, const Table& table, bool now) {
  if (table.num_columns() == 0) return table;
  const std::vector<RowId> ends = ends_of_shares(table.num_rows(), engine.gpus.size());
  std::vector<Table> parts;
  for (std::size_t i = 0; const Table& part : tables_between(table, ends)) {
    const kernels::cuda::DeviceScope on_device(engine.gpu(i++));
    parts.push_back(kept_on_device(part));
    if (now) copy_to_device(parts.back());
  }
  std::vector<Column> columns;
  for (int c = 0; c < table.num_columns(); ++c) {
    ColumnData data = table.column(c).data();
    if (ResidentColumn::is_possible(data)) {
      auto spread = std::make_shared<SpreadColumn>();
      spread->devices = engine.gpus;
      for (const Table& part : parts) spread->parts.push_back(part.column(c));
      set_kept(data, nullptr, std::move(spread), nullptr, traits_of(data));
    }
    columns.emplace_back(table.column(c).name(), std::move(data));
  }
  return Table(std::move(columns)).with_unsupported(table.unsupported());
}

}  // namespace skyrank::exec
