#include "datasets/text/text_source.hpp"

#include <arrow/chunked_array.h>
#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <algorithm>
#include <skyrank/error.hpp>
#include <utility>

#include "datasets/arrow/arrow_table.hpp"
#include "datasets/arrow/arrow_threads.hpp"
#include "datasets/arrow/arrow_types.hpp"
#include "engine/placeholder_column.hpp"
#include "engine/stop.hpp"

namespace skyrank::datasets {
namespace {

using TablePtr = std::shared_ptr<arrow::Table>;

Table empty_table(const TextTable& table, const std::string& file) {
  if (table.columns.empty()) return Table::with_rows(0).with_unsupported(table.unsupported);
  arrow::FieldVector fields;
  std::vector<std::shared_ptr<arrow::ChunkedArray>> values;
  for (const TextColumn& column : table.columns) {
    const auto type = normal_type(column.type);
    fields.push_back(arrow::field(column.name, type));
    values.push_back(std::make_shared<arrow::ChunkedArray>(arrow::ArrayVector{}, type));
  }
  return to_skyrank(arrow::Table::Make(arrow::schema(std::move(fields)), std::move(values), 0), file)
      .with_unsupported(table.unsupported);
}

TablePtr joined(const std::vector<TablePtr>& tables, const std::string& file) {
  auto table = arrow::ConcatenateTables(tables);
  check(table.status(), file, "joining blocks");
  return *std::move(table);
}

std::shared_ptr<arrow::Buffer> read_range(const InputFile& file, std::int64_t begin, std::int64_t size) {
  const auto read = file.data().reader({})->ReadAt(begin, size);
  file.data().check_unchanged();
  check(read.status(), file.name(), "cannot be read");
  return *read;
}

}  // namespace

bool cut_into_blocks(const InputFile& file, const TextBlock& first, std::int64_t overlap, const ReadOptions& options,
                     const TakeBlock& take) {
  constexpr std::int64_t kLongestRecord = std::int64_t{1} << 30;
  const auto end = static_cast<std::int64_t>(file.data().size());
  TextBlock block = first;
  for (std::int64_t wanted = options.block_bytes; block.begin < end;) {
    if (exec::is_stopped(options.stop)) throw CancelledError("reading " + file.name() + " was cancelled");
    const std::int64_t length = std::min(wanted, end - block.begin);
    const auto records = take(read_range(file, block.begin, length), block, block.begin + length == end);
    if (records.size == 0) {
      wanted *= 2;
      const bool begins_file = block.begin == 0;
      const std::int64_t most = max_whole_text(memory_for_text(options));
      if (wanted > most) {
        refuse_long_record({file.name(), block.first_line + (begins_file ? 0 : overlap), 0}, most);
      }
      if (wanted > kLongestRecord) return false;
      continue;
    }
    if (block.begin + records.size == end) return true;
    wanted = options.block_bytes;
    block.begin += records.size - overlap;
    block.first_line += records.lines - overlap;
  }
  return true;
}

TextSource::TextSource(std::vector<InputFile> files, TextTable table, const ReadOptions& options)
    : files_(std::move(files)),
      table_(std::move(table)),
      options_(options),
      schema_(empty_table(table_, files_.front().name())) {
  for (const TextBlock& block : table_.blocks) {
    units_.push_back({block.rows});
    bytes_ += static_cast<std::uint64_t>(block.size);
  }
}

TablePtr TextSource::read_block(std::size_t unit, std::span<const int> columns, bool threads) const {
  const TextBlock& block = table_.blocks[unit];
  const InputFile& input = files_[block.file];
  std::unique_lock lock(mutex_);
  const auto reader = input.data().reader({});
  lock.unlock();
  const auto bytes = reader->ReadAt(block.begin, block.size);
  lock.lock();
  input.data().check_unchanged();
  if (files_.size() > 1) input.data().close();
  lock.unlock();
  check(bytes.status(), input.name(), "cannot be read");
  TablePtr table = parse({*bytes, input.name(), block}, columns, threads);
  if (table->num_rows() == block.rows) return table;
  refuse_changed(input.name());
}

SourceRows TextSource::read(std::span<const std::size_t> units, std::span<const int> columns) const {
  SourceRows rows;
  std::int64_t count = 0;
  for (const std::size_t unit : units) {
    rows.bytes += static_cast<std::uint64_t>(table_.blocks[unit].size);
    count += units_[unit].rows;
  }
  Table read = Table::with_rows(count);
  if (!columns.empty() && count > 0) {
    const bool side_by_side = options_.threads != 1 && units.size() > 1;
    std::vector<TablePtr> tables(units.size());
    run_each(side_by_side, units.size(), [&](std::size_t i) {
      tables[i] =
          read_block(units[i], columns, /*threads=*/!side_by_side && units_.size() == 1 && options_.threads != 1);
    });
    read = to_skyrank(joined(tables, files_.front().name()), files_.front().name());
  }
  rows.table = in_schema(read, columns, count);
  if (options_.progress) options_.progress(bytes_, bytes_);
  return rows;
}

SourceRows TextSource::read_rows(std::span<const RowId> rows, std::span<const int> columns) const {
  const std::vector<RowsOfUnit> parts = by_unit(rows);
  SourceRows result;
  for (const RowsOfUnit& part : parts) result.bytes += static_cast<std::uint64_t>(table_.blocks[part.unit].size);
  Table read = Table::with_rows(static_cast<std::int64_t>(rows.size()));
  if (!columns.empty() && !parts.empty()) {
    std::vector<TablePtr> tables(parts.size());
    run_each(options_.threads != 1, parts.size(), [&](std::size_t i) {
      const std::string& name = files_[table_.blocks[parts[i].unit].file].name();
      const Table block = to_skyrank(read_block(parts[i].unit, columns, false), name);
      std::vector<Column> taken;
      for (const Column& column : block.columns()) taken.push_back(take(column, parts[i].rows));
      auto chosen = arrow::Table::FromRecordBatches({to_arrow(Table(std::move(taken)))});
      check(chosen.status(), name, "rows of a block");
      tables[i] = *std::move(chosen);
    });
    read = to_skyrank(joined(tables, files_.front().name()), files_.front().name());
  }
  result.table = in_schema(read, columns, static_cast<std::int64_t>(rows.size()));
  return result;
}

/// A table of all columns of the schema, of which some were read.
Table TextSource::in_schema(const Table& read, std::span<const int> columns, std::int64_t rows) const {
  if (schema_.columns().empty()) return Table::with_rows(rows).with_unsupported(schema_.unsupported());
  std::vector<Column> all;
  for (const Column& column : schema_.columns())
    all.push_back(exec::placeholder_column(column.name(), column.type(), rows));
  for (std::size_t i = 0; i < columns.size() && rows > 0; ++i) {
    all[static_cast<std::size_t>(columns[i])] = read.column(static_cast<int>(i));
  }
  return Table(std::move(all)).with_unsupported(schema_.unsupported());
}

}  // namespace skyrank::datasets
