#include "engine/parts/states/spilled_tables.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "engine/column_traits.hpp"
#include "engine/operators/gather/gather.hpp"
#include "engine/runtime/query_memory.hpp"

namespace skyrank::exec {

namespace {

constexpr std::int64_t kBitsPerByte = 8;

std::span<const std::byte> bytes_at(const void* data, std::int64_t size) {
  return {static_cast<const std::byte*>(data), static_cast<std::size_t>(size)};
}

std::int64_t first_character(const ColumnData& data) {
  return data.layout == Layout::large_utf8 ? data.offsets64[0] : data.offsets32[0];
}

/// Returns where the strings of a column begin, from its first character on, and where the last one ends.
RawVector<std::int64_t> offsets_of(const ColumnData& data) {
  RawVector<std::int64_t> offsets(static_cast<std::size_t>(data.length) + 1);
  const std::int64_t first = first_character(data);
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] = (data.layout == Layout::large_utf8 ? data.offsets64[i] : data.offsets32[i]) - first;
  }
  return offsets;
}

RawVector<std::uint8_t> validity_bytes(const ColumnData& data) {
  RawVector<std::uint8_t> valid(static_cast<std::size_t>(data.length));
  for (std::int64_t i = 0; i < data.length; ++i) valid[static_cast<std::size_t>(i)] = data.validity(i) ? 1 : 0;
  return valid;
}

void set_bits(std::span<const std::uint8_t> valid, std::int64_t from, std::vector<std::uint8_t>& bits) {
  for (std::size_t i = 0; i < valid.size(); ++i) {
    const std::int64_t row = from + static_cast<std::int64_t>(i);
    std::uint8_t& byte = bits[static_cast<std::size_t>(row / kBitsPerByte)];
    byte = static_cast<std::uint8_t>(byte | (valid[i] << (row % kBitsPerByte)));
  }
}

}  // namespace

void SpilledTables::append(const Table& table, std::vector<std::int64_t> begins, std::int64_t place) {
  Written written{place, std::move(begins), {}};
  for (const Column& column : table.columns()) written.columns.push_back(write(column));
  const std::scoped_lock lock(mutex_);
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    const Column& column = table.columns()[c];
    Column added = gather(column, {}, column.name());
    if (c == schema_.size()) {
      schema_.push_back(std::move(added));
    } else {
      schema_[c] = with_traits_of(schema_[c], {schema_[c], std::move(added)});
    }
  }
  tables_.insert(std::ranges::upper_bound(tables_, place, {}, &Written::place), std::move(written));
}

SpilledTables::Buffers SpilledTables::write(const Column& column) {
  const ColumnData& data = column.data();
  Buffers buffers;
  if (data.type.type == Type::string) {
    const auto offsets = offsets_of(data);
    buffers.offsets = file_.append(std::as_bytes(std::span(offsets)));
    const char* const first = static_cast<const char*>(data.values) + first_character(data);
    buffers.values = file_.append(bytes_at(first, offsets.back()));
  } else {
    buffers.values = file_.append(bytes_at(data.values, data.length * data.stride));
  }
  buffers.may_have_nulls = column.may_have_nulls();
  if (!buffers.may_have_nulls) return buffers;
  const auto valid = validity_bytes(data);
  buffers.validity = file_.append(std::as_bytes(std::span(valid)));
  return buffers;
}

std::int64_t SpilledTables::Part::rows() const {
  return std::accumulate(tables.begin(), tables.end(), std::int64_t{0},
                         [&](std::int64_t rows, const Written& table) { return rows + table.rows(partition); });
}

std::int64_t SpilledTables::rows(std::size_t partition, Range range) const { return part(partition, range).rows(); }

Table SpilledTables::read(std::size_t partition, Range range) const {
  std::vector<Column> columns;
  for (std::size_t c = 0; c < schema_.size(); ++c) columns.push_back(read(c, part(partition, range)));
  return Table(std::move(columns));
}

Column SpilledTables::read(std::size_t column, const Part& part) const {
  const DataType type = schema_[column].type();
  const std::int64_t n = part.rows();
  auto buffers = std::make_shared<ColumnBuffers>();
  if (type.type == Type::string) {
    read_strings(column, part, *buffers);
  } else {
    read_numbers(column, part, width_in_bytes(type.type), *buffers);
  }
  read_validity(column, part, *buffers);
  return with_traits(column_of(schema_[column].name(), type, n, std::move(buffers)), traits_of(schema_[column].data()));
}

void SpilledTables::read_numbers(std::size_t column, const Part& part, std::int64_t width,
                                 ColumnBuffers& buffers) const {
  std::span<std::byte> to = buffers.allocate(static_cast<std::size_t>(part.rows() * width));
  for (const Written& table : part.tables) {
    const auto size = static_cast<std::size_t>(table.rows(part.partition) * width);
    file_.read(table.columns[column].values + static_cast<std::uint64_t>(table.begins[part.partition] * width),
               to.first(size));
    to = to.subspan(size);
  }
}

void SpilledTables::read_strings(std::size_t column, const Part& part, ColumnBuffers& buffers) const {
  const auto n = static_cast<std::size_t>(part.rows());
  buffers.allocate_offsets(n);
  std::vector<std::int64_t> first_characters;
  std::size_t row = 0;
  for (const Written& table : part.tables) {
    const auto size = static_cast<std::size_t>(table.rows(part.partition));
    // The last offset of a table is the first of the next one, which is read over it.
    const std::span offsets = std::span(buffers.offsets64).subspan(row, size + 1);
    const std::int64_t before = offsets[0];
    const auto from = static_cast<std::uint64_t>(table.begins[part.partition]) * sizeof(std::int64_t);
    file_.read(table.columns[column].offsets + from, std::as_writable_bytes(offsets));
    first_characters.push_back(offsets[0]);
    for (std::int64_t& offset : offsets) offset += before - first_characters.back();
    row += size;
  }
  read_characters(column, part, first_characters, buffers);
}

void SpilledTables::read_characters(std::size_t column, const Part& part, const std::vector<std::int64_t>& first,
                                    ColumnBuffers& buffers) const {
  const std::span<std::byte> to = buffers.allocate(static_cast<std::size_t>(buffers.offsets64.back()));
  std::size_t row = 0;
  for (std::size_t t = 0; t < part.tables.size(); ++t) {
    const std::size_t end = row + static_cast<std::size_t>(part.tables[t].rows(part.partition));
    const auto begin = static_cast<std::size_t>(buffers.offsets64[row]);
    const auto size = static_cast<std::size_t>(buffers.offsets64[end]) - begin;
    file_.read(part.tables[t].columns[column].values + static_cast<std::uint64_t>(first[t]), to.subspan(begin, size));
    row = end;
  }
}

void SpilledTables::read_validity(std::size_t column, const Part& part, ColumnBuffers& buffers) const {
  if (std::ranges::none_of(part.tables, [&](const Written& table) { return table.columns[column].may_have_nulls; }))
    return;
  const auto bytes = static_cast<std::size_t>((part.rows() + kBitsPerByte - 1) / kBitsPerByte);
  buffers.charge.add(bytes);
  buffers.valid.resize(bytes);
  std::int64_t row = 0;
  for (const Written& table : part.tables) {
    kernels::Vector<std::uint8_t> valid(static_cast<std::size_t>(table.rows(part.partition)), 1);
    if (table.columns[column].may_have_nulls) {
      file_.read(table.columns[column].validity + static_cast<std::uint64_t>(table.begins[part.partition]),
                 std::as_writable_bytes(std::span(valid)));
    }
    set_bits(valid, row, buffers.valid);
    row += table.rows(part.partition);
  }
}

}  // namespace skyrank::exec
