#include <skyrank/table.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/column_traits.hpp"
#include "engine/runtime/column_cache.hpp"
#include "engine/runtime/device_values.hpp"
#include "engine/runtime/stored_values.hpp"
#include "engine/runtime/table_sample_cache.hpp"
#include "engine/text.hpp"

// Columns and tables over memory that the caller keeps or hands over. Lengths, widths and names are checked here, so
// that the rest of the engine need not.
namespace skyrank {
namespace {

template <class T>
T load(const ColumnData& data, std::int64_t row) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(data.values) + row * data.stride, sizeof value);
  return value;
}

bool load_bool(const ColumnData& data, std::int64_t row) {
  if (data.layout != Layout::bits) return load<std::uint8_t>(data, row) != 0;
  return Validity{static_cast<const std::uint8_t*>(data.values), data.bit_offset}(row);
}

std::int64_t load_index(const ColumnData& data, std::int64_t row) {
  return exec::with_stored_type(data.index_type, [&]<class T>(T) -> std::int64_t {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<std::int64_t>(load<T>(data, row));
    } else {
      throw std::logic_error("a dictionary column has indices of type " + to_string(data.index_type));
    }
  });
}

Value from_unsigned(std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return value;
  return static_cast<std::int64_t>(value);
}

struct Bits {
  std::vector<std::uint8_t> bytes;

  explicit Bits(const std::vector<bool>& flags) : bytes((flags.size() + 7) / 8) {
    for (std::size_t i = 0; i < flags.size(); ++i) {
      if (flags[i]) bytes[i / 8] = static_cast<std::uint8_t>(bytes[i / 8] | (1U << (i % 8)));
    }
  }
};

void check_length(const std::string& name, std::int64_t n) {
  if (n < 0) throw DataError("column '" + name + "' has the negative length " + std::to_string(n));
}

/// Adds a validity bitmap that the column owns.
void set_validity(const std::string& name, ColumnData& data, const std::vector<bool>& valid) {
  if (valid.empty()) return;
  if (static_cast<std::int64_t>(valid.size()) != data.length) {
    throw DataError("column '" + name + "' has " + std::to_string(data.length) + " values but " +
                    std::to_string(valid.size()) + " validity flags");
  }
  if (std::find(valid.begin(), valid.end(), false) == valid.end()) return;
  struct Both {
    Bits bits;
    std::shared_ptr<const void> values;
  };
  auto both = std::make_shared<const Both>(Both{Bits(valid), std::move(data.owner)});
  data.validity = {both->bits.bytes.data(), 0};
  data.owner = std::move(both);
}

template <class Offset>
struct PackedStrings {
  std::vector<Offset> offsets;
  std::string characters;

  explicit PackedStrings(const std::vector<std::string>& values, std::size_t total) {
    offsets.reserve(values.size() + 1);
    characters.reserve(total);
    for (const std::string& value : values) {
      offsets.push_back(static_cast<Offset>(characters.size()));
      characters += value;
    }
    offsets.push_back(static_cast<Offset>(characters.size()));
  }
};

}  // namespace

std::string_view ColumnData::string_at(std::int64_t row) const {
  switch (layout) {
    case Layout::utf8: return exec::slice(values, offsets32, row);
    case Layout::large_utf8: return exec::slice(values, offsets64, row);
    case Layout::views: return load<std::string_view>(*this, row);
    case Layout::dictionary: return dictionary->string_at(load_index(*this, row));
    case Layout::plain:
    case Layout::bits: break;
  }
  throw std::logic_error("string_at on a column of type " + to_string(type));
}

Column Column::view(std::string name, std::span<const std::string_view> values, Validity validity) {
  ColumnData data;
  data.type = Type::string;
  data.layout = Layout::views;
  data.length = static_cast<std::int64_t>(values.size());
  data.values = values.data();
  data.stride = sizeof(std::string_view);
  data.validity = validity;
  return {std::move(name), std::move(data)};
}

Column Column::view_strided(std::string name, DataType type, const void* values, std::int64_t n,
                            std::int64_t stride_bytes, Validity validity) {
  check_length(name, n);
  if (type.type == Type::string) {
    throw DataError("column '" + name + "': strings have no fixed width; view them as std::string_view");
  }
  if (values == nullptr && n > 0) {
    throw DataError("column '" + name + "' has " + std::to_string(n) + " values at a null pointer");
  }
  ColumnData data;
  data.type = type;
  data.length = n;
  data.values = values;
  data.stride = stride_bytes;
  data.validity = validity;
  return {std::move(name), std::move(data)};
}

Column Column::own(std::string name, const std::vector<bool>& values, const std::vector<bool>& valid) {
  return own_as(std::move(name), Type::boolean, std::vector<std::uint8_t>(values.begin(), values.end()), valid);
}

Column Column::own(std::string name, const std::vector<std::string>& values, const std::vector<bool>& valid) {
  std::size_t total = 0;
  for (const std::string& value : values) total += value.size();
  ColumnData data;
  data.type = Type::string;
  data.length = static_cast<std::int64_t>(values.size());
  const auto pack = [&]<class Offset>(Layout layout, const Offset* ColumnData::*offsets) {
    auto packed = std::make_shared<const PackedStrings<Offset>>(values, total);
    data.layout = layout;
    data.*offsets = packed->offsets.data();
    data.values = packed->characters.data();
    data.owner = std::move(packed);
  };
  if (total <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    pack(Layout::utf8, &ColumnData::offsets32);
  } else {
    pack(Layout::large_utf8, &ColumnData::offsets64);
  }
  set_validity(name, data, valid);
  return {std::move(name), std::move(data)};
}

Column::Column(std::string name, ColumnData data) : name_(std::move(name)), data_(std::move(data)) {
  // Never those of `data`: what it was copied from may have had other values.
  exec::set_kept(data_, exec::pinned_of(data_), exec::spread_of(data_), exec::lent_of(data_), exec::traits_of(data_));
  check_length(name_, data_.length);
}

Value Column::value(std::int64_t row) const {
  if (row < 0 || row >= size()) {
    throw std::out_of_range("row " + std::to_string(row) + " of column '" + name_ + "', which has " +
                            std::to_string(size()) + " rows");
  }
  exec::copy_to_host(data_);
  if (is_null(row)) return Null{};
  switch (data_.type.type) {
    case Type::boolean: return load_bool(data_, row);
    case Type::int8: return std::int64_t{load<std::int8_t>(data_, row)};
    case Type::int16: return std::int64_t{load<std::int16_t>(data_, row)};
    case Type::int32: return std::int64_t{load<std::int32_t>(data_, row)};
    case Type::int64: return load<std::int64_t>(data_, row);
    case Type::uint8: return std::int64_t{load<std::uint8_t>(data_, row)};
    case Type::uint16: return std::int64_t{load<std::uint16_t>(data_, row)};
    case Type::uint32: return std::int64_t{load<std::uint32_t>(data_, row)};
    case Type::uint64: return from_unsigned(load<std::uint64_t>(data_, row));
    case Type::decimal64: return Decimal{load<std::int64_t>(data_, row), data_.type.scale};
    case Type::decimal128: return Decimal{load<Int128>(data_, row), data_.type.scale};
    case Type::float16: return double{static_cast<float>(load<Float16>(data_, row))};
    case Type::float32: return double{load<float>(data_, row)};
    case Type::float64: return load<double>(data_, row);
    case Type::date: return load<Date>(data_, row);
    case Type::timestamp: return Timestamp{load<std::int64_t>(data_, row), data_.type.unit};
    case Type::string: return std::string(data_.string_at(row));
  }
  throw std::logic_error("a column of an unknown type");
}

Column Column::renamed(std::string name) const { return {std::move(name), data_}; }

void Column::check_width(const std::string& name, DataType type, std::size_t bytes) {
  const auto width = static_cast<std::size_t>(width_in_bytes(type.type));
  if (width != bytes) {
    throw DataError("column '" + name + "' of type " + to_string(type) + " needs values of " + std::to_string(width) +
                    " bytes, not " + std::to_string(bytes));
  }
}

Column Column::own_memory(std::string name, DataType type, const void* values, std::int64_t n,
                          std::shared_ptr<const void> owner, const std::vector<bool>& valid) {
  ColumnData data;
  data.type = type;
  data.length = n;
  data.values = values;
  data.stride = width_in_bytes(type.type);
  data.owner = std::move(owner);
  set_validity(name, data, valid);
  return {std::move(name), std::move(data)};
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  if (columns_.empty()) return;
  const Column& first = columns_.front();
  rows_ = first.size();
  std::unordered_set<std::string_view> names;
  for (const Column& column : columns_) {
    if (column.size() != rows_) {
      throw DataError("columns of a table must have equal lengths: '" + first.name() + "' has " +
                      std::to_string(rows_) + " rows, '" + column.name() + "' has " + std::to_string(column.size()));
    }
    if (!names.insert(column.name()).second) throw DataError("two columns are named '" + column.name() + "'");
  }
  kept_ = std::make_shared<Kept>();
}

Table Table::with_rows(std::int64_t rows) {
  if (rows < 0) throw DataError("a table cannot have " + std::to_string(rows) + " rows");
  Table table;
  table.rows_ = rows;
  return table;
}

Table Table::with_unsupported(std::vector<UnsupportedColumn> columns) const {
  Table table = *this;
  table.unsupported_ = std::move(columns);
  return table;
}

const Column& Table::column(std::string_view name) const {
  if (const auto index = find(name)) return column(*index);
  std::vector<std::string> names;
  for (const Column& column : columns_) names.push_back(column.name());
  throw BindError("there is no column '" + std::string(name) + "'" + query::did_you_mean(name, names));
}

std::optional<int> Table::find(std::string_view name) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].name() == name) return static_cast<int>(i);
  }
  return std::nullopt;
}

}  // namespace skyrank
