#include "datasets/json/json_lines.hpp"

#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/cast.h>
#include <arrow/io/interfaces.h>
#include <arrow/json/options.h>
#include <arrow/json/reader.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/utf8.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <skyrank/error.hpp>
#include <utility>

#include "datasets/arrow/arrow_threads.hpp"
#include "datasets/arrow/arrow_types.hpp"
#include "datasets/input/input.hpp"
#include "datasets/json/json_scan.hpp"
#include "engine/stop.hpp"

namespace skyrank::datasets {
namespace {

using ValuesPtr = std::shared_ptr<arrow::ChunkedArray>;
using TablePtr = std::shared_ptr<arrow::Table>;

const char* to_string(JsonKind kind) {
  switch (kind) {
    case JsonKind::null: return "null";
    case JsonKind::boolean: return "a boolean";
    case JsonKind::number: return "a number";
    case JsonKind::string: return "a text";
    case JsonKind::object: return "an object";
    case JsonKind::array: return "an array";
  }
  return "?";
}

JsonColumn with_problem(const JsonKey& key, std::string problem, JsonPlace place) {
  return {.name = key.name, .type = arrow::utf8(), .nested = {}, .problem = std::move(problem), .place = place};
}

JsonColumn number_column(const JsonKey& key) {
  JsonColumn column{.name = key.name, .type = arrow::float64(), .nested = {}, .problem = {}, .place = {}};
  if (key.integers_only && key.fit_int64) column.type = arrow::int64();
  if (key.integers_only && !key.fit_int64 && key.fit_uint64) column.type = arrow::uint64();
  if (column.type->id() != arrow::Type::DOUBLE) return column;
  if (!key.beyond.empty())
    return with_problem(key, "holds " + key.beyond + ", which is beyond float64 (1.8e308)", key.beyond_place);
  if (key.inexact.empty()) return column;
  return with_problem(key,
                      "holds the integer " + key.inexact +
                          ", and no type holds all its numbers exactly; write large integers with a decimal point or "
                          "an exponent to read the nearest float64",
                      key.inexact_place);
}

std::string_view view_of(const JsonText& text) {
  return {reinterpret_cast<const char*>(text.bytes->data()), static_cast<std::size_t>(text.bytes->size())};
}

void refuse_stop(const JsonText& text) {
  if (exec::is_stopped(text.stop)) throw CancelledError("reading " + text.name + " was cancelled");
}

void refuse_invalid_utf8(const JsonText& text) {
  arrow::util::InitializeUTF8();
  const std::string_view view = view_of(text);
  if (view.starts_with("\xFF\xFE") || view.starts_with("\xFE\xFF")) {
    throw DataError("the file is UTF-16; convert it to UTF-8", {text.name, 0, 0});
  }
  if (arrow::util::ValidateUTF8(view)) return;
  std::int64_t line = text.first_line;
  for (std::size_t begin = 0; begin < view.size(); ++line) {
    const std::size_t end = std::min(view.find('\n', begin), view.size());
    if (!arrow::util::ValidateUTF8(view.substr(begin, end - begin))) {
      throw DataError("the line is not valid UTF-8; convert the file to UTF-8", {text.name, line, 0});
    }
    begin = end + 1;
  }
}

/// DataError at the first record that is no JSON; returns where there is none.
void refuse_malformed_records(const JsonText& text) {
  const auto keep_nothing = [](int, nlohmann::json::parse_event_t, nlohmann::json&) { return false; };
  JsonScanner scanner(view_of(text), text.name, text.first_line, text.max_keys);
  while (scanner.next()) {
    try {
      const auto nothing = nlohmann::json::parse(scanner.record(), keep_nothing);
    } catch (const nlohmann::json::out_of_range&) {  // a number such as 1e400, which is valid JSON
    } catch (const nlohmann::json::parse_error& error) {
      const JsonPlace place = scanner.place_in_record(error.byte > 0 ? error.byte - 1 : 0);
      throw DataError("the object is not valid JSON", {text.name, place.line, place.column});
    }
  }
}

arrow::Result<TablePtr> read_table(const std::shared_ptr<arrow::io::InputStream>& input, arrow::MemoryPool* pool,
                                   const arrow::json::ReadOptions& reading, const arrow::json::ParseOptions& parsing) {
  using Reader = std::shared_ptr<arrow::json::TableReader>;
  ARROW_ASSIGN_OR_RAISE(Reader made, arrow::json::TableReader::Make(pool, input, reading, parsing));
  auto reader = std::make_unique<Reader>(std::move(made));
  try {
    return (*reader)->Read();
  } catch (...) {
    // Its destructor would wait without end for the task that the pool had no memory to take.
    static_cast<void>(reader.release());
    throw;
  }
}

arrow::Result<TablePtr> parse(const JsonText& text, const JsonLines& lines, arrow::FieldVector fields,
                              const JsonReading& how) {
  constexpr std::int64_t kUsualBlock = std::int64_t{1} << 20;
  const auto longest = static_cast<std::int64_t>(lines.longest);
  if (longest > std::numeric_limits<std::int32_t>::max() / 2) return arrow::Status::Invalid("an object has over 1 GiB");
  require_reader_thread(text.name);
  auto reading = arrow::json::ReadOptions::Defaults();
  reading.use_threads = how.threads;
  reading.block_size = static_cast<std::int32_t>(std::max(kUsualBlock, 2 * longest));
  auto parsing = arrow::json::ParseOptions::Defaults();
  parsing.explicit_schema = arrow::schema(std::move(fields));
  parsing.newlines_in_values = lines.spans_lines;
  parsing.unexpected_field_behavior = arrow::json::UnexpectedFieldBehavior::Ignore;
  const bool has_mark = view_of(text).starts_with("\xEF\xBB\xBF");
  const ClosedAtEnd blocks(open_blocks(arrow::SliceBuffer(text.bytes, has_mark ? 3 : 0), how.on_read, text.stop));
  return read_table(blocks.stream(), decoding_pool(static_cast<std::uint64_t>(text.bytes->size())), reading, parsing);
}

/// Texts as dates or timestamps where all of them are, as in CSV files.
ValuesPtr inferred(ValuesPtr values) {
  if (values->null_count() == values->length()) return values;
  for (const auto& type :
       {arrow::date32(), arrow::timestamp(arrow::TimeUnit::SECOND), arrow::timestamp(arrow::TimeUnit::NANO)}) {
    auto cast = arrow::compute::Cast(values, arrow::compute::CastOptions::Safe(type));
    if (cast.ok()) return cast->chunked_array();
  }
  return values;
}

const JsonColumn& readable(const JsonText& text, const JsonLines& lines, const std::string& name) {
  const JsonColumn* column = lines.find(name);
  if (column == nullptr) throw DataError(text.name + ": there is no column '" + name + "'");
  if (!column->problem.empty()) {
    throw DataError("column '" + name + "' " + column->problem, {text.name, column->place.line, column->place.column});
  }
  if (column->type == nullptr) refuse_type(text.name, {.name = name, .type = column->nested});
  return *column;
}

/// Reads the columns that have values; null where none has.
TablePtr parsed_columns(const JsonText& text, const JsonLines& lines, const std::vector<std::string>& names,
                        const JsonReading& reading) {
  arrow::FieldVector fields;
  for (const std::string& name : names) {
    const JsonColumn& column = readable(text, lines, name);
    if (column.type->id() != arrow::Type::NA) fields.push_back(arrow::field(name, column.type));
  }
  if (fields.empty()) {
    // The scan lets some mistakes pass that the parser finds.
    refuse_malformed_records(text);
    return nullptr;
  }
  const auto read = parse(text, lines, std::move(fields), reading);
  if (!read.ok() && !read.status().IsCancelled()) refuse_malformed_records(text);
  check(read.status(), text.name, "cannot be read as JSON lines");
  if ((*read)->num_rows() == lines.rows) return *read;
  throw DataError(text.name + ": cannot be read as JSON lines: it has " + std::to_string(lines.rows) +
                  " objects, of which the parser finds " + std::to_string((*read)->num_rows()));
}

/// A column of NULL.
ValuesPtr no_values(const JsonText& text, const JsonLines& lines, const std::string& name) {
  auto nulls = arrow::MakeArrayOfNull(arrow::null(), lines.rows);
  check(nulls.status(), text.name, "column '" + name + "'");
  return std::make_shared<arrow::ChunkedArray>(*std::move(nulls));
}

}  // namespace

JsonColumn column_of(const JsonKey& key) {
  std::vector<JsonKind> kinds;
  for (std::size_t i = 1; i < kJsonKinds; ++i) {
    if (key.places[i].line > 0) kinds.push_back(static_cast<JsonKind>(i));
  }
  std::sort(kinds.begin(), kinds.end(), [&](JsonKind a, JsonKind b) {
    const JsonPlace& one = key.place_of(a);
    const JsonPlace& other = key.place_of(b);
    return std::pair(one.line, one.column) < std::pair(other.line, other.column);
  });
  JsonColumn column{.name = key.name, .type = arrow::null(), .nested = {}, .problem = {}, .place = {}};
  if (kinds.empty()) return column;
  if (kinds.size() > 1) {
    return with_problem(key,
                        std::string("is ") + to_string(kinds[1]) + " here, but " + to_string(kinds[0]) + " in line " +
                            std::to_string(key.place_of(kinds[0]).line) + "; a column needs values of one type",
                        key.place_of(kinds[1]));
  }
  switch (kinds.front()) {
    case JsonKind::boolean: column.type = arrow::boolean(); break;
    case JsonKind::number: return number_column(key);
    case JsonKind::string: column.type = arrow::utf8(); break;
    default: column.type = nullptr; column.nested = kinds.front() == JsonKind::object ? "JSON object" : "JSON array";
  }
  return column;
}

const JsonColumn* JsonLines::find(const std::string& name) const {
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const auto& it) { return it.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

JsonBlock scan_json_block(const JsonText& piece, bool at_end) {
  JsonText text = piece;
  if (!at_end) {
    const std::size_t whole = view_of(piece).rfind('\n') + 1;  // npos + 1 is 0
    text.bytes = arrow::SliceBuffer(piece.bytes, 0, static_cast<std::int64_t>(whole));
  }
  refuse_stop(text);
  refuse_invalid_utf8(text);
  JsonScanner scanner(view_of(text), text.name, text.first_line, text.max_keys);
  JsonBlock block;
  try {
    while (scanner.next()) {
    }
    block.bytes = static_cast<std::size_t>(text.bytes->size());
    block.lines.rows = scanner.records();
  } catch (const DataError&) {
    if (at_end || !scanner.is_cut_short()) throw;
    // The last object goes on in the next piece.
    block.bytes = scanner.record_end();
    block.lines.rows = scanner.records() - 1;
  }
  block.lines.longest = scanner.longest();
  block.lines.spans_lines = scanner.spans_lines();
  block.keys = scanner.keys();
  for (const JsonKey& key : block.keys) block.lines.columns.push_back(column_of(key));
  return block;
}

JsonLines scan_json_lines(const JsonText& text) {
  constexpr std::int64_t kRecordsBetweenLooks = std::int64_t{1} << 12;
  refuse_invalid_utf8(text);
  JsonScanner scanner(view_of(text), text.name, text.first_line, text.max_keys);
  while (scanner.next()) {
    if (scanner.records() % kRecordsBetweenLooks == 0) refuse_stop(text);
  }
  JsonLines lines;
  lines.rows = scanner.records();
  lines.longest = scanner.longest();
  lines.spans_lines = scanner.spans_lines();
  for (const JsonKey& key : scanner.keys()) lines.columns.push_back(column_of(key));
  if (lines.rows > 0) return lines;
  throw DataError("the file is empty; each line should be a JSON object, whose keys name the columns",
                  {text.name, 0, 0});
}

TablePtr json_table(const JsonText& text, const JsonLines& lines, const std::vector<std::string>& names,
                    const JsonReading& reading) {
  const TablePtr parsed = parsed_columns(text, lines, names, reading);
  arrow::FieldVector fields;
  std::vector<ValuesPtr> columns;
  for (const std::string& name : names) {
    ValuesPtr values = parsed == nullptr ? nullptr : parsed->GetColumnByName(name);
    if (values == nullptr) values = no_values(text, lines, name);
    values = normalise(values, text.name, name);
    const bool stays_text = std::find(reading.texts.begin(), reading.texts.end(), name) != reading.texts.end();
    if (values->type()->id() == arrow::Type::STRING && !stays_text) values = inferred(std::move(values));
    fields.push_back(arrow::field(name, values->type()));
    columns.push_back(std::move(values));
  }
  return arrow::Table::Make(arrow::schema(std::move(fields)), std::move(columns), lines.rows);
}

}  // namespace skyrank::datasets
