#include "engine/parts/states/concatenate.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/column_traits.hpp"
#include "engine/operators/gather/column_buffers.hpp"
#include "engine/operators/gather/gather.hpp"

namespace skyrank::exec {
namespace {

void check_columns(const Table& table, const Table& first) {
  if (table.num_columns() != first.num_columns()) {
    throw DataError("partial answers have " + std::to_string(first.num_columns()) + " and " +
                    std::to_string(table.num_columns()) + " columns; they must be of one table");
  }
  for (int c = 0; c < table.num_columns(); ++c) {
    const Column& a = first.column(c);
    const Column& b = table.column(c);
    if (a.name() == b.name() && a.type() == b.type()) continue;
    throw DataError("partial answers have the columns '" + a.name() + "' (" + to_string(a.type()) + ") and '" +
                    b.name() + "' (" + to_string(b.type()) + ") in one place; they must be of one table");
  }
}

bool is_full(const Column& piece) { return piece.data().validity.bits == nullptr; }

void join_validity(const std::vector<Column>& pieces, std::size_t rows, ColumnBuffers& to) {
  if (std::ranges::all_of(pieces, is_full)) return;
  to.charge.add((rows + 7) / 8);
  to.valid.resize((rows + 7) / 8);
  std::size_t row = 0;
  for (const Column& piece : pieces) {
    for (std::int64_t i = 0; i < piece.size(); ++i, ++row) {
      const unsigned bit = piece.is_null(i) ? 0 : 1U << (row % 8);
      to.valid[row / 8] = static_cast<std::uint8_t>(to.valid[row / 8] | bit);
    }
  }
}

void join_strings(const std::vector<Column>& pieces, std::size_t rows, ColumnBuffers& to) {
  to.allocate_offsets(rows);
  std::size_t row = 0;
  for (const Column& piece : pieces) {
    for (std::int64_t i = 0; i < piece.size(); ++i, ++row) {
      const std::size_t size = piece.is_null(i) ? 0 : piece.data().string_at(i).size();
      to.offsets64[row + 1] = to.offsets64[row] + static_cast<std::int64_t>(size);
    }
  }
  std::byte* next = to.allocate(static_cast<std::size_t>(to.offsets64.back())).data();
  for (const Column& piece : pieces) {
    for (std::int64_t i = 0; i < piece.size(); ++i) {
      if (piece.is_null(i)) continue;
      const std::string_view text = piece.data().string_at(i);
      next = std::ranges::copy(std::as_bytes(std::span(text)), next).out;
    }
  }
  to.shorten_offsets();
}

void join_values(const std::vector<Column>& pieces, std::size_t rows, ColumnBuffers& to) {
  const auto width = static_cast<std::size_t>(width_in_bytes(pieces.front().type().type));
  std::byte* next = to.allocate(rows * width).data();
  for (const Column& piece : pieces) {
    next = std::copy_n(static_cast<const std::byte*>(piece.data().values),
                       static_cast<std::size_t>(piece.size()) * width, next);
  }
}

/// Joins one or more columns of one type that gather() made: plain or strings. The name is that of the first.
Column join(const std::vector<Column>& pieces, std::int64_t rows) {
  const Column& first = pieces.front();
  auto buffers = std::make_shared<ColumnBuffers>();
  const auto size = static_cast<std::size_t>(rows);
  join_validity(pieces, size, *buffers);
  if (first.type().type == Type::string) {
    join_strings(pieces, size, *buffers);
  } else {
    join_values(pieces, size, *buffers);
  }
  return with_traits_of(column_of(first.name(), first.type(), rows, std::move(buffers)), pieces);
}

}  // namespace

Table concatenate(const std::vector<Table>& tables) {
  std::int64_t rows = 0;
  for (const Table& table : tables) {
    check_columns(table, tables.front());
    rows += table.num_rows();
  }
  std::vector<Column> columns;
  for (int c = 0; c < tables.front().num_columns(); ++c) {
    std::vector<Column> pieces;
    for (const Table& table : tables) pieces.push_back(gather_all(table.column(c)));
    columns.push_back(join(pieces, rows));
  }
  return columns.empty() ? Table::with_rows(rows) : Table(std::move(columns));
}

}  // namespace skyrank::exec
