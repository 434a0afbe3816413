#include "engine/parts/states/concatenate.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/column_traits.hpp"
#include "engine/operators/gather/gather.hpp"
#include "engine/runtime/query_memory.hpp"

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

/// Returns which rows have a value; nothing where all have one.
std::vector<bool> validity(const std::vector<Column>& pieces) {
  std::vector<bool> valid;
  const auto is_full = [](const Column& piece) { return piece.data().validity.bits == nullptr; };
  if (std::ranges::all_of(pieces, is_full)) return valid;
  for (const Column& piece : pieces) {
    for (std::int64_t i = 0; i < piece.size(); ++i) valid.push_back(!piece.is_null(i));
  }
  return valid;
}

std::size_t rows_of(const std::vector<Column>& pieces) {
  std::size_t rows = 0;
  for (const Column& piece : pieces) rows += static_cast<std::size_t>(piece.size());
  return rows;
}

template <class T>
Column join_values(const std::vector<Column>& pieces) {
  std::vector<T> values;
  QueryMemory::hold(rows_of(pieces) * sizeof(T));
  for (const Column& piece : pieces) {
    const std::size_t before = values.size();
    const auto size = static_cast<std::size_t>(piece.size());
    values.resize(before + size);
    if (size > 0) std::memcpy(values.data() + before, piece.data().values, size * sizeof(T));
  }
  return Column::own_as(pieces.front().name(), pieces.front().type(), std::move(values), validity(pieces));
}

Column join_strings(const std::vector<Column>& pieces) {
  std::vector<std::string> values;
  QueryMemory::hold(rows_of(pieces) * sizeof(std::string));
  for (const Column& piece : pieces) {
    std::size_t characters = 0;
    for (std::int64_t i = 0; i < piece.size(); ++i) {
      values.emplace_back(piece.is_null(i) ? std::string_view() : piece.data().string_at(i));
      characters += values.back().size();
    }
    QueryMemory::hold(characters);
  }
  return Column::own(pieces.front().name(), values, validity(pieces));
}

}  // namespace

Column join(const std::vector<Column>& pieces) {
  switch (width_in_bytes(pieces.front().type().type)) {
    case 1: return join_values<std::uint8_t>(pieces);
    case 2: return join_values<std::uint16_t>(pieces);
    case 4: return join_values<std::uint32_t>(pieces);
    case 8: return join_values<std::uint64_t>(pieces);
    case 16: return join_values<Int128>(pieces);
    default: return join_strings(pieces);
  }
}

Table concatenate(const std::vector<Table>& tables) {
  std::int64_t rows = 0;
  for (const Table& table : tables) {
    check_columns(table, tables.front());
    rows += table.num_rows();
  }
  std::vector<Column> columns;
  for (int c = 0; c < tables.front().num_columns(); ++c) {
    std::vector<Column> pieces;
    for (const Table& table : tables) {
      std::vector<RowId> all(static_cast<std::size_t>(table.num_rows()));
      std::iota(all.begin(), all.end(), RowId{0});
      pieces.push_back(gather(table.column(c), all, table.column(c).name()));
    }
    columns.push_back(with_traits_of(join(pieces), pieces));
  }
  return columns.empty() ? Table::with_rows(rows) : Table(std::move(columns));
}

}  // namespace skyrank::exec
