#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "datasets/arrow/number_text.hpp"

// Objects of JSON lines as they stand in the text: their keys, and the kinds and places of their values.
namespace skyrank::datasets {

/// Kinds of JSON values. A word is one of the texts "NaN", "Infinity" and "-Infinity", which are numbers beside numbers
/// and texts beside texts; without quotes they are numbers.
enum class JsonKind { null, boolean, number, word, string, object, array };
constexpr std::size_t kJsonKinds = 7;

/// The values that one key has in all records.
struct JsonKey {
  std::string name;
  std::array<TextPlace, kJsonKinds> places{};  ///< by kind: the first such value
  NumberFacts numbers;                         ///< properties of the numbers in digits
  bool has_bare_words = false;                 ///< true if a number is NaN or an infinity, without quotes
  std::int64_t last_record = 0;                ///< number of the last record that has the key, from 1

  const TextPlace& place_of(JsonKind kind) const { return places[static_cast<std::size_t>(kind)]; }
};

/// Returns the text of a string token without its quotes, its escapes replaced.
std::string unescaped(std::string_view token);

/// Adds what later records say about a key.
void merge(JsonKey& key, const JsonKey& later);

/// One walk over JSON objects that follow one another, each on a line as a rule. It finds the keys and the kinds of
/// their values. It does not look into nested values and the escapes of strings; the parser refuses what is wrong
/// there.
class JsonScanner {
 public:
  /// `name` stands for the text in messages, and `first_line` is the number of its first line. ResourceError where
  /// there are more than `max_keys` keys.
  JsonScanner(std::string_view text, const std::string& name, std::int64_t first_line = 1,
              std::size_t max_keys = std::numeric_limits<std::size_t>::max());

  /// Reads the next record; false at the end. DataError where there is no object, or where a key comes twice.
  bool next();

  /// Calls `look` with the index of its key and its token for each value from now on.
  void on_values(std::function<void(std::size_t key, std::string_view token)> look) { on_value_ = std::move(look); }

  /// Returns true after a DataError if the text ended within a record.
  bool is_cut_short() const { return cut_short_; }

  /// The text of the last record.
  std::string_view record() const { return text_.substr(record_begin_, position_ - record_begin_); }
  /// Place of a byte of the last record.
  TextPlace place_in_record(std::size_t offset) const;
  /// Offset of the first byte after the last record.
  std::size_t record_end() const { return record_end_; }
  /// Line that the walk has come to.
  std::int64_t line() const { return line_; }
  /// Offsets of the words NaN, Infinity and -Infinity that stand without quotes, nested ones among them.
  const std::vector<std::size_t>& bare_words() const { return bare_words_; }
  std::int64_t records() const { return records_; }
  std::size_t longest() const { return longest_; }            ///< bytes of the longest record
  bool spans_lines() const { return spans_lines_; }           ///< a record has line breaks inside
  const std::vector<JsonKey>& keys() const { return keys_; }  ///< in the order in which they first come

 private:
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void fail_cut_short();
  [[noreturn]] void refuse_keys() const;
  TextPlace place_of(std::size_t position) const;  // in the line of the walk
  TextPlace place() const { return place_of(position_); }
  void count_line();
  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  void skip_space();
  std::string_view scan_string();
  void scan_member();
  JsonKey& key_of(std::string_view token);
  void scan_value(JsonKey& key);
  void scan_number(JsonKey& key);
  bool scan_bare_word();
  void scan_word(std::string_view word);
  void skip_nested();

  std::string_view text_;
  std::string name_;
  std::size_t position_ = 0;
  std::int64_t line_ = 1;
  std::size_t line_begin_ = 0;
  std::size_t record_begin_ = 0;
  std::size_t record_end_ = 0;
  std::size_t record_line_begin_ = 0;
  std::int64_t record_line_ = 0;
  std::int64_t records_ = 0;
  std::size_t longest_ = 0;
  bool spans_lines_ = false;
  bool cut_short_ = false;
  std::vector<JsonKey> keys_;
  std::size_t max_keys_;
  std::unordered_map<std::string, std::size_t> index_of_key_;
  std::vector<std::size_t> bare_words_;
  std::function<void(std::size_t, std::string_view)> on_value_;
  mutable std::size_t counted_line_ = 0;  // the line whose characters are counted, by its offset
  mutable std::size_t counted_end_ = 0;   // end of the characters that are counted
  mutable std::int64_t counted_ = 0;
  std::size_t expected_ = 0;  // index of the key that comes next, if records are alike
};

}  // namespace skyrank::datasets
