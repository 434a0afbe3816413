#include "datasets/json/json_lines.hpp"

#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <algorithm>
#include <memory>
#include <skyrank/error.hpp>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "datasets/arrow/arrow_table.hpp"
#include "datasets/arrow/arrow_types.hpp"
#include "datasets/arrow/text_types.hpp"
#include "datasets/input/data_file.hpp"
#include "datasets/input/input.hpp"
#include "datasets/json/json_scan.hpp"

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
  return {.name = key.name, .type = std::move(type.type), .nested = {}, .problem = {}, .place = {}};
}

/// The values of a column of a stated type, given as they are spelled.
ValuesPtr stated_values(const JsonText& text, const arrow::ChunkedArray& spelled, const std::string& name,
                        const StatedType& stated) {
  ParsedTexts parsed = parse_texts(spelled, type_choices(stated));
  if (parsed.values != nullptr) return std::move(parsed.values);
  const TextPlace place = place_of_value(text, name, parsed.wrong_row);
  const auto value = spelled.GetScalar(parsed.wrong_row);
  check(value.status(), text.name, "column '" + name + "'");
  throw DataError("column '" + name + "' " + no_value_of((*value)->ToString(), stated.name),
                  {text.name, place.line, place.column});
}

/// Returns how the values of a column are taken: by their type, or as they are spelled if another type is stated. No
/// type where they cannot be read.
JsonTarget target_of(const JsonColumn& column, const std::map<std::string, StatedType>& types) {
  if (types.contains(column.name)) return {column.name, arrow::utf8(), /*is_spelled=*/true};
  return {column.name, column.problem.empty() ? column.type : nullptr};
}

const JsonColumn& readable(const JsonText& text, const JsonColumn* column, const std::string& name) {
  if (column == nullptr) throw DataError(text.name + ": there is no column '" + name + "'");
  if (!column->problem.empty()) {
    throw DataError("column '" + name + "' " + column->problem, {text.name, column->place.line, column->place.column});
  }
  if (column->type == nullptr) refuse_type(text.name, {.name = name, .type = column->nested});
  return *column;
}

/// Parses the columns `targets` that are not in `values`, and adds them there.
void parse_others(const JsonText& text, std::int64_t rows, std::vector<JsonTarget> targets, JsonValuesByName& values) {
  std::erase_if(targets, [&](const JsonTarget& target) {
    const auto found = values.find(target.name);
    return found != values.end() && found->second.front()->type()->Equals(target.type);
  });
  if (targets.empty()) return;
  std::vector<arrow::ArrayVector> chunks(targets.size());
  parse_parts(text, targets, [&](const JsonPart& part) {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (part.values[i] == nullptr) refuse_changed(text.name);
      chunks[i].push_back(part.values[i]);
    }
    rows -= part.rows;
  });
  if (rows != 0) refuse_changed(text.name);
  for (std::size_t i = 0; i < targets.size(); ++i) values[targets[i].name] = std::move(chunks[i]);
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
  column.has_members = key.has_members;
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

UnsupportedColumn JsonColumn::as_unsupported(bool flattened) const {
  const bool is_object = nested == "JSON object" && !flattened;
  return {.name = name,
          .type = nested,
          .reason = is_object ? "flatten: true or --flatten true makes columns of its members" : ""};
}

const JsonColumn* JsonLines::find(const std::string& name) const {
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const auto& it) { return it.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

std::vector<JsonTarget> targets_of(const std::vector<JsonKey>& first, const ReadOptions& reading) {
  std::vector<std::string> names;
  for (const JsonKey& key : first) names.push_back(key.name);
  const std::vector<std::string> wanted =
      reading.choose_columns ? reading.choose_columns(names) : reading.columns.value_or(std::move(names));
  const std::unordered_set<std::string_view> is_wanted(wanted.begin(), wanted.end());
  std::vector<JsonTarget> targets;
  for (const JsonKey& key : first) {
    if (!is_wanted.contains(key.name)) continue;
    JsonTarget target = target_of(column_of(key), reading.types);
    if (target.type != nullptr && target.type->id() != arrow::Type::NA) targets.push_back(std::move(target));
  }
  return targets;
}

JsonLines scan_json_lines(const JsonText& text, const ReadOptions* reading) {
  JsonLines lines;
  std::vector<JsonKey> keys;
  std::unordered_map<std::string, std::size_t> places;
  std::vector<JsonTarget> targets;
  std::vector<arrow::ArrayVector> values;
  const auto choose = [&](const std::vector<JsonKey>& first) {
    targets = targets_of(first, *reading);
    values.resize(targets.size());
    return targets;
  };
  const auto take = [&](const JsonPart& part) {
    lines.rows += part.rows;
    for (const JsonKey& key : part.keys) {
      const auto [place, is_new] = places.try_emplace(key.name, keys.size());
      if (!is_new) {
        merge(keys[place->second], key);
        continue;
      }
      if (keys.size() >= text.max_keys) refuse_keys(text.max_keys, {text.name, key.first_line(), 0});
      keys.push_back(key);
    }
    for (std::size_t i = 0; i < targets.size(); ++i) values[i].push_back(part.values[i]);
  };
  parse_parts(text, {}, take, reading == nullptr ? ChooseTargets() : choose);
  if (lines.rows == 0) {
    throw DataError("the file is empty; each line should be a JSON object, whose keys name the columns",
                    {text.name, 0, 0});
  }
  for (const JsonKey& key : keys) lines.columns.push_back(column_of(key));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const bool are_of_type = std::ranges::find(values[i], nullptr) == values[i].end();
    if (are_of_type) lines.values[targets[i].name] = std::move(values[i]);
  }
  return lines;
}

TablePtr json_table(const JsonText& text, const JsonLines& lines, const std::vector<std::string>& names,
                    JsonReading reading) {
  std::unordered_map<std::string_view, const JsonColumn*> by_name;
  for (const JsonColumn& column : lines.columns) by_name.emplace(column.name, &column);
  std::vector<JsonTarget> targets;
  for (const std::string& name : names) {
    const auto found = by_name.find(name);
    const JsonColumn* const column = found == by_name.end() ? nullptr : found->second;
    const bool is_stated = column != nullptr && reading.types.contains(name);
    const JsonTarget target = target_of(is_stated ? *column : readable(text, column, name), reading.types);
    if (target.type->id() != arrow::Type::NA) {
      targets.push_back(target);
    } else {
      reading.values.erase(name);
    }
  }
  parse_others(text, lines.rows, targets, reading.values);
  std::vector<arrow::ArrayVector> chunks;
  for (const std::string& name : names) chunks.push_back(std::move(reading.values[name]));
  chunks = join_chunks(std::move(chunks), text.threads != 1);
  arrow::FieldVector fields;
  std::vector<ValuesPtr> columns;
  for (const std::string& name : names) {
    arrow::ArrayVector& of_column = chunks[columns.size()];
    ValuesPtr values =
        of_column.empty() ? no_values(text, lines, name) : std::make_shared<arrow::ChunkedArray>(std::move(of_column));
    if (const auto stated = reading.types.find(name); stated != reading.types.end()) {
      values = stated_values(text, *values, name, stated->second);
    } else {
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
