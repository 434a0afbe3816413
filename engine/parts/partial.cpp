#include <skyrank/partial.hpp>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/arrow_metadata.hpp"
#include "engine/arrow_owned.hpp"
#include "engine/query/utf8.hpp"

namespace skyrank {
inline namespace v0 {
namespace {

constexpr const char* kVersionKey = "skyrank.partial";
constexpr const char* kQueryKey = "skyrank.query";
constexpr const char* kCoversKey = "skyrank.covers";
constexpr const char* kVersion = "2";
constexpr std::size_t kFingerprintDigits = 16;

[[noreturn]] void fail(const std::string& why) { throw DataError("partial answer: " + why); }

std::string to_text(RowRange range) { return std::to_string(range.begin) + "-" + std::to_string(range.end); }

void check_fingerprint(const std::string& fingerprint) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (fingerprint.size() != kFingerprintDigits || !std::ranges::all_of(fingerprint, is_digit)) {
    fail("the fingerprint of its query must be 16 digits of 0-9 and a-f");
  }
}

/// Checks ranges that ascend, drops empty ones and joins neighbours.
std::vector<RowRange> joined(const std::vector<RowRange>& ranges) {
  std::vector<RowRange> result;
  RowId end = 0;
  for (const RowRange range : ranges) {
    if (range.begin < end || range.end < range.begin) {
      fail("the range of rows " + to_text(range) + " must be ascending, from 0, and must not overlap the one before");
    }
    end = range.end;
    if (range.begin == range.end) continue;
    if (!result.empty() && result.back().end == range.begin) {
      result.back().end = range.end;
    } else {
      result.push_back(range);
    }
  }
  return result;
}

void check_rows(const std::vector<RowId>& rows, const std::vector<RowRange>& covers) {
  auto range = covers.begin();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && rows[i] <= rows[i - 1]) {
      fail("row " + std::to_string(rows[i]) + " follows row " + std::to_string(rows[i - 1]) + "; rows must ascend");
    }
    while (range != covers.end() && range->end <= rows[i]) ++range;
    if (range == covers.end() || rows[i] < range->begin) {
      fail("row " + std::to_string(rows[i]) + " is not among the rows that it covers");
    }
  }
}

RowId read_number(std::string_view& text) {
  RowId number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) fail("'skyrank.covers' needs ranges such as 0-100,200-300");
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

void skip(std::string_view& text, char c) {
  if (!text.starts_with(c)) fail("'skyrank.covers' needs ranges such as 0-100,200-300");
  text.remove_prefix(1);
}

std::vector<RowRange> read_covers(std::string_view text) {
  std::vector<RowRange> covers;
  while (!text.empty()) {
    if (!covers.empty()) skip(text, ',');
    RowRange range;
    range.begin = read_number(text);
    skip(text, '-');
    range.end = read_number(text);
    covers.push_back(range);
  }
  return covers;
}

std::string text_of(const std::vector<RowRange>& covers) {
  std::string text;
  for (const RowRange range : covers) text += (text.empty() ? "" : ",") + to_text(range);
  return text;
}

const std::string& value_of(const ArrowMetadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) {
    fail("the metadata of the record batch lack '" + key + "'; export_arrow() of a Partial writes them");
  }
  return found->second;
}

std::vector<RowId> read_rows(const Table& table) {
  if (table.num_columns() == 0) fail("the record batch needs the positions of the rows as its first column");
  const Column& column = table.column(0);
  if (column.type() != DataType(Type::int64)) {
    fail("the first column has the positions of the rows, so it must be int64, not " + to_string(column.type()));
  }
  std::vector<RowId> rows;
  rows.reserve(static_cast<std::size_t>(column.size()));
  const auto* values = static_cast<const RowId*>(column.data().values);
  for (std::int64_t i = 0; i < column.size(); ++i) {
    if (column.is_null(i)) fail("the position of candidate " + std::to_string(i) + " is NULL");
    rows.push_back(values[i]);
  }
  return rows;
}

void check_names(const Table& columns) {
  for (const Column& column : columns.columns()) {
    if (query::find_invalid_utf8(column.name())) fail("a column's name is not UTF-8");
  }
}

}  // namespace

Partial::Partial(std::string fingerprint, std::vector<RowRange> covers, std::vector<RowId> rows, Table columns)
    : fingerprint_(std::move(fingerprint)),
      covers_(joined(covers)),
      rows_(std::move(rows)),
      columns_(std::move(columns)) {
  check_fingerprint(fingerprint_);
  if (static_cast<std::int64_t>(rows_.size()) != columns_.num_rows()) {
    fail("it has " + std::to_string(rows_.size()) + " rows and columns of " + std::to_string(columns_.num_rows()));
  }
  check_rows(rows_, covers_);
}

void Partial::export_arrow(ArrowArray* array, ArrowSchema* schema) const {
  std::string name = "row";
  while (columns_.find(name)) name += '_';
  std::vector<Column> columns = {Column::own(name, rows_)};
  columns.insert(columns.end(), columns_.columns().begin(), columns_.columns().end());
  skyrank::export_arrow(Table(std::move(columns)),
                        {{kVersionKey, kVersion}, {kQueryKey, fingerprint_}, {kCoversKey, text_of(covers_)}}, array,
                        schema);
}

Partial Partial::import_arrow(ArrowArray* array, ArrowSchema* schema) {
  auto taken_array = Owned<ArrowArray>::take(array);
  auto taken_schema = Owned<ArrowSchema>::take(schema);
  const ArrowMetadata metadata = arrow_metadata(*taken_schema);
  const std::string version = value_of(metadata, kVersionKey);
  if (version != kVersion)
    fail("it has version '" + version + "' of the format; this library reads version " + kVersion);
  std::vector<RowRange> covers = read_covers(value_of(metadata, kCoversKey));
  const Table table = skyrank::import_arrow(&*taken_array, &*taken_schema);
  check_names(table);
  std::vector<RowId> rows = read_rows(table);
  const std::vector<Column> columns(table.columns().begin() + 1, table.columns().end());
  return {value_of(metadata, kQueryKey), std::move(covers), std::move(rows),
          columns.empty() ? Table::with_rows(table.num_rows()) : Table(columns)};
}

}  // namespace v0
}  // namespace skyrank
