#include "datasets/json/json_lines.hpp"

#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
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
#include <optional>
#include <skyrank/error.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "datasets/arrow/arrow_threads.hpp"
#include "datasets/arrow/arrow_types.hpp"
#include "datasets/arrow/text_types.hpp"
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
    case JsonKind::word:
    case JsonKind::string: return "a text";
    case JsonKind::object: return "an object";
    case JsonKind::array: return "an array";
  }
  return "?";
}

JsonColumn with_problem(const JsonKey& key, std::string problem, TextPlace place) {
  return {.name = key.name, .type = arrow::utf8(), .nested = {}, .problem = std::move(problem), .place = place};
}

JsonColumn number_column(const JsonKey& key) {
  const bool has_words = key.has_bare_words || key.place_of(JsonKind::word).line > 0;
  NumberFacts numbers = key.numbers;
  numbers.integers_only = numbers.integers_only && !has_words;
  NumberType type = number_type(numbers);
  if (type.type == nullptr) return with_problem(key, std::move(type.problem), type.place);
  return {.name = key.name,
          .type = std::move(type.type),
          .is_spelled = has_words,
          .nested = {},
          .problem = {},
          .place = {}};
}

std::string_view view_of(const JsonText& text) { return std::string_view(*text.bytes); }

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
      const TextPlace place = scanner.place_in_record(error.byte > 0 ? error.byte - 1 : 0);
      throw DataError("the object is not valid JSON", {text.name, place.line, place.column});
    }
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
  arrow::MemoryPool* const pool = decoding_pool(static_cast<std::uint64_t>(text.bytes->size()));
  ARROW_ASSIGN_OR_RAISE(auto reader, arrow::json::TableReader::Make(pool, blocks.stream(), reading, parsing));
  return read_whole(std::move(reader));
}

/// Returns a text in which the number 0 stands for each of the words NaN, Infinity and -Infinity without quotes, which
/// the parser does not know. All other bytes stay where they are.
JsonText without_bare_words(const JsonText& text) {
  JsonScanner scanner(view_of(text), text.name, text.first_line);
  while (scanner.next()) {
  }
  std::string bytes(view_of(text));
  for (const std::size_t word : scanner.bare_words()) {
    const std::size_t letters = bytes.find_first_not_of("-InfinityNa", word);
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(word), bytes.begin() + static_cast<std::ptrdiff_t>(letters),
              ' ');
    bytes[word] = '0';
  }
  JsonText plain = text;
  plain.bytes = arrow::Buffer::FromString(std::move(bytes));
  return plain;
}

/// The values of some keys as they are spelled, one column for each of `names`.
class SpelledColumns {
 public:
  SpelledColumns(const JsonText& text, std::vector<std::string> names) : text_(text), columns_(names.size()) {
    std::unordered_map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < names.size(); ++i) places.emplace(std::move(names[i]), i);
    JsonScanner scanner(view_of(text), text.name, text.first_line);
    std::vector<std::optional<std::size_t>> column_of_key;
    scanner.on_values([&](std::size_t key, std::string_view token) {
      while (column_of_key.size() <= key) {
        const auto place = places.find(scanner.keys()[column_of_key.size()].name);
        column_of_key.push_back(place == places.end() ? std::nullopt : std::optional(place->second));
      }
      if (column_of_key[key]) append(columns_[*column_of_key[key]], token, scanner.records() - 1);
    });
    while (scanner.next()) {
    }
    for (Texts& column : columns_) finish(column, scanner.records());
  }

  ValuesPtr column(std::size_t index) const {
    return std::make_shared<arrow::ChunkedArray>(columns_[index].chunks, arrow::utf8());
  }

 private:
  struct Texts {
    arrow::StringBuilder builder;
    std::int64_t rows = 0;
    arrow::ArrayVector chunks;
  };

  void append(Texts& column, std::string_view token, std::int64_t row) {
    constexpr std::int64_t kChunkBytes = std::int64_t{1} << 30;
    if (column.builder.value_data_length() > kChunkBytes) finish(column, column.rows);
    check(column.builder.AppendNulls(row - column.rows), text_.name, "values");
    column.rows = row + 1;
    if (token == "null") return check(column.builder.AppendNull(), text_.name, "values");
    const bool is_string = token.starts_with('"');
    check(column.builder.Append(is_string ? unescaped(token.substr(1, token.size() - 2)) : std::string(token)),
          text_.name, "values");
  }

  void finish(Texts& column, std::int64_t rows) {
    check(column.builder.AppendNulls(rows - column.rows), text_.name, "values");
    auto built = column.builder.Finish();
    check(built.status(), text_.name, "values");
    column.chunks.push_back(*std::move(built));
  }

  const JsonText& text_;
  std::vector<Texts> columns_;
};

/// Text and place of the value that a key has in a record, counted from 0.
std::pair<std::string, TextPlace> value_in_record(const JsonText& text, const std::string& name, std::int64_t record) {
  std::pair<std::string, TextPlace> found;
  JsonScanner scanner(view_of(text), text.name, text.first_line);
  scanner.on_values([&](std::size_t key, std::string_view token) {
    if (scanner.records() - 1 != record || scanner.keys()[key].name != name) return;
    found = {token.starts_with('"') ? unescaped(token.substr(1, token.size() - 2)) : std::string(token),
             scanner.place_in_record(static_cast<std::size_t>(token.data() - scanner.record().data()))};
  });
  while (scanner.records() <= record && scanner.next()) {
  }
  return found;
}

/// The values of a column that is read as it is spelled: in its stated type, or as float64.
ValuesPtr spelled_values(const JsonText& text, const arrow::ChunkedArray& texts, const std::string& name,
                         const StatedType* stated) {
  ParsedTexts parsed = parse_texts(texts, stated == nullptr ? TypeChoices{arrow::float64()} : type_choices(*stated));
  if (parsed.values != nullptr) return std::move(parsed.values);
  const auto [value, place] = value_in_record(text, name, parsed.wrong_row);
  throw DataError("column '" + name + "' " + no_value_of(value, stated == nullptr ? "float64" : stated->name),
                  {text.name, place.line, place.column});
}

const JsonColumn& readable(const JsonText& text, const JsonColumn* column, const std::string& name) {
  if (column == nullptr) throw DataError(text.name + ": there is no column '" + name + "'");
  if (!column->problem.empty()) {
    throw DataError("column '" + name + "' " + column->problem, {text.name, column->place.line, column->place.column});
  }
  if (column->type == nullptr) refuse_type(text.name, {.name = name, .type = column->nested});
  return *column;
}

/// Reads the columns `wanted`, but those without values; null where there are no others.
TablePtr parsed_columns(const JsonText& text, const JsonLines& lines, const std::vector<const JsonColumn*>& wanted,
                        const JsonReading& reading) {
  arrow::FieldVector fields;
  for (const JsonColumn* column : wanted) {
    if (column->type->id() != arrow::Type::NA) fields.push_back(arrow::field(column->name, column->type));
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

JsonColumn column_of(const JsonKey& values) {
  JsonKey key = values;
  TextPlace& word = key.places[static_cast<std::size_t>(JsonKind::word)];
  TextPlace& string = key.places[static_cast<std::size_t>(JsonKind::string)];
  const bool has_texts = string.line > 0 || key.place_of(JsonKind::boolean).line > 0;
  if (word.line > 0 && has_texts) {
    if (string.line == 0) string = word;
    word = {};
  }
  std::vector<JsonKind> kinds;
  for (std::size_t i = 1; i < kJsonKinds; ++i) {
    if (key.places[i].line > 0) kinds.push_back(static_cast<JsonKind>(i));
  }
  std::sort(kinds.begin(), kinds.end(), [&](JsonKind a, JsonKind b) {
    const TextPlace& one = key.place_of(a);
    const TextPlace& other = key.place_of(b);
    return std::pair(one.line, one.column) < std::pair(other.line, other.column);
  });
  JsonColumn column{.name = key.name, .type = arrow::null(), .nested = {}, .problem = {}, .place = {}};
  if (kinds.empty()) return column;
  const auto is_number = [](JsonKind kind) { return kind == JsonKind::number || kind == JsonKind::word; };
  if (std::ranges::all_of(kinds, is_number)) return number_column(key);
  if (kinds.size() > 1) {
    return with_problem(key,
                        std::string("is ") + to_string(kinds[1]) + " here, but " + to_string(kinds[0]) + " in line " +
                            std::to_string(key.place_of(kinds[0]).line) + "; a column needs values of one type",
                        key.place_of(kinds[1]));
  }
  switch (kinds.front()) {
    case JsonKind::boolean: column.type = arrow::boolean(); break;
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
  block.lines.has_bare_words = !scanner.bare_words().empty();
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
  lines.has_bare_words = !scanner.bare_words().empty();
  for (const JsonKey& key : scanner.keys()) lines.columns.push_back(column_of(key));
  if (lines.rows > 0) return lines;
  throw DataError("the file is empty; each line should be a JSON object, whose keys name the columns",
                  {text.name, 0, 0});
}

TablePtr json_table(const JsonText& text, const JsonLines& lines, const std::vector<std::string>& names,
                    const JsonReading& reading) {
  const auto stated = [&](const std::string& name) {
    const auto type = reading.types.find(name);
    return type == reading.types.end() ? nullptr : &type->second;
  };
  std::unordered_map<std::string_view, const JsonColumn*> by_name;
  for (const JsonColumn& column : lines.columns) by_name.emplace(column.name, &column);
  std::vector<const JsonColumn*> parsed_ones;
  std::vector<std::string> spelled_ones;
  for (const std::string& name : names) {
    const auto found = by_name.find(name);
    const JsonColumn* const column = found == by_name.end() ? nullptr : found->second;
    const bool is_stated = column != nullptr && stated(name) != nullptr;
    if (is_stated || readable(text, column, name).is_spelled) {
      spelled_ones.push_back(name);
    } else {
      parsed_ones.push_back(column);
    }
  }
  const JsonText plain = lines.has_bare_words ? without_bare_words(text) : text;
  const TablePtr parsed = parsed_columns(plain, lines, parsed_ones, reading);
  std::optional<SpelledColumns> spelled;
  if (!spelled_ones.empty()) spelled.emplace(text, spelled_ones);
  std::size_t next_spelled = 0;
  arrow::FieldVector fields;
  std::vector<ValuesPtr> columns;
  for (const std::string& name : names) {
    ValuesPtr values = parsed == nullptr ? nullptr : parsed->GetColumnByName(name);
    if (next_spelled < spelled_ones.size() && spelled_ones[next_spelled] == name) {
      values = spelled_values(text, *spelled->column(next_spelled++), name, stated(name));
    } else {
      if (values == nullptr) values = no_values(text, lines, name);
      values = normalise(values, text.name, name);
      const bool may_be_times = values->type()->id() == arrow::Type::STRING && !reading.texts.contains(name);
      if (may_be_times) values = inferred_times(std::move(values));
    }
    const bool has_zone = values->type()->id() == arrow::Type::TIMESTAMP && !reading.is_part;
    if (has_zone) values = normalise(values, text.name, name);
    fields.push_back(arrow::field(name, values->type()));
    columns.push_back(std::move(values));
  }
  return arrow::Table::Make(arrow::schema(std::move(fields)), std::move(columns), lines.rows);
}

}  // namespace skyrank::datasets
