#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "datasets/arrow/number_text.hpp"
#include "datasets/json/json_tokens.hpp"

// Objects of JSON lines as they stand in the text: their keys, and the kinds, places and tokens of their values.
namespace skyrank::datasets {

/// Kinds of JSON values. A word is one of the texts "NaN", "Infinity" and "-Infinity", which are numbers beside numbers
/// and texts beside texts; without quotes they are numbers.
enum class JsonKind { null, boolean, number, word, string, object, array };
constexpr std::size_t kJsonKinds = 7;

/// Takes the values of one key.
class JsonSink {
 public:
  virtual ~JsonSink() = default;
  /// Takes the value that the key has in a record, from 0. Tokens of strings come without their quotes.
  virtual void take(std::int64_t record, JsonKind kind, std::string_view token) = 0;
};

/// Returns the number of line breaks.
std::int64_t count_lines(std::string_view text);

/// Returns the place behind a text that begins at `place` and has so many line breaks.
TextPlace place_behind(std::string_view text, TextPlace place, std::int64_t line_breaks);

/// The values that one key has in all records.
struct JsonKey {
  std::string name;
  std::array<TextPlace, kJsonKinds> places{};  ///< by kind: the first such value
  NumberFacts numbers;                         ///< properties of the numbers in digits
  bool has_bare_words = false;                 ///< true if a number is NaN or an infinity, without quotes
  std::int64_t last_record = 0;                ///< number of the last record that has the key, from 1
  std::size_t last_value = 0;                  ///< offset of its value there
  std::string token;                           ///< name as it is spelled in the first record
  JsonSink* sink = nullptr;
  std::size_t parent = 0;    ///< place of the key of the object around it, from 1; 0: it is a key of the record
  bool has_members = false;  ///< true if keys of its objects are keys, too

  const TextPlace& place_of(JsonKind kind) const { return places[static_cast<std::size_t>(kind)]; }
  std::int64_t first_line() const;  ///< line of its first value
};

/// Adds what later records say about a key.
void merge(JsonKey& key, const JsonKey& later);

/// Moves the places of a key by some lines.
void move_lines(JsonKey& key, std::int64_t lines);

/// Throws the ResourceError for more keys than fit the limit of memory.
[[noreturn]] void refuse_keys(std::size_t max_keys, const Location& place);

/// Finds the sink for the values of a key, null where nobody needs them.
using JsonSinkOf = std::function<JsonSink*(const std::string& key)>;

/// Parser of JSON objects that follow one another, each on a line as a rule. It goes over the tokens once, checks
/// everything, and hands on the values that somebody needs.
class JsonScanner {
 public:
  /// `name` stands for the text in messages, and `first` is the place where it begins. ResourceError where
  /// there are more than `max_keys` keys. DataError where the text is not UTF-8. `tokens` takes the tokens of the text.
  /// With `flatten` the members of objects within a record are its keys, too, by paths such as `address.city`.
  JsonScanner(JsonTokens& tokens, std::string_view text, const std::string& name, TextPlace first = {1, 1},
              std::size_t max_keys = std::numeric_limits<std::size_t>::max(), JsonSinkOf sink_of = {},
              bool flatten = false);

  /// Reads the next record; false at the end. DataError where there is no object, or where a key comes twice.
  bool next();

  /// Returns true after a DataError if the text ended within a record.
  bool is_cut_short() const { return cut_short_; }

  /// Returns the place of a byte of the text.
  TextPlace place_of(std::size_t offset);
  /// Offset of the first byte after the last whole record.
  std::size_t record_end() const { return record_end_ + mark_; }
  std::int64_t records() const { return records_; }           ///< with the one that an error ended
  const std::vector<JsonKey>& keys() const { return keys_; }  ///< in the order in which they first come
  std::vector<JsonKey> take_keys() { return std::move(keys_); }

 private:
  DataError error_at(std::size_t offset, const std::string& what);
  [[noreturn]] void fail_at(std::size_t offset, const std::string& what) { throw error_at(offset, what); }
  [[noreturn]] void fail(const std::string& what) { fail_at(position(), what); }
  [[noreturn]] void fail_cut_short();
  std::size_t end_of_tokens();
  bool at_end();
  std::size_t begin_of(std::size_t token) const { return token < tokens_.size() ? tokens_[token] : end_; }
  std::size_t position() const { return begin_of(token_); }
  char peek() const { return token_ < tokens_.size() ? text_[tokens_[token_]] : '\0'; }
  std::string_view take_string();
  void end_scalar(std::size_t end, const char* otherwise);
  std::string_view take_word(std::string_view word);
  std::string_view take_number(NumberForm& form);
  void scan_members(std::size_t parent, int level);
  void scan_member(std::size_t parent, int level);
  JsonKey& take_key(std::size_t parent);
  void scan_value(JsonKey& key, int level);
  void scan_object(const JsonKey& of, int level);
  void take_value(JsonKey& key, JsonKind kind, std::size_t begin, std::string_view token);
  void skip_value(int level);
  void skip_nested(int level);

  std::string_view text_;
  std::string name_;
  std::size_t mark_ = 0;  // bytes of a byte order mark, which the text is without
  JsonTokens& found_;
  std::span<const std::uint32_t> tokens_;
  std::optional<DataError> unreadable_;  // why the text has no tokens behind those
  bool is_open_ = false;                 // that is a string which goes on to the text's end
  std::size_t end_ = 0;                  // of the text in which the tokens are
  std::size_t token_ = 0;
  std::size_t record_end_ = 0;
  std::int64_t records_ = 0;
  bool cut_short_ = false;
  std::vector<JsonKey> keys_;
  std::size_t max_keys_;
  JsonSinkOf sink_of_;
  bool flatten_;
  std::unordered_map<std::string, std::size_t> index_of_key_;
  std::size_t expected_ = 0;  // index of the key that comes next, if records are alike
  TextPlace first_;
  TextPlace counted_;  // place of the offset below
  std::size_t counted_end_ = 0;
};

}  // namespace skyrank::datasets
