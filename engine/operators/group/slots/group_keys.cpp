#include "engine/operators/group/slots/group_keys.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "engine/expression/load.hpp"
#include "engine/expression/source.hpp"
#include "engine/keys/value_range.hpp"
#include "engine/operators/group/slots/value_code.hpp"
#include "kernels/common/hash.hpp"

// Numbers the values of group columns: each value has a code, and codes of several columns are packed next to each
// other if 64 bits hold all of them. Then a hash is exact and no values are compared; other codes are mixed into a
// hash, column by column.
namespace skyrank::exec {
namespace {

constexpr int kCodeBits = 64;
constexpr int kTooManyBits = kCodeBits + 1;

/// The code of NULL: 0, or that of a NaN that code_of() does not return.
std::uint64_t null_code(Type type) {
  if (!is_floating(type)) return 0;
  return type == Type::float64 ? code_of(std::numeric_limits<double>::quiet_NaN()) + 1
                               : code_of(std::numeric_limits<float>::quiet_NaN()) + 1;
}

int width_of(std::uint64_t value) { return static_cast<int>(std::bit_width(value)); }

bool is_dictionary(const Column& column) { return column.data().layout == Layout::dictionary; }

/// The code of the first value of a column: 0 is that of NULL, if there may be any.
std::uint64_t first_code(const Column& column) { return column.may_have_nulls() ? 1 : 0; }

template <class T>
T stored(const ColumnData& data, RowId row) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(data.values) + row * data.stride, sizeof(T));
  return value;
}

bool boolean_at(const ColumnData& data, RowId row) {
  if (data.layout != Layout::bits) return stored<std::uint8_t>(data, row) != 0;
  const std::int64_t bit = data.bit_offset + row;
  return ((static_cast<const std::uint8_t*>(data.values)[bit >> 3] >> (bit & 7)) & 1) != 0;
}

}  // namespace

Vector<std::uint32_t> number_entries(const Column& column) {
  const ColumnData& dictionary = *column.data().dictionary;
  std::unordered_map<std::string_view, std::uint32_t> known;
  Vector<std::uint32_t> codes(static_cast<std::size_t>(dictionary.length) + 1);
  for (std::int64_t i = 0; i < dictionary.length; ++i) {
    if (!dictionary.validity(i)) continue;
    const auto next = static_cast<std::uint32_t>(known.size() + first_code(column));
    codes[i] = known.emplace(dictionary.string_at(i), next).first->second;
  }
  return codes;
}

GroupKeys::GroupKeys(const Table& table, std::span<const int> columns, const Rows& rows) : rows_(rows) {
  for (const int index : columns) fields_.push_back(field_of(table.column(index)));
  if (total_bits() > kCodeBits) {
    for (Field& field : fields_) measure(field);
  }
  exact_ = total_bits() <= kCodeBits;
}

GroupKeys GroupKeys::across_tables(const Table& table, std::span<const int> columns, const Rows& rows) {
  GroupKeys keys(rows);
  for (const int index : columns) {
    Field field = field_of(table.column(index));
    // Integers are their own codes, whatever else is in the column, and strings have none of a dictionary.
    if (field.kind == Kind::integer) field.lowest = first_code(field.column);
    if (field.kind == Kind::entries) field.kind = Kind::text;
    keys.fields_.push_back(std::move(field));
  }
  return keys;
}

GroupKeys::Field GroupKeys::field_of(const Column& column) {
  Field field(column);
  const int null_bits = column.may_have_nulls() ? 1 : 0;
  if (column.type().type == Type::string) {
    field.kind = is_dictionary(column) ? Kind::entries : Kind::text;
    if (is_dictionary(column)) field.entries = number_entries(column);
    field.bits = is_dictionary(column) ? width_of(field.entries.size()) : kTooManyBits;
    return field;
  }
  with_stored_type(column.type().type, [&]<class T>(T) {
    if constexpr (sizeof(T) > sizeof(std::uint64_t)) {
      field.kind = Kind::wide;
      field.bits = kTooManyBits;
    } else if constexpr (!std::is_integral_v<T>) {
      field.kind = Kind::floating;
      field.bits = std::is_same_v<T, double> ? 64 : 32;
    } else {
      field.lowest = static_cast<std::uint64_t>(std::numeric_limits<T>::min());
      field.bits = std::numeric_limits<std::make_unsigned_t<T>>::digits + null_bits;
    }
  });
  return field;
}

void GroupKeys::measure(Field& field) const {
  if (field.kind != Kind::integer) return;
  with_stored_type(field.column.type().type, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      const ValueRange<T> range = range_of<T>(Source(field.column, rows_));
      field.lowest = static_cast<std::uint64_t>(range.lowest);
      const std::uint64_t width = static_cast<std::uint64_t>(range.highest) - field.lowest;
      const std::uint64_t highest = width + first_code(field.column);
      field.bits = highest < width ? kTooManyBits : width_of(highest);
    }
  });
}

int GroupKeys::total_bits() const {
  int bits = 0;
  for (const Field& field : fields_) bits += field.bits;
  return bits;
}

void GroupKeys::load_numbers(const Field& field, std::int64_t begin, std::int64_t size, std::uint64_t* out) const {
  const ColumnData& data = field.column.data();
  const std::uint64_t offset = field.lowest - first_code(field.column);
  if (data.type.type == Type::boolean) {
    std::uint8_t scratch[kBlockRows];
    const std::uint8_t* const bytes = load_booleans(data, rows_, begin, size, scratch);
    for (std::int64_t i = 0; i < size; ++i) out[i] = bytes[i] - offset;
    return;
  }
  with_stored_type(data.type.type, [&]<class T>(T) {
    T scratch[kBlockRows];
    const T* const values = load_values(data, rows_, begin, size, scratch);
    if constexpr (std::is_integral_v<T>) {
      for (std::int64_t i = 0; i < size; ++i) out[i] = static_cast<std::uint64_t>(values[i]) - offset;
    } else if constexpr (sizeof(T) > sizeof(std::uint64_t)) {
      for (std::int64_t i = 0; i < size; ++i) {
        out[i] =
            kernels::mix(static_cast<std::uint64_t>(values[i] >> kCodeBits)) + static_cast<std::uint64_t>(values[i]);
      }
    } else {
      for (std::int64_t i = 0; i < size; ++i) out[i] = code_of(values[i]);
    }
  });
}

void GroupKeys::load_codes(const Field& field, std::int64_t begin, std::int64_t size, std::uint64_t* out) const {
  const ColumnData& data = field.column.data();
  std::uint8_t validity[kBlockRows];
  const std::uint8_t* const valid = load_validity(data, rows_, begin, size, validity);
  if (field.kind == Kind::text) {
    std::string_view scratch[kBlockRows];
    const std::string_view* const strings = load_strings(data, rows_, begin, size, valid, scratch);
    for (std::int64_t i = 0; i < size; ++i) out[i] = std::hash<std::string_view>{}(strings[i]);
  } else if (field.kind == Kind::entries) {
    std::int64_t scratch[kBlockRows];
    const std::int64_t* const indices = load_indices(data, rows_, begin, size, valid, scratch);
    for (std::int64_t i = 0; i < size; ++i) out[i] = field.entries[indices[i]];
  } else {
    load_numbers(field, begin, size, out);
  }
  if (valid == nullptr) return;
  const std::uint64_t null = null_code(field.column.type().type);
  for (std::int64_t i = 0; i < size; ++i) out[i] = valid[i] != 0 ? out[i] : null;
}

void GroupKeys::hash(std::int64_t begin, std::int64_t size, std::uint64_t* out) const {
  std::fill_n(out, size, 0);
  std::uint64_t codes[kBlockRows];
  for (const Field& field : fields_) {
    load_codes(field, begin, size, fields_.size() == 1 ? out : codes);
    if (fields_.size() == 1) break;
    if (exact_) {
      for (std::int64_t i = 0; i < size; ++i) out[i] = out[i] << (field.bits % kCodeBits) | codes[i];
    } else {
      for (std::int64_t i = 0; i < size; ++i) out[i] = kernels::mix(out[i] + kernels::kGoldenRatio + codes[i]);
    }
  }
  for (std::int64_t i = 0; i < size; ++i) out[i] = kernels::mix(out[i]);
}

bool GroupKeys::equal(const Field& field, RowId a, RowId b) const {
  const ColumnData& data = field.column.data();
  const bool has_value = data.validity(a);
  if (has_value != data.validity(b)) return false;
  if (!has_value) return true;
  if (data.type.type == Type::string) return data.string_at(a) == data.string_at(b);
  if (data.type.type == Type::boolean) return boolean_at(data, a) == boolean_at(data, b);
  return with_stored_type(data.type.type, [&]<class T>(T) {
    if constexpr (sizeof(T) > sizeof(std::uint64_t)) {
      return stored<T>(data, a) == stored<T>(data, b);
    } else {
      return code_of(stored<T>(data, a)) == code_of(stored<T>(data, b));
    }
  });
}

void GroupKeys::prefetch(std::int64_t position) const {
  const RowId row = rows_[position];
  for (const Field& field : fields_) {
    const ColumnData& data = field.column.data();
    if (field.kind == Kind::text) {
      if (data.validity(row)) __builtin_prefetch(data.string_at(row).data());
    } else if (data.layout == Layout::plain) {
      __builtin_prefetch(static_cast<const std::byte*>(data.values) + row * data.stride);
    }
  }
}

bool GroupKeys::equal(std::int64_t a, std::int64_t b) const {
  return std::all_of(fields_.begin(), fields_.end(),
                     [&](const Field& field) { return equal(field, rows_[a], rows_[b]); });
}

}  // namespace skyrank::exec
