#include "datasets/json/json_scan.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <skyrank/error.hpp>

#include "datasets/arrow/number_text.hpp"

// Walks through JSON lines once, without making values: it checks the syntax of each record and notes the kinds of
// values that each key has, with the first place of each kind, from which types and messages follow.
namespace skyrank::datasets {
namespace {

constexpr int kMaxLevels = 100;  // of objects and arrays in each other; the parser behind the scan recurses

/// Returns the number of characters of a UTF-8 text.
std::int64_t characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Some characters. Looking each one up is faster than the search of std::string_view for one of several, which calls a
/// function for each character of the text.
class CharacterSet {
 public:
  explicit constexpr CharacterSet(std::string_view characters) {
    for (const char c : characters) contains_[static_cast<unsigned char>(c)] = true;
  }

  constexpr bool contains(char c) const { return contains_[static_cast<unsigned char>(c)]; }

  /// Returns the place of the first of these characters in `text` from `place` on, the text's size where there is none.
  std::size_t find_in(std::string_view text, std::size_t place) const {
    while (place < text.size() && !contains(text[place])) ++place;
    return std::min(place, text.size());
  }

 private:
  std::array<bool, 256> contains_{};
};

constexpr CharacterSet kNumberCharacters("0123456789.eE+-");
constexpr CharacterSet kStringEnds("\"\\\n");
constexpr CharacterSet kNestedEnds("\"{}[]\nNI");

/// Removes the digits at the start of a text. Returns false where there are none.
bool skip_digits(std::string_view& text) {
  const auto digits = static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
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

bool is_word(std::string_view text) { return text == "NaN" || text == "Infinity" || text == "-Infinity"; }

/// Returns the word at the start of a text, or nothing.
std::string_view word_at(std::string_view text) {
  const std::size_t end = text.starts_with('N') ? 3 : text.starts_with('I') ? 8 : text.starts_with("-I") ? 9 : 0;
  return is_word(text.substr(0, end)) ? text.substr(0, end) : std::string_view();
}

}  // namespace

std::string unescaped(std::string_view token) {
  if (token.find('\\') == std::string_view::npos) return std::string(token);
  const auto parsed = nlohmann::json::parse("\"" + std::string(token) + "\"", nullptr, /*allow_exceptions=*/false);
  return parsed.is_string() ? parsed.get<std::string>() : std::string(token);
}

void merge(JsonKey& key, const JsonKey& later) {
  for (std::size_t kind = 0; kind < kJsonKinds; ++kind) {
    if (key.places[kind].line == 0) key.places[kind] = later.places[kind];
  }
  key.numbers.merge(later.numbers);
  key.has_bare_words = key.has_bare_words || later.has_bare_words;
}

JsonScanner::JsonScanner(std::string_view text, const std::string& name, std::int64_t first_line, std::size_t max_keys)
    : text_(text), name_(name), line_(first_line), max_keys_(max_keys) {
  if (first_line == 1 && text_.starts_with("\xEF\xBB\xBF")) line_begin_ = position_ = 3;
}

// Goes on from the place that it was asked for last, so that a long line costs one walk for all its values.
TextPlace JsonScanner::place_of(std::size_t position) const {
  if (counted_line_ != line_begin_ || position < counted_end_) {
    counted_line_ = counted_end_ = line_begin_;
    counted_ = 0;
  }
  counted_ += characters(text_.substr(counted_end_, position - counted_end_));
  counted_end_ = position;
  return {line_, counted_ + 1};
}

TextPlace JsonScanner::place_in_record(std::size_t offset) const {
  const std::string_view before = text_.substr(record_line_begin_, record_begin_ + offset - record_line_begin_);
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return {record_line_ + std::count(before.begin(), before.end(), '\n'), characters(before.substr(line_begin)) + 1};
}

void JsonScanner::fail(const std::string& what) const {
  const TextPlace here = place();
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
    position_ = kStringEnds.find_in(text_, position_);
    if (position_ >= text_.size()) {
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
  const std::size_t value = position_;
  const auto index = static_cast<std::size_t>(&key - keys_.data());
  scan_value(key);
  if (on_value_) on_value_(index, text_.substr(value, position_ - value));
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
  const std::size_t begin = position_;
  const auto is_of = [&](JsonKind kind) {
    TextPlace& first = key.places[static_cast<std::size_t>(kind)];
    if (first.line == 0) first = place_of(begin);
  };
  if (position_ >= text_.size()) fail_cut_short();
  switch (peek()) {
    case '"': is_of(is_word(scan_string()) ? JsonKind::word : JsonKind::string); break;
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

/// Steps over NaN, Infinity or -Infinity without quotes, as Python and JavaScript write them. Returns false where there
/// is none.
bool JsonScanner::scan_bare_word() {
  const std::string_view word = word_at(text_.substr(position_));
  if (word.empty()) return false;
  bare_words_.push_back(position_);
  position_ += word.size();
  return true;
}

void JsonScanner::scan_number(JsonKey& key) {
  if (scan_bare_word()) {
    key.has_bare_words = true;
    return;
  }
  std::size_t end = position_;
  while (end < text_.size() && kNumberCharacters.contains(text_[end])) ++end;
  const std::string_view number = text_.substr(position_, end - position_);
  if (number.empty()) fail("expected a JSON value; texts need quotes");
  if (!is_json_number(number)) fail(shorten(number) + " is no number of JSON, such as 12, -0.5 or 1e3");
  key.numbers.add(number, [&] { return place(); });
  position_ = end;
}

void JsonScanner::skip_nested() {
  int depth = 1;  // the record is a level too
  do {
    position_ = kNestedEnds.find_in(text_, position_);
    if (position_ == text_.size()) fail_cut_short();
    const char c = text_[position_];
    if (c == '"') {
      scan_string();
      continue;
    }
    if (c == 'N' || c == 'I') {
      if (text_[position_ - 1] == '-') --position_;
      if (!scan_bare_word()) fail("expected a JSON value; texts need quotes");
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
