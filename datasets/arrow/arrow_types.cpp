#include "datasets/arrow/arrow_types.hpp"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/cast.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/bitmap_ops.h>
#include <arrow/util/utf8.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <skyrank/error.hpp>
#include <skyrank/types.hpp>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "datasets/input/input.hpp"

// Maps Arrow's types to those of SkyRank. Every column of a file passes here once: its type is made normal, its values
// are checked, and where files or blocks disagree, both are converted to a common type that holds all values exactly.
// Whatever a file claims (offsets, indices, UTF-8) is checked before it is followed.
namespace skyrank::datasets {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;
using ValuesPtr = std::shared_ptr<arrow::ChunkedArray>;

bool is_text(const arrow::DataType& type) {
  return type.id() == arrow::Type::STRING || type.id() == arrow::Type::LARGE_STRING;
}

TypePtr normal_dictionary(const arrow::DictionaryType& type) {
  TypePtr values = normal_type(type.value_type());
  if (values == nullptr || !is_text(*values)) return values;
  return arrow::dictionary(type.index_type(), values, type.ordered());
}

// Gives values another type that their memory serves as it is.
ValuesPtr reinterpret(const ValuesPtr& values, const TypePtr& type, const std::string& file,
                      const std::string& column) {
  auto result = values->View(type);
  check(result.status(), file, "column '" + column + "'");
  return *std::move(result);
}

ValuesPtr storage_of(const arrow::ChunkedArray& values) {
  arrow::ArrayVector chunks;
  for (const auto& chunk : values.chunks()) {
    chunks.push_back(static_cast<const arrow::ExtensionArray&>(*chunk).storage());
  }
  const auto& type = static_cast<const arrow::ExtensionType&>(*values.type());
  return std::make_shared<arrow::ChunkedArray>(std::move(chunks), type.storage_type());
}

int integer_bits(const arrow::DataType& type) { return 8 * static_cast<int>(type.byte_width()); }

TypePtr signed_of(int bits) {
  return bits <= 8 ? arrow::int8() : bits <= 16 ? arrow::int16() : bits <= 32 ? arrow::int32() : arrow::int64();
}

TypePtr common_integer(const arrow::DataType& a, const arrow::DataType& b) {
  const arrow::DataType& wide = integer_bits(a) >= integer_bits(b) ? a : b;
  if (arrow::is_signed_integer(a.id()) == arrow::is_signed_integer(b.id())) return wide.GetSharedPtr();
  const arrow::DataType& without_sign = arrow::is_signed_integer(a.id()) ? b : a;
  const arrow::DataType& with_sign = arrow::is_signed_integer(a.id()) ? a : b;
  const int bits = integer_bits(without_sign);
  if (bits == 64) return arrow::uint64();
  return signed_of(std::max(integer_bits(with_sign), 2 * bits));
}

TypePtr common_number(const arrow::DataType& a, const arrow::DataType& b) {
  if (arrow::is_integer(a.id()) && arrow::is_integer(b.id())) return common_integer(a, b);
  if (arrow::is_integer(a.id()) || arrow::is_integer(b.id())) return arrow::float64();
  return (a.id() == arrow::Type::DOUBLE || b.id() == arrow::Type::DOUBLE) ? arrow::float64() : arrow::float32();
}

bool holds_decimals(const arrow::DataType& type) { return arrow::is_decimal(type.id()); }

// A decimal as SkyRank holds it: no more digits behind the point than in all, and none missing before it. Null for one
// of more than 38 digits.
TypePtr normal_decimal(const arrow::DecimalType& type) {
  const std::int64_t scale = type.scale();  // of any size in a file
  const std::int64_t digits = std::max(type.precision() - std::min<std::int64_t>(scale, 0), scale);
  if (type.precision() > kMaxDigits128 || digits > kMaxDigits128) return nullptr;
  if (scale >= 0 && type.id() != arrow::Type::DECIMAL256) return type.GetSharedPtr();
  return arrow::decimal128(static_cast<int>(digits), std::max(type.scale(), 0));
}

// The decimal that holds all integers of a type.
std::pair<int, int> digits_of(const arrow::DataType& type) {
  if (holds_decimals(type)) {
    const auto& decimal = static_cast<const arrow::DecimalType&>(type);
    return {decimal.precision() - decimal.scale(), decimal.scale()};
  }
  const bool without_sign = type.id() == arrow::Type::UINT64;
  switch (integer_bits(type)) {
    case 8: return {3, 0};
    case 16: return {5, 0};
    case 32: return {10, 0};
    default: return {without_sign ? 20 : 19, 0};
  }
}

// Decimals and integers together; null where 38 digits do not hold both.
TypePtr common_decimal(const arrow::DataType& a, const arrow::DataType& b) {
  const auto [before_a, behind_a] = digits_of(a);
  const auto [before_b, behind_b] = digits_of(b);
  const int scale = std::max(behind_a, behind_b);
  const int precision = std::max(before_a, before_b) + scale;
  return precision <= kMaxDigits128 ? arrow::decimal128(std::max(precision, 1), scale) : nullptr;
}

bool is_exact_number(const arrow::DataType& type) { return arrow::is_integer(type.id()) || holds_decimals(type); }

bool is_number(const arrow::DataType& type) { return arrow::is_integer(type.id()) || arrow::is_floating(type.id()); }

TypePtr common_time(const arrow::DataType& a, const arrow::DataType& b) {
  const bool date_first = a.id() == arrow::Type::DATE32;
  const arrow::DataType& other = date_first ? b : a;
  if (other.id() == arrow::Type::DATE32) return arrow::date32();
  const auto& times = static_cast<const arrow::TimestampType&>(other);
  if (date_first || b.id() == arrow::Type::DATE32) return arrow::timestamp(times.unit());
  const auto& others = static_cast<const arrow::TimestampType&>(b);
  const bool have_zones = !times.timezone().empty() && !others.timezone().empty();
  const std::string zone = times.timezone() == others.timezone() ? times.timezone() : have_zones ? "UTC" : "";
  return arrow::timestamp(std::max(times.unit(), others.unit()), zone);
}

bool is_time(const arrow::DataType& type) {
  return type.id() == arrow::Type::DATE32 || type.id() == arrow::Type::TIMESTAMP;
}

bool is_text_or_dictionary(const arrow::DataType& type) {
  return is_text(type) || type.id() == arrow::Type::DICTIONARY;
}

// Calls `look` with each value of a column of 64-bit integers, until it returns true.
template <class Look>
void find_integer(const arrow::ChunkedArray& values, Look look) {
  for (const auto& chunk : values.chunks()) {
    const auto find_in = [&](const auto& array) {
      for (std::int64_t i = 0; i < array.length(); ++i) {
        if (array.IsValid(i) && look(array.Value(i))) return true;
      }
      return false;
    };
    const bool found = chunk->type_id() == arrow::Type::UINT64 ? find_in(static_cast<const arrow::UInt64Array&>(*chunk))
                                                               : find_in(static_cast<const arrow::Int64Array&>(*chunk));
    if (found) return;
  }
}

// The type of bytes that lie in memory as strings of `type` do; null for other types.
TypePtr bytes_type(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::STRING: return arrow::binary();
    case arrow::Type::LARGE_STRING: return arrow::large_binary();
    case arrow::Type::STRING_VIEW: return arrow::binary_view();
    case arrow::Type::DICTIONARY: {
      const auto& dictionary = static_cast<const arrow::DictionaryType&>(type);
      const TypePtr entries = bytes_type(*dictionary.value_type());
      return entries == nullptr ? nullptr : arrow::dictionary(dictionary.index_type(), entries);
    }
    default: return nullptr;
  }
}

template <class Array>
std::optional<std::int64_t> first_not_utf8_of(const arrow::Array& values) {
  const auto& strings = static_cast<const Array&>(values);
  for (std::int64_t i = 0; i < strings.length(); ++i) {
    if (strings.IsValid(i) && !arrow::util::ValidateUTF8(std::string_view(strings.GetView(i)))) return i;
  }
  return std::nullopt;
}

std::optional<std::int64_t> first_not_utf8(const arrow::Array& values);

// The first row that refers to an entry which is not UTF-8. There need not be one.
std::optional<std::int64_t> first_entry_not_utf8(const arrow::DictionaryArray& values) {
  const arrow::Array& entries = *values.dictionary();
  if (!first_not_utf8(entries)) return std::nullopt;
  std::vector<bool> is_wrong;
  for (std::int64_t i = 0; i < entries.length(); ++i)
    is_wrong.push_back(first_not_utf8(*entries.Slice(i, 1)).has_value());
  for (std::int64_t i = 0; i < values.length(); ++i) {
    if (values.IsValid(i) && is_wrong[static_cast<std::size_t>(values.GetValueIndex(i))]) return i;
  }
  return std::nullopt;
}

std::optional<std::int64_t> first_not_utf8(const arrow::Array& values) {
  arrow::util::InitializeUTF8();
  switch (values.type_id()) {
    case arrow::Type::BINARY:
    case arrow::Type::STRING: return first_not_utf8_of<arrow::BinaryArray>(values);
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::LARGE_STRING: return first_not_utf8_of<arrow::LargeBinaryArray>(values);
    case arrow::Type::BINARY_VIEW:
    case arrow::Type::STRING_VIEW: return first_not_utf8_of<arrow::BinaryViewArray>(values);
    case arrow::Type::DICTIONARY: return first_entry_not_utf8(static_cast<const arrow::DictionaryArray&>(values));
    default: return std::nullopt;
  }
}

bool is_all_utf8(const arrow::ChunkedArray& values) {
  return std::all_of(values.chunks().begin(), values.chunks().end(), [](const auto& chunk) {
    if (chunk->type_id() != arrow::Type::DICTIONARY) return !first_not_utf8(*chunk);
    return !first_not_utf8(*static_cast<const arrow::DictionaryArray&>(*chunk).dictionary());
  });
}

std::shared_ptr<arrow::ArrayData> as_bytes(const arrow::ArrayData& strings, const TypePtr& type) {
  auto bytes = strings.Copy();
  bytes->type = type;
  if (type->id() == arrow::Type::DICTIONARY) {
    bytes->dictionary = as_bytes(*strings.dictionary, static_cast<const arrow::DictionaryType&>(*type).value_type());
  }
  return bytes;
}

// Strings as bytes in the same memory, which may be valid where the strings are not; null for other types.
ValuesPtr as_bytes(const arrow::ChunkedArray& values) {
  const TypePtr type = bytes_type(*values.type());
  if (type == nullptr) return nullptr;
  arrow::ArrayVector chunks;
  for (const auto& chunk : values.chunks()) chunks.push_back(arrow::MakeArray(as_bytes(*chunk->data(), type)));
  return std::make_shared<arrow::ChunkedArray>(std::move(chunks), type);
}

template <class Index>
bool has_indices_below(const arrow::Array& indices, std::int64_t entries) {
  using Unsigned = std::make_unsigned_t<Index>;
  const auto* const values = indices.data()->GetValues<Unsigned>(1);
  Unsigned highest = 0;
  for (std::int64_t i = 0; i < indices.length(); ++i) highest = std::max(highest, values[i]);
  // Negative indices are the highest once they are unsigned.
  const auto limit = static_cast<std::uint64_t>(std::numeric_limits<Index>::max());
  return indices.length() == 0 || (highest <= limit && highest < static_cast<std::uint64_t>(entries));
}

bool has_indices_below(const arrow::Array& indices, std::int64_t entries) {
  switch (indices.type_id()) {
    case arrow::Type::INT8: return has_indices_below<std::int8_t>(indices, entries);
    case arrow::Type::INT16: return has_indices_below<std::int16_t>(indices, entries);
    case arrow::Type::INT32: return has_indices_below<std::int32_t>(indices, entries);
    default: return false;
  }
}

// Returns true if the values are those of a sound dictionary, as the library finds too, in more time than decoding them
// takes. A column for which this returns false may be sound all the same.
bool is_sound_dictionary(const arrow::Array& values) {
  if (values.type_id() != arrow::Type::DICTIONARY || !values.Validate().ok()) return false;
  const auto& dictionary = static_cast<const arrow::DictionaryArray&>(values);
  const auto& bits = values.null_bitmap();
  const std::int64_t valid =
      bits == nullptr ? values.length() : arrow::internal::CountSetBits(bits->data(), values.offset(), values.length());
  return values.length() - values.null_count() == valid && dictionary.dictionary()->ValidateFull().ok() &&
         has_indices_below(*dictionary.indices(), dictionary.dictionary()->length());
}

// Whatever a file claims is checked before anything follows its offsets and indices.
void check_values(const arrow::ChunkedArray& values, const std::string& file, const std::string& column) {
  const auto is_sound = [](const auto& chunk) { return is_sound_dictionary(*chunk); };
  if (values.num_chunks() > 0 && std::ranges::all_of(values.chunks(), is_sound)) return;
  const arrow::Status valid = values.ValidateFull();
  if (valid.ok()) return;
  const ValuesPtr bytes = as_bytes(values);
  if (bytes != nullptr && bytes->ValidateFull().ok()) {
    if (const auto row = first_row_not_utf8(*bytes)) {
      throw DataError(file + ": column '" + column + "' has type " + type_of_values(*values.type()).ToString() +
                      ", but row " + std::to_string(*row) +
                      " is not valid UTF-8; write the column as UTF-8, or as binary");
    }
  }
  check(valid, file, "damaged: column '" + column + "'");
}

// Returns an array of which the views of NULL rows are empty. A file may hold anything there, which is not validated,
// and casts follow it.
std::shared_ptr<arrow::Array> with_sound_views(const std::shared_ptr<arrow::Array>& values, const std::string& file,
                                               const std::string& column) {
  if (values->type_id() == arrow::Type::DICTIONARY) {
    const auto& indices = static_cast<const arrow::DictionaryArray&>(*values);
    const auto entries = with_sound_views(indices.dictionary(), file, column);
    return std::make_shared<arrow::DictionaryArray>(values->type(), indices.indices(), entries);
  }
  if (!arrow::is_binary_view_like(values->type_id()) || values->null_count() == 0) return values;
  constexpr std::int64_t kView = 16;
  const auto data = values->data()->Copy();
  auto copied = data->buffers[1]->CopySlice(0, (data->offset + data->length) * kView);
  check(copied.status(), file, "column '" + column + "'");
  std::uint8_t* const views = (*copied)->mutable_data() + data->offset * kView;
  for (std::int64_t row = 0; row < data->length; ++row) {
    if (values->IsNull(row)) std::fill_n(views + row * kView, kView, std::uint8_t{0});
  }
  data->buffers[1] = *std::move(copied);
  return arrow::MakeArray(data);
}

ValuesPtr with_sound_views(const ValuesPtr& values, const std::string& file, const std::string& column) {
  if (!arrow::is_binary_view_like(type_of_values(*values->type()).id())) return values;
  arrow::ArrayVector chunks;
  for (const auto& chunk : values->chunks()) chunks.push_back(with_sound_views(chunk, file, column));
  return std::make_shared<arrow::ChunkedArray>(std::move(chunks), values->type());
}

// Returns true if a double has exactly the value. It compares as numbers: 2^63 as a double is no int64.
template <class T>
bool is_exact(T value) {
  const auto rounded = static_cast<double>(value);
  const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
  return rounded < end && static_cast<T>(rounded) == value;
}

}  // namespace

bool is_bytes(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::BINARY_VIEW: return true;
    case arrow::Type::DICTIONARY: return is_bytes(*static_cast<const arrow::DictionaryType&>(type).value_type());
    default: return false;
  }
}

bool is_ordered_dictionary(const arrow::DataType& type) {
  return type.id() == arrow::Type::DICTIONARY && static_cast<const arrow::DictionaryType&>(type).ordered();
}

ValuesPtr without_order(const ValuesPtr& values) {
  if (!is_ordered_dictionary(*values->type())) return values;
  const auto& ordered = static_cast<const arrow::DictionaryType&>(*values->type());
  const TypePtr type = arrow::dictionary(ordered.index_type(), ordered.value_type(), /*ordered=*/false);
  arrow::ArrayVector chunks;
  for (const auto& chunk : values->chunks()) {
    const auto& entries = static_cast<const arrow::DictionaryArray&>(*chunk);
    chunks.push_back(std::make_shared<arrow::DictionaryArray>(type, entries.indices(), entries.dictionary()));
  }
  return std::make_shared<arrow::ChunkedArray>(std::move(chunks), type);
}

const arrow::DataType& type_of_values(const arrow::DataType& type) {
  // NOLINTNEXTLINE(bugprone-return-const-ref-from-parameter): callers keep the type
  if (type.id() != arrow::Type::DICTIONARY) return type;
  return *static_cast<const arrow::DictionaryType&>(type).value_type();
}

TypePtr normal_type(const TypePtr& type) {
  switch (type->id()) {
    case arrow::Type::NA:
    case arrow::Type::BOOL:
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::INT64:
    case arrow::Type::UINT8:
    case arrow::Type::UINT16:
    case arrow::Type::UINT32:
    case arrow::Type::UINT64:
    case arrow::Type::HALF_FLOAT:
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE:
    case arrow::Type::DATE32:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING: return type;
    case arrow::Type::DATE64: return arrow::date32();
    case arrow::Type::BINARY:
    case arrow::Type::BINARY_VIEW:
    case arrow::Type::STRING_VIEW: return arrow::utf8();
    case arrow::Type::LARGE_BINARY: return arrow::large_utf8();
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256: return normal_decimal(static_cast<const arrow::DecimalType&>(*type));
    case arrow::Type::DICTIONARY: return normal_dictionary(static_cast<const arrow::DictionaryType&>(*type));
    case arrow::Type::EXTENSION: return normal_type(static_cast<const arrow::ExtensionType&>(*type).storage_type());
    default: return nullptr;
  }
}

ValuesPtr normalise(const ValuesPtr& values, const std::string& file, const std::string& column) {
  if (values->type()->id() == arrow::Type::EXTENSION) return normalise(storage_of(*values), file, column);
  const TypePtr type = normal_type(values->type());
  check_values(*values, file, column);
  if (values->type()->Equals(type)) return values;
  if (is_bytes(*values->type()) && !is_all_utf8(*values)) return nullptr;
  switch (values->type()->id()) {
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY: return reinterpret(values, type, file, column);
    default: return convert(with_sound_views(values, file, column), type, file, column);
  }
}

TypePtr common_type(const TypePtr& a, const TypePtr& b) {
  if (a->Equals(b) || b->id() == arrow::Type::NA) return a;
  if (a->id() == arrow::Type::NA) return b;
  if (is_number(*a) && is_number(*b)) return common_number(*a, *b);
  if (is_exact_number(*a) && is_exact_number(*b)) return common_decimal(*a, *b);
  if (is_time(*a) && is_time(*b)) return common_time(*a, *b);
  if (is_text_or_dictionary(*a) && is_text_or_dictionary(*b)) return arrow::large_utf8();
  return nullptr;
}

ValuesPtr convert(const ValuesPtr& values, const TypePtr& type, const std::string& file, const std::string& column) {
  if (values->type()->Equals(type)) return values;
  if (values->type()->id() == arrow::Type::NA) {
    auto nulls = arrow::MakeArrayOfNull(type, values->length());
    check(nulls.status(), file, "column '" + column + "'");
    return std::make_shared<arrow::ChunkedArray>(*std::move(nulls));
  }
  if (values->type()->id() == arrow::Type::TIMESTAMP && type->id() == arrow::Type::TIMESTAMP) {
    // Ticks count from the epoch in UTC, whatever the zones are.
    const auto unit = static_cast<const arrow::TimestampType&>(*values->type()).unit();
    const TypePtr shown = arrow::timestamp(unit, static_cast<const arrow::TimestampType&>(*type).timezone());
    if (!values->type()->Equals(shown)) {
      return convert(reinterpret(values, shown, file, column), type, file, column);
    }
  }
  auto options = arrow::compute::CastOptions::Safe(type);
  // To the library, no integer beyond 2^53 is safe; some are exact all the same.
  if (const auto inexact = first_inexact(*values, *type)) {
    throw DataError(file + ": column '" + column + "' holds " + *inexact + ", which " + type->ToString() +
                    " does not hold exactly");
  }
  options.allow_float_truncate = arrow::is_integer(values->type()->id());
  auto result = arrow::compute::Cast(values, options);
  check(result.status(), file, "column '" + column + "' as " + type->ToString());
  return result->chunked_array();
}

IntegerRange integer_range(const ValuesPtr& values) {
  IntegerRange range;
  if (!arrow::is_integer(values->type()->id())) return range;
  if (values->type()->id() != arrow::Type::UINT64) {
    const ValuesPtr wide = convert(values, arrow::int64(), "table", "values");
    find_integer(*wide, [&](auto value) { return range.has_negative = value < 0; });
    return range;
  }
  find_integer(*values, [&](auto value) {
    return range.beyond_int64 = static_cast<std::uint64_t>(value) > std::numeric_limits<std::int64_t>::max();
  });
  return range;
}

std::optional<std::string> first_inexact(const arrow::ChunkedArray& values, const arrow::DataType& type) {
  const arrow::Type::type from = values.type()->id();
  if (type.id() != arrow::Type::DOUBLE || (from != arrow::Type::INT64 && from != arrow::Type::UINT64)) return {};
  std::optional<std::string> found;
  find_integer(values, [&](auto value) {
    if (!is_exact(value)) found = std::to_string(value);
    return found.has_value();
  });
  return found;
}

std::optional<std::int64_t> first_row_not_utf8(const arrow::ChunkedArray& values) {
  std::int64_t rows_before = 0;
  for (const auto& chunk : values.chunks()) {
    if (const auto row = first_not_utf8(*chunk)) return rows_before + *row;
    rows_before += chunk->length();
  }
  return std::nullopt;
}

std::optional<std::string> reason_against_text(const arrow::ChunkedArray& bytes, std::int64_t first_row) {
  if (is_all_utf8(bytes)) return std::nullopt;
  const auto row = first_row_not_utf8(bytes);
  return row ? "row " + std::to_string(first_row + *row) + " is not UTF-8 text"
             : "its dictionary is not all UTF-8 text";
}

void refuse_type(const std::string& file, const UnsupportedColumn& column) {
  const bool decimal = column.type.starts_with("decimal");
  const char* advice = decimal                  ? "cast it to a decimal of at most 38 digits, or to float64"
                       : !column.reason.empty() ? "leave it out, or store it as text such as hexadecimal digits"
                                                : "store its parts as columns of numbers, dates, timestamps, booleans "
                                                  "or strings";
  throw DataError(file + ": column '" + column.name + "' has type " + column.type + ", which SkyRank does not hold" +
                  (column.reason.empty() ? "" : ", as " + column.reason) + "; " + advice);
}

}  // namespace skyrank::datasets
