#include "datasets/json/json_scan.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <skyrank/error.hpp>

#include "datasets/csv/number_text.hpp"

namespace skyrank::datasets {
namespace {

constexpr int kMaxLevels = 100;  // of objects and arrays in each other; the parser behind the scan recurses

/// Returns the text of a string token, its escapes replaced.
std::string unescaped(std::string_view token) {
  if (token.find('\\') == std::string_view::npos) return std::string(token);
  const auto parsed = nlohmann::json::parse("\"" + std::string(token) + "\"", nullptr, /*allow_exceptions=*/false);
  return parsed.is_string() ? parsed.get<std::string>() : std::string(token);
}

/// Returns the number of characters of a UTF-8 text.
std::int64_t characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_number_character(char c) { return is_digit(c) || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'; }

/// Removes the digits at the start of a text. Returns false where there are none.
bool skip_digits(std::string_view& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(digits);
  return digits > 0;
}

/// Returns true for a number as JSON spells it: no plus sign, no leading zeros, digits on both sides of a point.
bool is_json_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.size() > 1 && text[0] == '0' && is_digit(text[1])) return false;
  if (!skip_digits(text)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!skip_digits(text)) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (!skip_digits(text)) return false;
  }
  return text.empty();
}

}  // namespace

void merge(JsonKey& key, const JsonKey& later) {
  for (std::size_t kind = 0; kind < kJsonKinds; ++kind) {
    if (key.places[kind].line == 0) key.places[kind] = later.places[kind];
  }
  key.integers_only = key.integers_only && later.integers_only;
  key.fit_int64 = key.fit_int64 && later.fit_int64;
  key.fit_uint64 = key.fit_uint64 && later.fit_uint64;
  if (key.inexact.empty()) {
    key.inexact = later.inexact;
    key.inexact_place = later.inexact_place;
  }
  if (key.beyond.empty()) {
    key.beyond = later.beyond;
    key.beyond_place = later.beyond_place;
  }
}

JsonScanner::JsonScanner(std::string_view text, const std::string& name, std::int64_t first_line, std::size_t max_keys)
    : text_(text), name_(name), line_(first_line), max_keys_(max_keys) {
  if (first_line == 1 && text_.starts_with("\xEF\xBB\xBF")) line_begin_ = position_ = 3;
}

JsonPlace JsonScanner::place() const {
  return {line_, characters(text_.substr(line_begin_, position_ - line_begin_)) + 1};
}

JsonPlace JsonScanner::place_in_record(std::size_t offset) const {
  const std::string_view before = text_.substr(record_line_begin_, record_begin_ + offset - record_line_begin_);
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return {record_line_ + std::count(before.begin(), before.end(), '\n'), characters(before.substr(line_begin)) + 1};
}

void JsonScanner::fail(const std::string& what) const {
  const JsonPlace here = place();
  throw DataError(what, {name_, here.line, here.column});
}

void JsonScanner::fail_cut_short() {
  cut_short_ = true;
  fail("the last object is cut short");
}

/// Counts the line break at the position, which stays.
void JsonScanner::count_line() {
  ++line_;
  line_begin_ = position_ + 1;
}

void JsonScanner::skip_space() {
  for (; position_ < text_.size(); ++position_) {
    const char c = text_[position_];
    if (c == '\n') count_line();
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
  }
}

bool JsonScanner::next() {
  skip_space();
  if (position_ >= text_.size()) return false;
  record_begin_ = position_;
  record_line_ = line_;
  record_line_begin_ = line_begin_;
  ++records_;
  expected_ = 0;
  if (peek() != '{') fail("expected a JSON object, such as {\"a\": 1}, on each line");
  ++position_;
  skip_space();
  if (peek() == '}') {
    ++position_;
  } else {
    scan_member();
    while (peek() == ',') {
      ++position_;
      skip_space();
      scan_member();
    }
    if (position_ >= text_.size()) fail_cut_short();
    if (peek() != '}') fail("expected ',' or '}' after a value");
    ++position_;
  }
  record_end_ = position_;
  longest_ = std::max(longest_, position_ - record_begin_);
  spans_lines_ = spans_lines_ || line_ != record_line_;
  return true;
}

std::string_view JsonScanner::scan_string() {
  const std::size_t begin = ++position_;
  for (;; ++position_) {
    position_ = text_.find_first_of("\"\\\n", position_);
    if (position_ >= text_.size()) {
      position_ = text_.size();
      cut_short_ = true;
      fail("a string is not closed by a quote");
    }
    if (text_[position_] == '\n') fail("a string is not closed by a quote");
    if (text_[position_] == '"') break;
    ++position_;
  }
  ++position_;
  return text_.substr(begin, position_ - 1 - begin);
}

void JsonScanner::scan_member() {
  if (position_ >= text_.size()) fail_cut_short();
  if (peek() != '"') fail("expected a key in quotes");
  const std::size_t begin = position_;
  JsonKey& key = key_of(scan_string());
  if (key.last_record == records_) {
    position_ = begin;
    fail("the key '" + key.name + "' comes twice in one object");
  }
  key.last_record = records_;
  skip_space();
  if (position_ >= text_.size()) fail_cut_short();
  if (peek() != ':') fail("expected ':' after the key '" + key.name + "'");
  ++position_;
  skip_space();
  scan_value(key);
  skip_space();
}

void JsonScanner::refuse_keys() const {
  throw ResourceError(
      "there are more than " + std::to_string(max_keys_) +
          " keys up to here, which do not fit the limit of memory whatever their values; raise the limit",
      {name_, line_, 0});
}

JsonKey& JsonScanner::key_of(std::string_view token) {
  if (expected_ < keys_.size() && keys_[expected_].name == token) return keys_[expected_++];
  std::string name = unescaped(token);
  const auto [entry, is_new] = index_of_key_.emplace(name, keys_.size());
  if (is_new) {
    if (keys_.size() >= max_keys_) refuse_keys();
    keys_.emplace_back();
    keys_.back().name = std::move(name);
  }
  expected_ = entry->second + 1;
  return keys_[entry->second];
}

void JsonScanner::scan_value(JsonKey& key) {
  const auto is_of = [&](JsonKind kind) {
    JsonPlace& first = key.places[static_cast<std::size_t>(kind)];
    if (first.line == 0) first = place();
  };
  if (position_ >= text_.size()) fail_cut_short();
  switch (peek()) {
    case '"':
      is_of(JsonKind::string);
      scan_string();
      break;
    case '{':
      is_of(JsonKind::object);
      skip_nested();
      break;
    case '[':
      is_of(JsonKind::array);
      skip_nested();
      break;
    case 't':
      is_of(JsonKind::boolean);
      scan_word("true");
      break;
    case 'f':
      is_of(JsonKind::boolean);
      scan_word("false");
      break;
    case 'n':
      is_of(JsonKind::null);
      scan_word("null");
      break;
    default: is_of(JsonKind::number); scan_number(key);
  }
}

void JsonScanner::scan_word(std::string_view word) {
  if (!text_.substr(position_).starts_with(word)) fail("expected a JSON value; texts need quotes");
  position_ += word.size();
}

void JsonScanner::scan_number(JsonKey& key) {
  std::size_t end = position_;
  while (end < text_.size() && is_number_character(text_[end])) ++end;
  const std::string_view number = text_.substr(position_, end - position_);
  if (number.empty()) fail("expected a JSON value; texts need quotes");
  if (!is_json_number(number)) fail(shorten(number) + " is no number of JSON, such as 12, -0.5 or 1e3");
  count_number(key, number);
  position_ = end;
}

void JsonScanner::count_number(JsonKey& key, std::string_view number) const {
  constexpr std::size_t kAlwaysFits = 15;    // digits that both int64 and float64 hold
  constexpr std::size_t kUsualLength = 300;  // bytes of a number that float64 holds, unless it has an exponent
  if (!is_integer(number)) {
    key.integers_only = false;
    const bool is_large = number.find_first_of("eE") != std::string_view::npos || number.size() > kUsualLength;
    if (is_large && key.beyond.empty() && overflows_float64(std::string(number))) {
      key.beyond = shorten(number);
      key.beyond_place = place();
    }
    return;
  }
  if (number.size() <= kAlwaysFits) {
    key.fit_uint64 = key.fit_uint64 && number.front() != '-';
    return;
  }
  key.fit_int64 = key.fit_int64 && fits_int64(number);
  key.fit_uint64 = key.fit_uint64 && fits_uint64(number);
  if (number.size() > kUsualLength && key.beyond.empty() && overflows_float64(std::string(number))) {
    key.beyond = shorten(number);
    key.beyond_place = place();
  }
  if (!key.inexact.empty() || float64_holds(number)) return;
  key.inexact = shorten(number);
  key.inexact_place = place();
}

void JsonScanner::skip_nested() {
  int depth = 1;  // the record is a level too
  do {
    position_ = text_.find_first_of("\"{}[]\n", position_);
    if (position_ == std::string_view::npos) {
      position_ = text_.size();
      fail_cut_short();
    }
    const char c = text_[position_];
    if (c == '"') {
      scan_string();
      continue;
    }
    if (c == '\n') count_line();
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > kMaxLevels) fail("the object is nested more than " + std::to_string(kMaxLevels) + " levels deep");
    ++position_;
  } while (depth > 1);
}

}  // namespace skyrank::datasets
