#include "engine/expression/load.hpp"

#include <bit>

namespace skyrank::exec {
namespace {

/// Bits [first, first + n) as bytes 0 or 1.
void expand_bits(const std::uint8_t* bits, std::int64_t first, std::int64_t n, std::uint8_t* out) {
  std::int64_t i = 0;
  if constexpr (std::endian::native == std::endian::little) {
    const std::uint8_t* byte = bits + (first >> 3);
    const int shift = static_cast<int>(first & 7);
    for (; i + 8 <= n; i += 8, ++byte) {
      unsigned eight = static_cast<unsigned>(*byte) >> shift;
      if (shift > 0) eight |= static_cast<unsigned>(byte[1]) << (8 - shift);
      // Byte j keeps bit j alone; adding 0x7f carries it to the byte's top bit.
      const std::uint64_t spread = ((eight & 0xff) * 0x0101010101010101ULL) & 0x8040201008040201ULL;
      const std::uint64_t bytes = ((spread + 0x7f7f7f7f7f7f7f7fULL) >> 7) & 0x0101010101010101ULL;
      std::memcpy(out + i, &bytes, sizeof bytes);
    }
  }
  for (; i < n; ++i) out[i] = static_cast<std::uint8_t>((bits[(first + i) >> 3] >> ((first + i) & 7)) & 1);
}

void load_bits(const std::uint8_t* bits, std::int64_t offset, const Rows& rows, std::int64_t begin, std::int64_t size,
               std::uint8_t* out) {
  if (rows.ids == nullptr) return expand_bits(bits, offset + begin, size, out);
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t bit = offset + rows.ids[begin + i];
    out[i] = static_cast<std::uint8_t>((bits[bit >> 3] >> (bit & 7)) & 1);
  }
}

template <class Get>
const std::string_view* fill_strings(std::int64_t size, const std::uint8_t* valid, std::string_view* out, Get get) {
  for (std::int64_t i = 0; i < size; ++i) {
    out[i] = valid == nullptr || valid[i] != 0 ? get(i) : std::string_view();
  }
  return out;
}

}  // namespace

const std::uint8_t* load_booleans(const ColumnData& column, const Rows& rows, std::int64_t begin, std::int64_t size,
                                  std::uint8_t* scratch) {
  if (column.layout == Layout::bits) {
    load_bits(static_cast<const std::uint8_t*>(column.values), column.bit_offset, rows, begin, size, scratch);
    return scratch;
  }
  const std::uint8_t* bytes = load_values(column, rows, begin, size, scratch);
  for (std::int64_t i = 0; i < size; ++i) scratch[i] = bytes[i] != 0;
  return scratch;
}

const std::string_view* load_strings(const ColumnData& column, const Rows& rows, std::int64_t begin, std::int64_t size,
                                     const std::uint8_t* valid, std::string_view* scratch) {
  switch (column.layout) {
    case Layout::utf8:
      return fill_strings(size, valid, scratch,
                          [&](std::int64_t i) { return slice(column.values, column.offsets32, rows[begin + i]); });
    case Layout::large_utf8:
      return fill_strings(size, valid, scratch,
                          [&](std::int64_t i) { return slice(column.values, column.offsets64, rows[begin + i]); });
    default:
      return fill_strings(size, valid, scratch, [&](std::int64_t i) { return column.string_at(rows[begin + i]); });
  }
}

const std::int64_t* load_indices(const ColumnData& column, const Rows& rows, std::int64_t begin, std::int64_t size,
                                 const std::uint8_t* valid, std::int64_t* scratch) {
  with_stored_type(column.index_type, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      T stored[kBlockRows];
      const T* indices = load_values(column, rows, begin, size, stored);
      for (std::int64_t i = 0; i < size; ++i) {
        scratch[i] = valid == nullptr || valid[i] != 0 ? static_cast<std::int64_t>(indices[i]) : 0;
      }
    }
  });
  return scratch;
}

const std::uint8_t* load_validity(const ColumnData& column, const Rows& rows, std::int64_t begin, std::int64_t size,
                                  std::uint8_t* scratch) {
  if (column.validity.bits == nullptr) return nullptr;
  load_bits(column.validity.bits, column.validity.offset, rows, begin, size, scratch);
  return std::memchr(scratch, 0, static_cast<std::size_t>(size)) == nullptr ? nullptr : scratch;
}

}  // namespace skyrank::exec
