#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <skyrank/arrow.hpp>
#include <skyrank/error.hpp>
#include <skyrank/types.hpp>

#include "engine/checked_size.hpp"
#include "engine/decimal.hpp"

// Checks of Arrow's C structs for importers, wherever the buffers lie: only the last function reads one.
namespace skyrank::arrow_checks {

struct FormatType {
  const char* format;
  Type type;
};

// Formats of fixed width; timestamps and strings stand apart.
inline constexpr FormatType kFormats[] = {
    {"b", Type::boolean}, {"c", Type::int8},    {"s", Type::int16},  {"i", Type::int32},  {"l", Type::int64},
    {"C", Type::uint8},   {"S", Type::uint16},  {"I", Type::uint32}, {"L", Type::uint64}, {"e", Type::float16},
    {"f", Type::float32}, {"g", Type::float64}, {"tdD", Type::date},
};

inline constexpr std::string_view kNullFormat = "n";
inline constexpr std::string_view kDate64Format = "tdm";
inline constexpr std::string_view kViewsFormat = "vu";  // strings whose entries hold short ones

inline constexpr const char* kTimestampFormats[] = {"tss:", "tsm:", "tsu:", "tsn:"};  // by TimeUnit

inline std::optional<DataType> type_of_format(std::string_view format) {
  for (const FormatType& entry : kFormats) {
    if (format == entry.format) return DataType(entry.type);
  }
  for (std::size_t unit = 0; unit < std::size(kTimestampFormats); ++unit) {
    // A time zone follows the colon: it says how to show the ticks, which count in UTC all the same.
    if (format.starts_with(kTimestampFormats[unit])) return DataType(Type::timestamp, static_cast<TimeUnit>(unit));
  }
  return std::nullopt;
}

/// A decimal as Arrow describes it: multiples of 10^-scale, in `bits` bits each.
struct DecimalFormat {
  int precision = 0;
  int scale = 0;
  int bits = 128;

  /// Returns the type that holds the values. A negative scale becomes 0, with more digits before the point.
  DataType type() const {
    return DataType::decimal(std::max(precision - std::min(scale, 0), std::max(scale, 1)), std::max(scale, 0));
  }
};

/// "d:precision,scale" or "d:precision,scale,bits"; nothing for other formats, and for more than 38 digits.
inline std::optional<DecimalFormat> decimal_of_format(std::string_view format) {
  if (!format.starts_with("d:")) return std::nullopt;
  format.remove_prefix(2);
  DecimalFormat decimal;
  int* const parts[] = {&decimal.precision, &decimal.scale, &decimal.bits};
  std::size_t read = 0;
  for (; read < std::size(parts); ++read) {
    const auto [end, error] = std::from_chars(format.data(), format.data() + format.size(), *parts[read]);
    if (error != std::errc()) return std::nullopt;
    format.remove_prefix(static_cast<std::size_t>(end - format.data()));
    if (format.empty()) break;
    if (!format.starts_with(',')) return std::nullopt;
    format.remove_prefix(1);
  }
  const bool known_width = decimal.bits == 32 || decimal.bits == 64 || decimal.bits == 128 || decimal.bits == 256;
  if (read == 0 || read == std::size(parts) || !known_width || decimal.precision < 1) return std::nullopt;
  if (decimal.precision > kMaxDigits128 || decimal.scale > kMaxDigits128 || decimal.scale < -kMaxDigits128) {
    return std::nullopt;
  }
  if (decimal.precision - std::min(decimal.scale, 0) > kMaxDigits128) return std::nullopt;
  return decimal;
}

inline bool is_string_format(std::string_view format) {
  return format == "u" || format == "U" || format == kViewsFormat;
}

/// Returns true for the formats that columns without a dictionary are imported from.
inline bool is_column_format(std::string_view format) {
  return format == kNullFormat || format == kDate64Format || is_string_format(format) || type_of_format(format) ||
         decimal_of_format(format);
}

/// Buffers of an array of such a format. Strings of the layout string_view may have more, between the last two.
inline std::int64_t buffers_of_format(std::string_view format) {
  if (format == kNullFormat) return 0;
  return is_string_format(format) ? 3 : 2;
}

[[noreturn]] inline void fail(const std::string& what, const std::string& why) {
  throw DataError("Arrow " + what + " " + why);
}

/// More rows, and more bytes, than any process has. The interface does not say how long buffers are, so that this is
/// all that lengths and offsets can be checked against; sums and products of them fit 64 bits.
inline constexpr std::int64_t kMaxExtent = std::int64_t{1} << 48;

/// Returns a length, an offset or a number of bytes that a producer states. DataError where it is none.
inline std::int64_t checked_extent(std::int64_t value, const std::string& what, const char* quantity) {
  return static_cast<std::int64_t>(checked_count(value, kMaxExtent, std::string(quantity) + " of Arrow " + what));
}

/// Checks all of an array but its buffers.
inline void check_extents(const ArrowArray& array, const std::string& what) {
  if (array.release == nullptr) fail(what, "was released already");
  if (array.length < 0) fail(what, "has the negative length " + std::to_string(array.length));
  if (array.offset < 0) fail(what, "has the negative offset " + std::to_string(array.offset));
  checked_extent(array.length, what, "the length");
  checked_extent(array.offset, what, "the offset");
  if (array.null_count < -1 || array.null_count > array.length) {
    fail(what, "has the impossible null count " + std::to_string(array.null_count));
  }
}

/// Checks all of an array of `n_buffers` buffers, or of more of them, but what is in these.
inline void check_array(const ArrowArray& array, const std::string& what, std::int64_t n_buffers,
                        bool or_more = false) {
  check_extents(array, what);
  if (or_more ? array.n_buffers < n_buffers : array.n_buffers != n_buffers) {
    fail(what, "has " + std::to_string(array.n_buffers) + " buffers; its format needs " + (or_more ? "at least " : "") +
                   std::to_string(n_buffers));
  }
  if (array.buffers == nullptr && n_buffers > 0) fail(what, "has no buffers");
}

/// Throws DataError for a schema of more than 100 levels of fields within fields; nothing else has to follow them all.
inline void check_levels(const ArrowSchema& schema, int level = 0) {
  constexpr int kMaxLevels = 100;
  if (level > kMaxLevels) fail("schema", "has fields within fields of more than 100 levels");
  for (std::int64_t i = 0; schema.children != nullptr && i < schema.n_children; ++i) {
    if (schema.children[i] != nullptr) check_levels(*schema.children[i], level + 1);
  }
  if (schema.dictionary != nullptr) check_levels(*schema.dictionary, level + 1);
}

/// Checks the structs of a record batch, but not which of its rows are NULL.
inline void check_batch_structs(const ArrowArray& array, const ArrowSchema& schema) {
  if (schema.release == nullptr) fail("schema", "is a null pointer or was released already");
  if (array.release == nullptr) fail("array", "is a null pointer or was released already");
  if (schema.format == nullptr || std::string_view(schema.format) != "+s") {
    fail("schema", std::string("has the format '") + (schema.format == nullptr ? "" : schema.format) +
                       "'; a table needs a struct, '+s'");
  }
  check_array(array, "struct", 1);
  if (array.n_children != schema.n_children || array.n_children < 0) {
    fail("struct",
         "has " + std::to_string(array.n_children) + " children, its schema " + std::to_string(schema.n_children));
  }
  if (array.n_children > 0 && (array.children == nullptr || schema.children == nullptr)) {
    fail("struct", "has no array of children");
  }
}

/// Checks that a column has an array and a schema with a format, and returns its name for messages.
inline std::string check_column_structs(const ArrowArray* array, const ArrowSchema* schema, std::int64_t index) {
  std::string what = "column " + std::to_string(index);
  if (array == nullptr || schema == nullptr) fail(what, "is a null pointer");
  if (schema->release == nullptr) fail(what, "has a schema that was released already");
  if (schema->name != nullptr && *schema->name != '\0') what = "column '" + std::string(schema->name) + "'";
  if (schema->format == nullptr) fail(what, "has no format");
  return what;
}

/// Checks that an array has the rows that its parent needs.
inline void check_length(std::int64_t needed, const ArrowArray& array, const std::string& what) {
  if (array.length >= needed) return;
  fail(what, "has " + std::to_string(array.length) + " rows where its parent needs " + std::to_string(needed));
}

/// Checks an array that has the rows of its parent.
inline void check_rows(const ArrowArray& parent, const ArrowArray& array, const std::string& what,
                       std::int64_t n_buffers, bool or_more = false) {
  check_array(array, what, n_buffers, or_more);
  check_length(parent.offset + parent.length, array, what);
}

/// Returns the validity of rows whose first has bit `first`; without bits where no row is NULL. NULLs may be announced
/// only where there is a bitmap.
inline Validity validity_of(const ArrowArray& array, std::int64_t first, const std::string& what) {
  if (array.null_count == 0) return {};
  const auto* bits = static_cast<const std::uint8_t*>(array.buffers[0]);
  if (bits == nullptr && array.null_count > 0) fail(what, "has NULLs but no validity bitmap");
  return {bits, first};
}

/// Checks that no row of a record batch is NULL as a whole, by bits that the host can read.
inline void check_rows_of_struct(const Validity& valid, std::int64_t rows) {
  for (std::int64_t row = 0; valid.bits != nullptr && row < rows; ++row) {
    if (!valid(row)) fail("struct", "is NULL in row " + std::to_string(row) + "; a table's rows cannot be");
  }
}

}  // namespace skyrank::arrow_checks
