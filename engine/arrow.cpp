#include <skyrank/arrow.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/arrow_checks.hpp"
#include "engine/arrow_metadata.hpp"
#include "engine/arrow_owned.hpp"
#include "engine/column_traits.hpp"
#include "engine/decimal.hpp"
#include "engine/runtime/column_cache.hpp"
#include "engine/runtime/device_values.hpp"
#include "engine/runtime/stored_values.hpp"

// Imports and exports tables through the Arrow C data interface, without the Arrow library:
// https://arrow.apache.org/docs/format/CDataInterface.html
namespace skyrank {
inline namespace v0 {
namespace {

using arrow_checks::buffers_of_format;
using arrow_checks::check_array;
using arrow_checks::check_batch_structs;
using arrow_checks::check_column_structs;
using arrow_checks::check_rows;
using arrow_checks::check_rows_of_struct;
using arrow_checks::decimal_of_format;
using arrow_checks::DecimalFormat;
using arrow_checks::fail;
using arrow_checks::FormatType;
using arrow_checks::is_column_format;
using arrow_checks::is_string_format;
using arrow_checks::kDate64Format;
using arrow_checks::kFormats;
using arrow_checks::kNullFormat;
using arrow_checks::kTimestampFormats;
using arrow_checks::kViewsFormat;
using arrow_checks::type_of_format;
using arrow_checks::validity_of;

constexpr std::int64_t kMillisecondsPerDay = 86'400'000;

std::string format_of(DataType type) {
  if (is_decimal(type.type)) return "d:" + std::to_string(type.precision) + "," + std::to_string(type.scale);
  if (type.type == Type::timestamp) return kTimestampFormats[static_cast<std::size_t>(type.unit)];
  for (const FormatType& entry : kFormats) {
    if (entry.type == type.type) return entry.format;
  }
  return "u";
}

/// Memory that conversion had to allocate.
class Copies {
 public:
  template <class T>
  const T* keep(std::vector<T> values) {
    auto store = std::make_shared<const std::vector<T>>(std::move(values));
    stores_.push_back(store);
    return store->data();
  }

 private:
  std::vector<std::shared_ptr<const void>> stores_;
};

/// Bits from `offset` on, which are set for the rows that satisfy is_set(row).
template <class IsSet>
std::vector<std::uint8_t> packed_bits(std::int64_t offset, std::int64_t rows, const IsSet& is_set) {
  std::vector<std::uint8_t> bits(static_cast<std::size_t>(offset + rows + 7) / 8);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t bit = offset + row;
    if (is_set(row)) bits[static_cast<std::size_t>(bit / 8)] |= static_cast<std::uint8_t>(1U << (bit % 8));
  }
  return bits;
}

// ---------------------------------------------------------------------------------------------------------- import

/// The memory that the columns of an imported table share.
struct ImportedArray {
  Owned<ArrowArray> array;
  Copies copies;
};

/// Rows [first, first + length) of one array, whose struct was checked.
struct Slice {
  const ArrowArray* array = nullptr;
  std::int64_t first = 0;  ///< counted from the start of the buffers
  std::int64_t length = 0;
  std::string what;  ///< "column 'price'", for messages

  const void* buffer(int index) const { return array->buffers[index]; }
};

/// Returns a column with the rows of a slice, but without its values.
ColumnData rows_of(const Slice& slice, DataType type, Layout layout = Layout::plain) {
  ColumnData data;
  data.type = type;
  data.layout = layout;
  data.length = slice.length;
  data.stride = layout == Layout::plain ? width_in_bytes(type.type) : 0;
  data.validity = validity_of(*slice.array, slice.first, slice.what);
  return data;
}

/// `count` values from the slice's first row on. Viewed in place, or copied where the producer did not align them.
template <class T>
const T* typed_buffer(const Slice& slice, int index, std::int64_t count, Copies& copies) {
  const void* buffer = slice.buffer(index);
  if (buffer == nullptr) fail(slice.what, "has no buffer " + std::to_string(index));
  if (reinterpret_cast<std::uintptr_t>(buffer) % alignof(T) == 0) return static_cast<const T*>(buffer) + slice.first;
  std::vector<T> copy(static_cast<std::size_t>(count));
  std::memcpy(copy.data(), static_cast<const std::byte*>(buffer) + slice.first * std::int64_t{sizeof(T)},
              copy.size() * sizeof(T));
  return copies.keep(std::move(copy));
}

const void* fixed_width_values(const Slice& slice, int width, Copies& copies) {
  if (slice.length == 0) return nullptr;
  switch (width) {
    case 1: return typed_buffer<std::uint8_t>(slice, 1, slice.length, copies);
    case 2: return typed_buffer<std::uint16_t>(slice, 1, slice.length, copies);
    case 4: return typed_buffer<std::uint32_t>(slice, 1, slice.length, copies);
    default: return typed_buffer<std::uint64_t>(slice, 1, slice.length, copies);
  }
}

ColumnData import_booleans(const Slice& slice) {
  ColumnData data = rows_of(slice, Type::boolean, Layout::bits);
  data.values = slice.buffer(1);
  data.bit_offset = slice.first;
  if (data.values == nullptr && slice.length > 0) fail(slice.what, "has no buffer 1");
  return data;
}

ColumnData import_fixed_width(const Slice& slice, DataType type, Copies& copies) {
  if (type.type == Type::boolean) return import_booleans(slice);
  ColumnData data = rows_of(slice, type);
  data.values = fixed_width_values(slice, width_in_bytes(type.type), copies);
  return data;
}

ColumnData import_date64(const Slice& slice, Copies& copies) {
  ColumnData data = rows_of(slice, Type::date);
  if (slice.length == 0) return data;
  const std::int64_t* milliseconds = typed_buffer<std::int64_t>(slice, 1, slice.length, copies);
  std::vector<std::int32_t> days(static_cast<std::size_t>(slice.length));
  for (std::int64_t row = 0; row < slice.length; ++row) {
    if (!data.validity(row)) continue;
    const std::int64_t day = milliseconds[row] / kMillisecondsPerDay;
    const bool whole = milliseconds[row] % kMillisecondsPerDay == 0;
    if (!whole || day != static_cast<std::int32_t>(day)) {
      fail(slice.what, "has in row " + std::to_string(row) + " the date64 value " + std::to_string(milliseconds[row]) +
                           ", which is no " + (whole ? "date of 32 bits" : "whole day in milliseconds"));
    }
    days[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(day);
  }
  data.values = copies.keep(std::move(days));
  return data;
}

/// A stored value of 256 bits.
struct Wide {
  std::uint64_t words[4];

  /// The value, where 128 bits hold it.
  std::optional<Int128> narrow() const {
    const auto value = static_cast<Int128>((UInt128{words[1]} << 64) | words[0]);
    const std::uint64_t sign = value < 0 ? ~std::uint64_t{0} : 0;
    return words[2] == sign && words[3] == sign ? std::optional(value) : std::nullopt;
  }
};

std::optional<Int128> narrow(Wide value) { return value.narrow(); }
template <class Integer>
std::optional<Int128> narrow(Integer value) {
  return Int128{value};
}

/// Decimals whose storage differs from ours, as ours.
template <class From, class To>
const To* converted_decimals(const Slice& slice, const DecimalFormat& decimal, const Validity& validity,
                             Copies& copies) {
  const From* from = typed_buffer<From>(slice, 1, slice.length, copies);
  const Int128 factor = power_of_ten(std::max(-decimal.scale, 0));
  std::vector<To> values(static_cast<std::size_t>(slice.length));
  for (std::int64_t row = 0; row < slice.length; ++row) {
    if (!validity(row)) continue;
    const std::optional<Int128> value = narrow(from[row]);
    Int128 scaled = 0;
    const bool fits = value && !__builtin_mul_overflow(*value, factor, &scaled);
    if (!fits || static_cast<Int128>(static_cast<To>(scaled)) != scaled) {
      fail(slice.what, "has in row " + std::to_string(row) + " a decimal of more than the " +
                           std::to_string(decimal.precision) + " digits that its format announces");
    }
    values[static_cast<std::size_t>(row)] = static_cast<To>(scaled);
  }
  return copies.keep(std::move(values));
}

template <class To>
const To* decimal_values(const Slice& slice, const DecimalFormat& decimal, const Validity& validity, Copies& copies) {
  if (decimal.scale >= 0 && decimal.bits == 8 * static_cast<int>(sizeof(To))) {
    return typed_buffer<To>(slice, 1, slice.length, copies);
  }
  switch (decimal.bits) {
    case 32: return converted_decimals<std::int32_t, To>(slice, decimal, validity, copies);
    case 64: return converted_decimals<std::int64_t, To>(slice, decimal, validity, copies);
    case 128: return converted_decimals<Int128, To>(slice, decimal, validity, copies);
    default: return converted_decimals<Wide, To>(slice, decimal, validity, copies);
  }
}

ColumnData import_decimals(const Slice& slice, const DecimalFormat& decimal, Copies& copies) {
  ColumnData data = rows_of(slice, decimal.type());
  if (slice.length == 0) return data;
  if (data.type.type == Type::decimal64) {
    data.values = decimal_values<std::int64_t>(slice, decimal, data.validity, copies);
  } else {
    data.values = decimal_values<Int128>(slice, decimal, data.validity, copies);
  }
  return data;
}

template <class Offset>
ColumnData import_strings(const Slice& slice, Layout layout, const Offset* ColumnData::*offsets, Copies& copies) {
  ColumnData data = rows_of(slice, Type::string, layout);
  if (slice.length == 0) return data;
  const Offset* ends = typed_buffer<Offset>(slice, 1, slice.length + 1, copies);
  bool ordered = ends[0] >= 0;
  for (std::int64_t row = 0; row < slice.length; ++row) ordered &= ends[row] <= ends[row + 1];
  if (!ordered) fail(slice.what, "has string offsets that do not ascend");
  arrow_checks::checked_extent(ends[slice.length], slice.what, "the last string offset");
  data.*offsets = ends;
  data.values = slice.buffer(2);
  if (data.values == nullptr && ends[slice.length] > ends[0]) fail(slice.what, "has no buffer 2");
  return data;
}

/// An entry of the layout string_view: short strings lie in it, others in one of the buffers behind it.
struct ViewEntry {
  std::int32_t size;
  char prefix[4];
  std::int32_t buffer;
  std::int32_t offset;
};

/// The buffers of an array of the layout string_view: validity, entries, any number of characters, and the sizes of the
/// latter. Producers need not align them.
class ViewBuffers {
 public:
  explicit ViewBuffers(const Slice& slice) : slice_(slice), count_(slice.array->n_buffers - 3) {
    if (slice.buffer(1) == nullptr && slice.length > 0) fail(slice.what, "has no buffer 1");
    if (count_ > 0 && sizes() == nullptr) fail(slice.what, "has no sizes of its buffers");
  }

  std::string_view string_at(std::int64_t row) const {
    constexpr std::int32_t kInline = 12;
    const auto* const stored = static_cast<const std::byte*>(slice_.buffer(1)) + (slice_.first + row) * kEntryBytes;
    const auto entry = loaded<ViewEntry>(stored);
    if (entry.size < 0) fail(slice_.what, "has a string of negative length");
    const auto size = static_cast<std::size_t>(entry.size);
    if (entry.size <= kInline) return {reinterpret_cast<const char*>(stored) + offsetof(ViewEntry, prefix), size};
    if (entry.buffer < 0 || entry.buffer >= count_ || entry.offset < 0 ||
        entry.offset + std::int64_t{entry.size} > size_of(entry.buffer) || slice_.buffer(2 + entry.buffer) == nullptr) {
      fail(slice_.what, "has a string outside its buffers");
    }
    return {static_cast<const char*>(slice_.buffer(2 + entry.buffer)) + entry.offset, size};
  }

 private:
  static constexpr std::int64_t kEntryBytes = sizeof(ViewEntry);

  template <class T>
  static T loaded(const void* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }

  const void* sizes() const { return slice_.array->buffers[count_ + 2]; }
  std::int64_t size_of(std::int64_t buffer) const {
    return loaded<std::int64_t>(static_cast<const std::byte*>(sizes()) + buffer * std::int64_t{sizeof(std::int64_t)});
  }

  const Slice& slice_;
  std::int64_t count_;
};

ColumnData import_string_views(const Slice& slice, Copies& copies) {
  const ViewBuffers buffers(slice);
  ColumnData data = rows_of(slice, Type::string, Layout::views);
  data.stride = sizeof(std::string_view);
  std::vector<std::string_view> views(static_cast<std::size_t>(slice.length));
  for (std::int64_t row = 0; row < slice.length; ++row) {
    if (data.validity(row)) views[static_cast<std::size_t>(row)] = buffers.string_at(row);
  }
  data.values = copies.keep(std::move(views));
  return data;
}

/// Strings that are no dictionary.
ColumnData import_plain_strings(const Slice& slice, std::string_view format, Copies& copies) {
  if (format == kViewsFormat) return import_string_views(slice, copies);
  if (format == "U") return import_strings(slice, Layout::large_utf8, &ColumnData::offsets64, copies);
  return import_strings(slice, Layout::utf8, &ColumnData::offsets32, copies);
}

[[noreturn]] void fail_format(const std::string& what, std::string_view format) {
  fail(what,
       "has the format '" + std::string(format) +
           "', which cannot be read; what can: bool, int8..64, uint8..64, float16..64, decimals of up to 38 digits, "
           "date32, date64, timestamp, utf8, large_utf8, string_view and dictionaries of strings");
}

/// A column without any value has no type; numbers can be compared and ranked.
ColumnData import_nulls(const Slice& slice, Copies& copies) {
  ColumnData data;
  data.length = slice.length;
  data.values = copies.keep(std::vector<double>(1));
  data.validity = {copies.keep(std::vector<std::uint8_t>(static_cast<std::size_t>(slice.length / 8 + 1))), 0};
  return data;
}

/// Returns true if all indices, those of NULL rows too, name an entry.
template <class Index>
bool has_indices_below(std::uint64_t entries, const Index* indices, std::int64_t rows) {
  using Unsigned = std::make_unsigned_t<Index>;
  Unsigned highest = 0;
  for (std::int64_t row = 0; row < rows; ++row) highest = std::max(highest, static_cast<Unsigned>(indices[row]));
  // Negative indices are the highest once they are unsigned.
  return rows == 0 || (highest <= static_cast<Unsigned>(std::numeric_limits<Index>::max()) && highest < entries);
}

/// Marks as NULL the rows whose index is valid but whose dictionary entry is NULL, and checks all valid indices.
template <class Index>
void check_indices(const Slice& slice, ColumnData& data, Copies& copies) {
  const auto* indices = static_cast<const Index*>(data.values);
  const auto entries = static_cast<std::uint64_t>(data.dictionary->length);
  if (!data.dictionary->validity.bits && has_indices_below(entries, indices, data.length)) return;
  std::vector<std::uint8_t> bits;
  for (std::int64_t row = 0; row < data.length; ++row) {
    if (!data.validity(row)) continue;
    // A negative index is beyond every dictionary once it is unsigned.
    if (static_cast<std::uint64_t>(indices[row]) >= entries) {
      fail(slice.what, "has in row " + std::to_string(row) + " the index " + std::to_string(indices[row]) +
                           " into a dictionary of " + std::to_string(entries) + " entries");
    }
    if (data.dictionary->validity(static_cast<std::int64_t>(indices[row]))) continue;
    if (bits.empty()) bits = packed_bits(0, data.length, data.validity);
    bits[static_cast<std::size_t>(row / 8)] &= static_cast<std::uint8_t>(~(1U << (row % 8)));
  }
  if (!bits.empty()) data.validity = {copies.keep(std::move(bits)), 0};
}

void check_indices(const Slice& slice, ColumnData& data, Copies& copies) {
  exec::with_stored_type(data.index_type, [&]<class Index>(Index) {
    if constexpr (std::is_integral_v<Index>) check_indices<Index>(slice, data, copies);
  });
}

ColumnData import_dictionary(const Slice& slice, const ArrowSchema& schema, Copies& copies) {
  const auto index = type_of_format(schema.format);
  if (!index || !is_integer(index->type)) {
    fail(slice.what, "has dictionary indices of the format '" + std::string(schema.format) + "', not integers");
  }
  const std::string what = "dictionary of " + slice.what;
  if (slice.array->dictionary == nullptr) fail(slice.what, "lacks the dictionary that its schema announces");
  const ArrowArray& entries = *slice.array->dictionary;
  if (schema.dictionary->format == nullptr) fail(what, "has no format");
  const std::string_view format = schema.dictionary->format;
  if (schema.dictionary->dictionary != nullptr || !is_string_format(format)) fail_format(what, format);
  check_array(entries, what, buffers_of_format(format), format == kViewsFormat);
  ColumnData words = import_plain_strings({&entries, entries.offset, entries.length, what}, format, copies);

  ColumnData data = import_fixed_width(slice, *index, copies);
  data.type = Type::string;
  data.layout = Layout::dictionary;
  data.index_type = index->type;
  data.dictionary = std::make_shared<const ColumnData>(std::move(words));
  check_indices(slice, data, copies);
  return data;
}

/// The texts of an ordered dictionary in their order, NULL aside.
std::shared_ptr<const exec::Categories> order_of_entries(const ColumnData& entries, const std::string& what) {
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < entries.length; ++i) {
    if (entries.validity(i)) texts.emplace_back(entries.string_at(i));
  }
  try {
    return std::make_shared<const exec::Categories>(std::move(texts));
  } catch (const std::invalid_argument& error) {
    fail(what, std::string("has an ordered dictionary of which ") + error.what());
  }
}

/// The zone or the order of a column, null where it has none.
std::shared_ptr<const exec::ColumnTraits> imported_traits(const ColumnData& data, const ArrowSchema& schema,
                                                          const std::string& what) {
  exec::ColumnTraits traits;
  const std::string_view format = schema.format;
  if (data.type.type == Type::timestamp) traits.zone = format.substr(format.find(':') + 1);
  if (data.layout == Layout::dictionary && (schema.flags & ARROW_FLAG_DICTIONARY_ORDERED) != 0) {
    traits.order = order_of_entries(*data.dictionary, what);
  }
  if (traits.zone.empty() && traits.order == nullptr) return nullptr;
  return std::make_shared<const exec::ColumnTraits>(std::move(traits));
}

ColumnData import_values(const Slice& slice, const ArrowSchema& schema, Copies& copies) {
  if (schema.dictionary != nullptr) return import_dictionary(slice, schema, copies);
  const std::string_view format = schema.format;
  if (is_string_format(format)) return import_plain_strings(slice, format, copies);
  if (format == kDate64Format) return import_date64(slice, copies);
  if (format == kNullFormat) return import_nulls(slice, copies);
  if (const auto decimal = decimal_of_format(format)) return import_decimals(slice, *decimal, copies);
  return import_fixed_width(slice, *type_of_format(format), copies);
}

Column import_column(const ArrowArray& parent, const ArrowArray* array, const ArrowSchema* schema, std::int64_t index,
                     const std::shared_ptr<ImportedArray>& owner) {
  const std::string what = check_column_structs(array, schema, index);
  const std::string name = schema->name == nullptr ? "" : schema->name;
  // The format first: "cannot be read" says more than a wrong number of buffers.
  const std::string_view format = schema->format;
  if (!is_column_format(format)) fail_format(what, format);
  check_rows(parent, *array, what, buffers_of_format(format), format == kViewsFormat);
  ColumnData data = import_values({array, array->offset + parent.offset, parent.length, what}, *schema, owner->copies);
  data.owner = owner;
  const auto traits = imported_traits(data, *schema, what);
  return exec::with_traits({name, std::move(data)}, traits);
}

void check_record_batch(const ArrowArray& array, const ArrowSchema& schema) {
  check_batch_structs(array, schema);
  check_rows_of_struct(validity_of(array, array.offset, "struct"), array.length);
}

// ---------------------------------------------------------------------------------------------------------- export

/// The memory that an exported struct owns; `private_data` points at it.
template <class Struct>
struct Exported {
  std::vector<Owned<Struct>> children;
  std::vector<Struct*> child_pointers;
  Owned<Struct> dictionary;

  explicit Exported(int num_children) : children(static_cast<std::size_t>(num_children)) {
    for (Owned<Struct>& child : children) child_pointers.push_back(&*child);
  }
};

struct ExportedArray : Exported<ArrowArray> {
  using Exported::Exported;
  std::vector<const void*> buffers;
  Copies copies;
  ColumnData viewed;  ///< shares the ownership of the column's memory
};

struct ExportedSchema : Exported<ArrowSchema> {
  using Exported::Exported;
  std::string format;
  std::string name;
  std::string metadata;  ///< encoded; empty for none
};

/// Fills the members that arrays and schemas have in common, and moves the ownership to the struct.
template <class Struct, class Content>
Owned<Struct> finish(Struct filled, std::unique_ptr<Content> content) noexcept {
  filled.n_children = static_cast<std::int64_t>(content->children.size());
  filled.children = content->child_pointers.empty() ? nullptr : content->child_pointers.data();
  filled.dictionary = content->dictionary->release == nullptr ? nullptr : &*content->dictionary;
  filled.release = [](Struct* released) {
    delete static_cast<Content*>(released->private_data);
    released->private_data = nullptr;
    released->release = nullptr;
  };
  filled.private_data = content.release();
  return Owned<Struct>(filled);
}

Owned<ArrowArray> finish_array(std::unique_ptr<ExportedArray> content, std::int64_t length, std::int64_t offset) {
  ArrowArray array{};
  array.length = length;
  array.null_count = content->buffers[0] == nullptr ? 0 : -1;
  array.offset = offset;
  array.n_buffers = static_cast<std::int64_t>(content->buffers.size());
  array.buffers = content->buffers.data();
  return finish(array, std::move(content));
}

Owned<ArrowSchema> finish_schema(std::unique_ptr<ExportedSchema> content, std::int64_t flags) {
  ArrowSchema schema{};
  schema.format = content->format.c_str();
  schema.name = content->name.c_str();
  schema.metadata = content->metadata.empty() ? nullptr : content->metadata.data();
  schema.flags = flags;
  return finish(schema, std::move(content));
}

/// A bitmap in which `row` stands at bit `offset + row`, for an offset below 8: the given one from its nearest byte
/// where that fits, else a copy.
const std::uint8_t* bitmap_at(const Validity& bits, std::int64_t rows, std::int64_t offset, Copies& copies) {
  if (bits.bits == nullptr) return nullptr;
  if (bits.offset % 8 == offset) return bits.bits + bits.offset / 8;
  return copies.keep(packed_bits(offset, rows, bits));
}

const void* contiguous(const ColumnData& data, int width, Copies& copies) {
  if (data.stride == width || data.length == 0) return data.values;
  std::vector<std::byte> copy(checked_multiply(data.length, width, "the size of a column"));
  for (std::int64_t row = 0; row < data.length; ++row) {
    std::memcpy(copy.data() + row * width, static_cast<const std::byte*>(data.values) + row * data.stride,
                static_cast<std::size_t>(width));
  }
  return copies.keep(std::move(copy));
}

const void* packed_booleans(const ColumnData& data, Copies& copies) {
  const auto* bytes = static_cast<const std::uint8_t*>(data.values);
  return copies.keep(packed_bits(0, data.length, [&](std::int64_t row) { return bytes[row * data.stride] != 0; }));
}

/// Decimals of 64 bits in the 128 bits that every consumer reads.
const void* widened_decimals(const ColumnData& data, Copies& copies) {
  std::vector<Int128> values(static_cast<std::size_t>(data.length));
  for (std::int64_t row = 0; row < data.length; ++row) {
    std::int64_t value = 0;
    std::memcpy(&value, static_cast<const std::byte*>(data.values) + row * data.stride, sizeof value);
    values[static_cast<std::size_t>(row)] = value;
  }
  return copies.keep(std::move(values));
}

/// Values of a plain layout side by side, as their format has them.
const void* plain_values(const ColumnData& data, Copies& copies) {
  if (data.type.type == Type::boolean) return packed_booleans(data, copies);
  if (data.type.type == Type::decimal64) return widened_decimals(data, copies);
  return contiguous(data, width_in_bytes(data.type.type), copies);
}

std::int64_t total_bytes(const ColumnData& data) {
  std::int64_t total = 0;
  for (std::int64_t row = 0; row < data.length; ++row) {
    if (data.validity(row)) total += static_cast<std::int64_t>(data.string_at(row).size());
  }
  return total;
}

/// Returns true if viewed strings need 64-bit offsets once they are copied side by side.
bool needs_large_offsets(const ColumnData& data) {
  return data.layout == Layout::large_utf8 ||
         (data.layout == Layout::views && total_bytes(data) > std::numeric_limits<std::int32_t>::max());
}

template <class Offset>
std::vector<const void*> packed_strings(const ColumnData& data, Copies& copies) {
  std::vector<Offset> offsets = {0};
  std::vector<char> characters;
  offsets.reserve(static_cast<std::size_t>(data.length) + 1);
  for (std::int64_t row = 0; row < data.length; ++row) {
    const std::string_view text = data.validity(row) ? data.string_at(row) : std::string_view();
    characters.insert(characters.end(), text.begin(), text.end());
    offsets.push_back(static_cast<Offset>(characters.size()));
  }
  return {nullptr, copies.keep(std::move(offsets)), copies.keep(std::move(characters))};
}

std::vector<const void*> string_buffers(const ColumnData& data, bool large, Copies& copies) {
  if (data.layout == Layout::views) {
    return large ? packed_strings<std::int64_t>(data, copies) : packed_strings<std::int32_t>(data, copies);
  }
  static constexpr std::int64_t kNoOffsets = 0;  // an empty array has one offset all the same
  const void* offsets = large ? static_cast<const void*>(data.offsets64) : static_cast<const void*>(data.offsets32);
  return {nullptr, offsets == nullptr ? &kNoOffsets : offsets, data.values};
}

/// Metadata as the interface lays them out: the number of pairs, then keys and values, each after its length.
std::string encoded(const ArrowMetadata& metadata) {
  if (metadata.empty()) return {};
  std::string bytes;
  const auto add_number = [&](std::size_t number) {
    const auto value = static_cast<std::int32_t>(number);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  add_number(metadata.size());
  for (const auto& [key, value] : metadata) {
    for (const std::string& text : {key, value}) {
      add_number(text.size());
      bytes += text;
    }
  }
  return bytes;
}

struct ExportedColumn {
  Owned<ArrowArray> array;
  Owned<ArrowSchema> schema;
};

/// The texts of an order as a column.
ColumnData entries_of(const exec::Categories& order) { return Column::own("", order.texts()).data(); }

/// Returns true if the entries of a column's dictionary are the texts of an order.
bool are_entries(const exec::Categories& order, const ColumnData& data) {
  if (data.layout != Layout::dictionary || data.dictionary->validity.bits != nullptr) return false;
  const ColumnData& entries = *data.dictionary;
  if (entries.length != static_cast<std::int64_t>(order.texts().size())) return false;
  std::int64_t at = 0;
  return std::ranges::all_of(order.texts(), [&](const std::string& text) { return entries.string_at(at++) == text; });
}

/// The same strings as indices into the texts of their order.
ColumnData encoded_by(const exec::Categories& order, const ColumnData& data, Copies& copies) {
  std::vector<std::int32_t> indices(static_cast<std::size_t>(data.length));
  for (std::int64_t row = 0; row < data.length; ++row) {
    if (!data.validity(row)) continue;
    const auto rank = order.rank(data.string_at(row));
    if (!rank) throw DataError("'" + std::string(data.string_at(row)) + "' is none of the categories of its column");
    indices[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(*rank);
  }
  ColumnData encoded = data;
  encoded.layout = Layout::dictionary;
  encoded.index_type = Type::int32;
  encoded.stride = sizeof(std::int32_t);
  encoded.values = copies.keep(std::move(indices));
  encoded.dictionary = std::make_shared<const ColumnData>(entries_of(order));
  return encoded;
}

ExportedColumn export_column(const ColumnData& data, const std::string& name);

/// A column of strings that rank by an order, as an ordered dictionary.
ExportedColumn export_ordered(const exec::Categories& order, const ColumnData& data, const std::string& name) {
  Copies copies;
  ColumnData encoded = are_entries(order, data) ? data : encoded_by(order, data, copies);
  encoded.owner = std::make_shared<const std::pair<Copies, std::shared_ptr<const void>>>(copies, data.owner);
  exec::drop_kept(encoded);
  ExportedColumn exported = export_column(encoded, name);
  exported.schema->flags |= ARROW_FLAG_DICTIONARY_ORDERED;
  return exported;
}

ExportedColumn export_column(const ColumnData& data, const std::string& name) {
  exec::copy_to_host(data);
  if (const auto order = exec::order_of(data)) return export_ordered(*order, data, name);
  auto array = std::make_unique<ExportedArray>(0);
  auto schema = std::make_unique<ExportedSchema>(0);
  array->viewed = data;
  schema->name = name;
  schema->format = format_of(data.type);
  std::int64_t offset = 0;
  switch (data.layout) {
    case Layout::plain:
      if (data.type.type == Type::timestamp) schema->format += exec::zone_of(data);
      array->buffers = {nullptr, plain_values(data, array->copies)};
      break;
    case Layout::bits:
      offset = data.bit_offset % 8;
      array->buffers = {nullptr, static_cast<const std::uint8_t*>(data.values) + data.bit_offset / 8};
      break;
    case Layout::utf8:
    case Layout::large_utf8:
    case Layout::views: {
      const bool large = needs_large_offsets(data);
      schema->format = large ? "U" : "u";
      array->buffers = string_buffers(data, large, array->copies);
      break;
    }
    case Layout::dictionary: {
      schema->format = format_of(data.index_type);
      array->buffers = {nullptr, contiguous(data, width_in_bytes(data.index_type), array->copies)};
      ExportedColumn words = export_column(*data.dictionary, "");
      array->dictionary = std::move(words.array);
      schema->dictionary = std::move(words.schema);
      break;
    }
  }
  array->buffers[0] = bitmap_at(data.validity, data.length, offset, array->copies);
  return {finish_array(std::move(array), data.length, offset), finish_schema(std::move(schema), ARROW_FLAG_NULLABLE)};
}

}  // namespace

ArrowMetadata arrow_metadata(const ArrowSchema& schema) {
  ArrowMetadata metadata;
  const char* at = schema.metadata;
  if (schema.release == nullptr || at == nullptr) return metadata;
  const auto read_number = [&] {
    std::int32_t number = 0;
    std::memcpy(&number, at, sizeof number);
    if (number < 0) fail("schema", "has metadata with the negative length " + std::to_string(number));
    at += sizeof number;
    return number;
  };
  const auto read_text = [&] {
    const std::int32_t size = read_number();
    return std::string(std::exchange(at, at + size), static_cast<std::size_t>(size));
  };
  for (std::int32_t pairs = read_number(); pairs > 0; --pairs) {
    std::string key = read_text();
    metadata[std::move(key)] = read_text();
  }
  return metadata;
}

Table import_arrow(ArrowArray* array, ArrowSchema* schema) {
  auto taken_array = Owned<ArrowArray>::take(array);
  auto taken_schema = Owned<ArrowSchema>::take(schema);
  check_record_batch(*taken_array, *taken_schema);
  auto owner = std::make_shared<ImportedArray>();
  owner->array = std::move(taken_array);
  const ArrowArray& batch = *owner->array;
  std::vector<Column> columns;
  for (std::int64_t i = 0; i < batch.n_children; ++i) {
    columns.push_back(import_column(batch, batch.children[i], taken_schema->children[i], i, owner));
  }
  return columns.empty() ? Table::with_rows(batch.length) : Table(std::move(columns));
}

void export_arrow(const Table& table, ArrowArray* array, ArrowSchema* schema) {
  export_arrow(table, {}, array, schema);
}

void export_arrow(const Table& table, const ArrowMetadata& metadata, ArrowArray* array, ArrowSchema* schema) {
  if (array == nullptr || schema == nullptr) fail("export", "needs two structs to fill, not null pointers");
  auto batch = std::make_unique<ExportedArray>(table.num_columns());
  auto description = std::make_unique<ExportedSchema>(table.num_columns());
  batch->buffers = {nullptr};
  description->format = "+s";
  description->metadata = encoded(metadata);
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    const Column& column = table.columns()[i];
    ExportedColumn exported = export_column(column.data(), column.name());
    batch->children[i] = std::move(exported.array);
    description->children[i] = std::move(exported.schema);
  }
  *array = finish_array(std::move(batch), table.num_rows(), 0).give();
  *schema = finish_schema(std::move(description), 0).give();
}

}  // namespace v0
}  // namespace skyrank
