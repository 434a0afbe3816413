#include "datasets/columnar/checks/true_bounds.hpp"

#include <arrow/util/config.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace skyrank::datasets {
namespace {

using Version = std::array<int, 3>;

/// A program that wrote a file, as its field `created_by` says.
struct FileWriter {
  std::string_view name;
  std::optional<Version> version;  // nothing: the program did not tell
};

/// Reads texts such as "parquet-mr version 1.8.1 (build 4aba4d)" and "ClickHouse v25.8.1.1".
FileWriter writer_of(std::string_view created_by) {
  const std::size_t end = std::min(created_by.find(' '), created_by.size());
  FileWriter writer{created_by.substr(0, end), std::nullopt};
  std::string_view text = created_by.substr(end);
  text = text.substr(0, text.find('('));
  const std::size_t digit = text.find_first_of("0123456789");
  if (digit == std::string_view::npos) return writer;
  Version& version = writer.version.emplace();
  const char* at = text.data() + digit;
  const char* const last = text.data() + text.size();
  for (int& number : version) {
    const auto [next, error] = std::from_chars(at, last, number);
    if (error != std::errc() || next == last || *next != '.') break;
    at = next + 1;
  }
  return writer;
}

bool is_unsigned(const parquet::ColumnDescriptor& column) {
  const auto& type = column.logical_type();
  return type != nullptr && type->is_int() && !static_cast<const parquet::IntLogicalType&>(*type).is_signed();
}

bool is_decimal(const parquet::ColumnDescriptor& column) {
  return column.logical_type() != nullptr && column.logical_type()->is_decimal();
}

bool has_bytes(const parquet::ColumnDescriptor& column) {
  return column.physical_type() == parquet::Type::BYTE_ARRAY ||
         column.physical_type() == parquet::Type::FIXED_LEN_BYTE_ARRAY;
}

bool is_decimal_of_bytes(const parquet::ColumnDescriptor& column) { return is_decimal(column) && has_bytes(column); }

bool is_decimal_of_any_length(const parquet::ColumnDescriptor& column) {
  return is_decimal(column) && column.physical_type() == parquet::Type::BYTE_ARRAY;
}

bool is_decimal_of_int32(const parquet::ColumnDescriptor& column) {
  return is_decimal(column) && column.physical_type() == parquet::Type::INT32;
}

bool is_float(const parquet::ColumnDescriptor& column) {
  return column.physical_type() == parquet::Type::FLOAT || column.physical_type() == parquet::Type::DOUBLE;
}

constexpr Version kNoVersion = {1 << 30, 0, 0};  // no version is right, or the right ones do not tell that they are

/// A kind of columns of which versions of a writer before `right` wrote false bounds, often below their maximum and
/// above their minimum, so that they do not look false.
struct FalseBounds {
  std::string_view writer;
  bool (*of)(const parquet::ColumnDescriptor& column);
  Version right;
};

constexpr FalseBounds kFalseBounds[] = {
    {"parquet-mr", has_bytes, {1, 8, 0}},                                   // PARQUET-251: bytes that were used again
    {"", has_bytes, kNoVersion},                                            // PARQUET-297: the same, without a name
    {"parquet-cpp", is_decimal_of_bytes, kNoVersion},                       // PARQUET-1655: each byte has a sign
    {"parquet-cpp-arrow", is_decimal_of_bytes, {4, 0, 0}},                  // PARQUET-1655
    {"parquet-rs", is_decimal_of_bytes, {14, 0, 0}},                        // arrow-rs#1532: bytes without a sign
    {"parquet-rs", is_unsigned, {14, 0, 0}},                                // arrow-rs#1532: numbers with a sign
    {"parquet-rs", is_decimal_of_any_length, kNoVersion},                   // arrow-rs#10860, #11073
    {"parquet-go", is_unsigned, {18, 1, 0}},                                // arrow-go#209
    {"github.com/segmentio/parquet-go", has_bytes, kNoVersion},             // parquet-go#54: bytes that were used again
    {"github.com/parquet-go/parquet-go", has_bytes, {0, 18, 0}},            // parquet-go#54
    {"github.com/parquet-go/parquet-go", is_decimal_of_bytes, {0, 33, 0}},  // parquet-go#592: bytes without a sign
    {"Polars", is_decimal_of_bytes, kNoVersion},                            // polars#29347: the same between pages
    {"Polars", is_unsigned, kNoVersion},                                    // polars#16683: numbers with a sign
    {"ClickHouse", is_decimal_of_bytes, {25, 8, 0}},                        // ClickHouse#83754: bytes without a sign
    {"ClickHouse", is_float, {23, 8, 0}},                                   // ClickHouse#53067: a maximum of infinities
    {"hyparquet", is_decimal_of_int32, kNoVersion},                         // hyparquet-writer#38: bytes of a float
};

bool is_same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

/// Returns true if the order of the bounds is defined. Files that do not tell one have bounds in the order of numbers
/// with a sign.
bool has_defined_order(const parquet::ColumnDescriptor& column) {
  const auto order = column.column_order().get_order();
  if (order == parquet::ColumnOrder::TYPE_DEFINED_ORDER) return column.sort_order() != parquet::SortOrder::UNKNOWN;
  return order == parquet::ColumnOrder::UNDEFINED && column.sort_order() == parquet::SortOrder::SIGNED;
}

/// Returns false if the writer of a file is known for false bounds of such columns.
bool may_have_true_bounds(const parquet::FileMetaData& file, const parquet::ColumnDescriptor& column) {
  const FileWriter writer = writer_of(file.created_by());
  return std::ranges::none_of(kFalseBounds, [&](const FalseBounds& bounds) {
    return is_same_name(bounds.writer, writer.name) && (!writer.version || *writer.version < bounds.right) &&
           bounds.of(column);
  });
}

/// Returns true if bytes have the size of a column's values.
bool has_size_of_value(const std::string& bytes, const parquet::ColumnDescriptor& column) {
  switch (column.physical_type()) {
    case parquet::Type::BYTE_ARRAY: return true;
    case parquet::Type::FIXED_LEN_BYTE_ARRAY: return std::cmp_equal(bytes.size(), column.type_length());
    case parquet::Type::INT96: return false;  // no order that all writers share
    default: return std::cmp_equal(bytes.size(), parquet::GetTypeByteSize(column.physical_type()));
  }
}

std::shared_ptr<parquet::EncodedStatistics> told_statistics(const parquet::ColumnChunkMetaData& chunk) {
  if (!chunk.is_stats_set()) return nullptr;
#if ARROW_VERSION_MAJOR >= 21
  return chunk.encoded_statistics();
#else
  return std::make_shared<parquet::EncodedStatistics>(chunk.statistics()->Encode());
#endif
}

}  // namespace

std::optional<parquet::EncodedStatistics> statistics_of(const parquet::FileMetaData& file, int row_group, int leaf) {
  const parquet::ColumnDescriptor& column = *file.schema()->Column(leaf);
  const auto group = file.RowGroup(row_group);
  const auto told = told_statistics(*group->ColumnChunk(leaf));
  if (told == nullptr) return std::nullopt;
  parquet::EncodedStatistics statistics = *told;
  const bool has_bounds = statistics.has_min && statistics.has_max && has_size_of_value(statistics.min(), column) &&
                          has_size_of_value(statistics.max(), column) && has_defined_order(column) &&
                          may_have_true_bounds(file, column);
  statistics.has_min = has_bounds;
  statistics.has_max = has_bounds;
  const std::int64_t nulls = statistics.null_count;
  const std::int64_t rows = group->num_rows();
  statistics.has_null_count =
      statistics.has_null_count && nulls >= 0 && nulls <= rows && !(has_bounds && nulls == rows);
  return statistics;
}

}  // namespace skyrank::datasets
