#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "engine/column_traits.hpp"
#include "engine/python/src/bind.hpp"

namespace skyrank::python {
namespace {

/// The memory of a joined column.
struct Joined {
  std::vector<std::byte> values;
  std::vector<std::int64_t> offsets;
  std::vector<std::uint8_t> valid;
};

void append_plain(const ColumnData& piece, std::int64_t width, std::byte* to) {
  const auto* from = static_cast<const std::byte*>(piece.values);
  if (piece.stride == width) {
    std::memcpy(to, from, static_cast<std::size_t>(piece.length * width));
    return;
  }
  for (std::int64_t row = 0; row < piece.length; ++row) {
    std::memcpy(to + row * width, from + row * piece.stride, static_cast<std::size_t>(width));
  }
}

void append_bits(const ColumnData& piece, std::byte* to) {
  const auto* bits = static_cast<const std::uint8_t*>(piece.values);
  for (std::int64_t row = 0; row < piece.length; ++row) {
    const std::int64_t bit = piece.bit_offset + row;
    to[row] = std::byte((bits[bit >> 3] >> (bit & 7)) & 1);
  }
}

void join_values(const std::vector<Column>& pieces, std::int64_t rows, ColumnData& data, Joined& joined) {
  const std::int64_t width = width_in_bytes(data.type.type);
  joined.values.resize(static_cast<std::size_t>(rows * width));
  std::byte* to = joined.values.data();
  for (const Column& piece : pieces) {
    if (piece.data().layout == Layout::bits) {
      append_bits(piece.data(), to);
    } else {
      append_plain(piece.data(), width, to);
    }
    to += piece.size() * width;
  }
  data.values = joined.values.data();
  data.stride = width;
}

void join_strings(const std::vector<Column>& pieces, std::int64_t rows, ColumnData& data, Joined& joined) {
  joined.offsets.reserve(static_cast<std::size_t>(rows + 1));
  joined.offsets.push_back(0);
  for (const Column& piece : pieces) {
    for (std::int64_t row = 0; row < piece.size(); ++row) {
      if (!piece.is_null(row)) {
        const auto text = std::as_bytes(std::span(piece.data().string_at(row)));
        joined.values.insert(joined.values.end(), text.begin(), text.end());
      }
      joined.offsets.push_back(static_cast<std::int64_t>(joined.values.size()));
    }
  }
  data.layout = Layout::large_utf8;
  data.values = joined.values.data();
  data.offsets64 = joined.offsets.data();
}

void join_validity(const std::vector<Column>& pieces, std::int64_t rows, ColumnData& data, Joined& joined) {
  bool nulls = false;
  for (const Column& piece : pieces) nulls |= piece.may_have_nulls();
  if (!nulls) return;
  joined.valid.resize(static_cast<std::size_t>(rows + 7) / 8);
  std::int64_t at = 0;
  for (const Column& piece : pieces) {
    for (std::int64_t row = 0; row < piece.size(); ++row, ++at) {
      const auto bit = static_cast<std::uint8_t>(1U << (at % 8));
      if (!piece.is_null(row)) joined.valid[static_cast<std::size_t>(at / 8)] |= bit;
    }
  }
  data.validity = {joined.valid.data(), 0};
}

}  // namespace

Column join_columns(const std::vector<Column>& pieces) {
  const auto joined = std::make_shared<Joined>();
  ColumnData data;
  data.type = pieces.front().type();
  std::int64_t rows = 0;
  for (const Column& piece : pieces) rows += piece.size();
  data.length = rows;
  if (data.type.type == Type::string) {
    join_strings(pieces, rows, data, *joined);
  } else {
    join_values(pieces, rows, data, *joined);
  }
  join_validity(pieces, rows, data, *joined);
  data.owner = joined;
  return exec::with_traits_of({pieces.front().name(), std::move(data)}, pieces);
}

}  // namespace skyrank::python
