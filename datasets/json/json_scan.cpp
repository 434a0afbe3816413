#include "datasets/json/json_scan.hpp"

#include <arrow/util/utf8.h>

#include <algorithm>
#include <array>
#include <skyrank/error.hpp>
#include <utility>

// The grammar of JSON over the tokens of a text, in one pass. Each error has its place, and each column the kinds of
// its values with the first place of each, from which types and messages follow.
namespace skyrank::datasets {
namespace {

constexpr int kMaxLevels = 100;  // of objects and arrays in each other; the parser recurses
constexpr std::size_t kNone = std::string_view::npos;
constexpr std::string_view kNumberCharacters = "0123456789.eE+-";
constexpr const char* kNotValid = "the object is not valid JSON";
constexpr const char* kNoQuote = "a string is not closed by a quote";
constexpr const char* kNoEnd = "expected ',' or '}' after a value";

/// Returns the number of characters of a UTF-8 text.
std::int64_t characters(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

bool is_control(char c) { return static_cast<unsigned char>(c) < ' '; }

/// Returns the end of the digits from a place on.
std::size_t end_of_digits(std::string_view text, std::size_t place) {
  while (place < text.size() && is_digit(text[place])) ++place;
  return place;
}

/// A number at the start of a text, as JSON spells it: no plus sign, no leading zeros, digits on both sides of a point.
struct NumberAtStart {
  std::size_t size = 0;  // 0: there is none
  NumberForm form = NumberForm::integer;
};

NumberAtStart number_at_start(std::string_view text) {
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  std::size_t end = end_of_digits(text, first);
  if (end == first || (end > first + 1 && text[first] == '0')) return {};
  NumberAtStart number;
  if (end < text.size() && text[end] == '.') {
    const std::size_t begin = end + 1;
    end = end_of_digits(text, begin);
    if (end == begin) return {};
    number.form = NumberForm::decimal;
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    std::size_t begin = end + 1;
    if (begin < text.size() && (text[begin] == '+' || text[begin] == '-')) ++begin;
    end = end_of_digits(text, begin);
    if (end == begin) return {};
    number.form = NumberForm::exponent;
  }
  number.size = end;
  return number;
}

bool is_word(std::string_view text) {
  const char first = text.empty() ? '\0' : text[0];  // nearly all texts are told by it
  return (first == 'N' || first == 'I' || first == '-') && (text == "NaN" || text == "Infinity" || text == "-Infinity");
}

/// Returns the word at the start of a text, or nothing.
std::string_view word_at(std::string_view text) {
  if (text.empty() || is_digit(text[0])) return {};
  const std::size_t end = text[0] == 'N' ? 3 : text[0] == 'I' ? 8 : 9;
  return is_word(text.substr(0, end)) ? text.substr(0, end) : std::string_view();
}

/// A string that is not closed or has a control character inside.
struct BrokenString {
  std::size_t begin = 0;
  std::size_t end = 0;  // offset of that character
};

/// Finds the first such string of a line; begin and end are the line's size where there is none.
BrokenString first_broken_string(std::string_view line) {
  const std::size_t size = line.ends_with('\r') ? line.size() - 1 : line.size();
  BrokenString broken{line.size(), line.size()};
  bool in_string = false;
  for (std::size_t i = 0; i < size; ++i) {
    if (in_string && is_control(line[i])) return {broken.begin, i};
    if (line[i] == '\\' && i + 1 < size && !is_control(line[i + 1])) {
      ++i;
    } else if (line[i] == '"') {
      in_string = !in_string;
      broken.begin = in_string ? i : line.size();
    }
  }
  return broken;
}

}  // namespace

// Lines are long enough for a search of each.
std::int64_t count_lines(std::string_view text) {
  std::int64_t lines = 0;
  for (std::size_t i = text.find('\n'); i != kNone; i = text.find('\n', i + 1)) ++lines;
  return lines;
}

TextPlace place_behind(std::string_view text, TextPlace place, std::int64_t line_breaks) {
  const std::size_t begin = text.rfind('\n') + 1;  // of the last line; npos + 1 is 0
  if (line_breaks > 0) place = {place.line + line_breaks, 1};
  place.column += characters(text.substr(begin));
  return place;
}

void refuse_keys(std::size_t max_keys, const Location& place) {
  throw ResourceError(
      "there are more than " + std::to_string(max_keys) +
          " keys up to here, which do not fit the limit of memory whatever their values; raise the limit",
      place);
}

std::int64_t JsonKey::first_line() const {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const TextPlace& place : places) first = place.line > 0 ? std::min(first, place.line) : first;
  return first;
}

void merge(JsonKey& key, const JsonKey& later) {
  for (std::size_t kind = 0; kind < kJsonKinds; ++kind) {
    if (key.places[kind].line == 0) key.places[kind] = later.places[kind];
  }
  key.numbers.merge(later.numbers);
  key.has_bare_words = key.has_bare_words || later.has_bare_words;
  key.has_members = key.has_members || later.has_members;
}

void move_lines(JsonKey& key, std::int64_t lines) {
  for (TextPlace& place : key.places) place.line += place.line > 0 ? lines : 0;
  key.numbers.move_lines(lines);
}

JsonScanner::JsonScanner(JsonTokens& tokens, std::string_view text, const std::string& name, TextPlace first,
                         std::size_t max_keys, JsonSinkOf sink_of, bool flatten)
    : text_(text),
      name_(name),
      found_(tokens),
      max_keys_(max_keys),
      sink_of_(std::move(sink_of)),
      flatten_(flatten),
      first_(first) {
  const bool begins_file = first.line == 1 && first.column == 1;
  if (begins_file && text_.starts_with("\xEF\xBB\xBF")) mark_ = 3;
  text_.remove_prefix(mark_);
  counted_ = first;
  if (begins_file && (text_.starts_with("\xFF\xFE") || text_.starts_with("\xFE\xFF"))) {
    throw DataError("the file is UTF-16; convert it to UTF-8", {name_, 0, 0});
  }
  end_ = found_.find(text_) ? text_.size() : end_of_tokens();
  tokens_ = found_.begins();
}

/// Finds the tokens before the first line or string that has none, and returns their end. What is wrong before it is
/// reported first. No string goes on behind its line.
std::size_t JsonScanner::end_of_tokens() {
  std::size_t begin = 0;
  std::size_t end = text_.find('\n');
  while (end != kNone && found_.find(text_.substr(begin, end - begin))) {
    begin = end + 1;
    end = text_.find('\n', begin);
  }
  const std::string_view line = text_.substr(begin, end - begin);  // npos - begin is beyond the text
  arrow::util::InitializeUTF8();
  if (!arrow::util::ValidateUTF8(line)) {
    unreadable_.emplace(
        "the line is not valid UTF-8; state the 'encoding' of the file, such as windows-1252, or convert it to UTF-8",
        Location{name_, place_of(begin).line, 0});
  } else {
    const BrokenString broken = first_broken_string(line);
    const bool is_string = broken.begin < line.size();
    const bool has_no_quote = is_string && broken.end == line.size();
    is_open_ = has_no_quote && end == kNone;
    unreadable_ = error_at(begin + (is_string ? broken.end : 0), has_no_quote ? kNoQuote : kNotValid);
    begin += is_string ? broken.begin : 0;
  }
  static_cast<void>(found_.find(text_.substr(0, begin)));
  return begin;
}

// Goes on from the place that it was asked for last, so that a long text costs one walk for all its values.
TextPlace JsonScanner::place_of(std::size_t offset) {
  if (offset < counted_end_) {
    counted_ = first_;
    counted_end_ = 0;
  }
  const std::string_view passed = text_.substr(counted_end_, offset - counted_end_);
  counted_ = place_behind(passed, counted_, count_lines(passed));
  counted_end_ = offset;
  return counted_;
}

DataError JsonScanner::error_at(std::size_t offset, const std::string& what) {
  const TextPlace place = place_of(offset);
  return DataError(what, {name_, place.line, place.column});
}

void JsonScanner::fail_cut_short() {
  cut_short_ = true;
  fail("the last object is cut short");
}

/// Returns true where there are no more tokens. DataError if the text goes on.
bool JsonScanner::at_end() {
  if (token_ < tokens_.size()) return false;
  if (!unreadable_) return true;
  cut_short_ = is_open_;
  throw DataError(*unreadable_);
}

bool JsonScanner::next() {
  if (at_end()) return false;
  ++records_;
  expected_ = 0;
  if (peek() != '{') fail("expected a JSON object, such as {\"a\": 1}, on each line");
  scan_members(/*parent=*/0, /*level=*/1);
  record_end_ = begin_of(token_ - 1) + 1;
  return true;
}

/// Reads an object, which the next token begins.
void JsonScanner::scan_members(std::size_t parent, int level) {
  ++token_;
  if (peek() != '}') {
    scan_member(parent, level);
    while (peek() == ',') {
      ++token_;
      scan_member(parent, level);
    }
    if (at_end()) fail_cut_short();
    if (peek() != '}') fail(kNoEnd);
  }
  ++token_;
}

/// Returns what stands between the quotes of the next token, and steps over it.
std::string_view JsonScanner::take_string() {
  const std::size_t begin = position() + 1;
  ++token_;
  std::size_t end = position() - 1;
  while (text_[end] != '"') --end;
  const std::string_view text = text_.substr(begin, end - begin);
  if (text.find('\\') == kNone) return text;
  if (const auto wrong = wrong_escape(text)) fail_at(begin + *wrong, text[*wrong] == '\n' ? kNoQuote : kNotValid);
  return text;
}

void JsonScanner::scan_member(std::size_t parent, int level) {
  if (at_end()) fail_cut_short();
  if (peek() != '"') fail("expected a key in quotes");
  const std::size_t begin = position();
  JsonKey& key = take_key(parent);
  if (key.last_record == records_) fail_at(begin, "the key '" + key.name + "' comes twice in one object");
  key.last_record = records_;
  if (at_end()) fail_cut_short();
  if (peek() != ':') fail("expected ':' after the key '" + key.name + "'");
  ++token_;
  scan_value(key, level);
}

/// Returns the key that the next token is, and steps over it.
JsonKey& JsonScanner::take_key(std::size_t parent) {
  if (expected_ < keys_.size() && keys_[expected_].parent == parent) {
    const std::string& expected = keys_[expected_].token;
    const std::string_view rest = text_.substr(position() + 1);
    if (rest.size() > expected.size() && rest[expected.size()] == '"' && rest.starts_with(expected)) {
      ++token_;
      return keys_[expected_++];
    }
  }
  const std::string_view token = take_string();
  std::string name = unescaped(token);
  if (parent > 0) name.insert(0, keys_[parent - 1].name + ".");
  const auto [entry, is_new] = index_of_key_.emplace(name, keys_.size());
  if (is_new) {
    if (keys_.size() >= max_keys_) refuse_keys(max_keys_, {name_, place_of(position()).line, 0});
    JsonKey& key = keys_.emplace_back();
    key.token = token;
    key.name = std::move(name);
    key.parent = parent;
    if (sink_of_) key.sink = sink_of_(key.name);
  }
  expected_ = entry->second + 1;
  return keys_[entry->second];
}

/// Steps over the next token, of which a value ends at `end`. Fails where something else follows.
void JsonScanner::end_scalar(std::size_t end, const char* otherwise) {
  ++token_;
  std::size_t last = position();
  while (last > end && is_space(text_[last - 1])) --last;
  if (last != end) fail_at(end, otherwise);
}

std::string_view JsonScanner::take_word(std::string_view word) {
  const std::size_t begin = position();
  const std::string_view token = text_.substr(begin, word.size());
  if (token != word) fail("expected a JSON value; texts need quotes");
  end_scalar(begin + word.size(), kNoEnd);
  return token;
}

std::string_view JsonScanner::take_number(NumberForm& form) {
  const std::string_view rest = text_.substr(position(), begin_of(token_ + 1) - position());
  const NumberAtStart number = number_at_start(rest);
  if (number.size == 0 || (number.size < rest.size() && kNumberCharacters.find(rest[number.size]) != kNone)) {
    const std::string_view spelled = rest.substr(0, rest.find_first_not_of(kNumberCharacters));
    if (spelled.empty()) fail("expected a JSON value; texts need quotes");
    fail(shorten(spelled) + " is no number of JSON, such as 12, -0.5 or 1e3");
  }
  form = number.form;
  end_scalar(position() + number.size, kNoEnd);
  return rest.substr(0, number.size);
}

inline void JsonScanner::take_value(JsonKey& key, JsonKind kind, std::size_t begin, std::string_view token) {
  TextPlace& first = key.places[static_cast<std::size_t>(kind)];
  if (first.line == 0) first = place_of(begin);
  key.last_value = begin;
  if (key.sink != nullptr) key.sink->take(records_ - 1, kind, token);
}

void JsonScanner::scan_value(JsonKey& key, int level) {
  if (at_end()) fail_cut_short();
  const std::size_t begin = position();
  JsonKind kind = JsonKind::number;
  std::string_view token;
  switch (peek()) {
    case '"':
      token = take_string();
      kind = is_word(token) ? JsonKind::word : JsonKind::string;
      break;
    case '{':
    case '[':
      kind = peek() == '{' ? JsonKind::object : JsonKind::array;
      if (kind == JsonKind::object && flatten_) return scan_object(key, level + 1);
      skip_nested(level + 1);
      token = text_.substr(begin, begin_of(token_ - 1) + 1 - begin);
      break;
    case 't':
    case 'f':
      kind = JsonKind::boolean;
      token = take_word(peek() == 't' ? "true" : "false");
      break;
    case 'n':
      kind = JsonKind::null;
      token = take_word("null");
      break;
    default:
      if (const std::string_view word = word_at(text_.substr(begin)); !word.empty()) {
        token = take_word(word);
        key.has_bare_words = true;
      } else {
        NumberForm form{};
        token = take_number(form);
        key.numbers.add(token, form, [&] { return place_of(begin); });
      }
  }
  take_value(key, kind, begin, token);
}

/// Reads an object whose members are keys.
void JsonScanner::scan_object(const JsonKey& of, int level) {
  if (level > kMaxLevels) fail("the object is nested more than " + std::to_string(kMaxLevels) + " levels deep");
  const std::size_t begin = position();
  const auto index = static_cast<std::size_t>(&of - keys_.data());
  scan_members(index + 1, level);
  JsonKey& key = keys_[index];  // where new keys have moved it
  key.has_members = key.has_members || tokens_[token_ - 2] != begin;
  take_value(key, JsonKind::object, begin, text_.substr(begin, begin_of(token_ - 1) + 1 - begin));
}

/// Steps over an object or an array in so many levels of them.
void JsonScanner::skip_nested(int level) {
  if (level > kMaxLevels) fail("the object is nested more than " + std::to_string(kMaxLevels) + " levels deep");
  const bool is_object = peek() == '{';
  const char close = is_object ? '}' : ']';
  ++token_;
  if (peek() == close) {
    ++token_;
    return;
  }
  for (;;) {
    if (is_object) {
      if (at_end()) fail_cut_short();
      if (peek() != '"') fail(kNotValid);
      static_cast<void>(take_string());
      if (at_end()) fail_cut_short();
      if (peek() != ':') fail(kNotValid);
      ++token_;
    }
    skip_value(level);
    if (at_end()) fail_cut_short();
    const char next = peek();
    if (next != ',' && next != close) fail(kNotValid);
    ++token_;
    if (next == close) return;
  }
}

void JsonScanner::skip_value(int level) {
  if (at_end()) fail_cut_short();
  const char first = peek();
  if (first == '"') {
    static_cast<void>(take_string());
    return;
  }
  if (first == '{' || first == '[') return skip_nested(level + 1);
  const std::string_view rest = text_.substr(position(), begin_of(token_ + 1) - position());
  std::size_t size = number_at_start(rest).size;
  if (size == 0) size = word_at(rest).size();
  for (const std::string_view word : {"true", "false", "null"}) {
    if (rest.starts_with(word)) size = word.size();
  }
  if (size == 0) fail(kNotValid);
  end_scalar(position() + size, kNotValid);
}

}  // namespace skyrank::datasets
