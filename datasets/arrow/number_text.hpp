#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

// Numbers as text: what their digits say before they become values.
namespace skyrank::datasets {

/// A place in a file, from 1; the column counts characters. No place is 0, 0.
struct TextPlace {
  std::int64_t line = 0;
  std::int64_t column = 0;
};

/// Returns a text without the spaces and tabs around it.
std::string_view trim_blanks(std::string_view text);

/// Returns true for digits, with a sign or without.
bool is_integer(std::string_view text);

/// Returns the integer that digits with or without a sign say; nothing where a type does not hold it.
template <class Integer>
std::optional<Integer> parse_integer(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Returns true for a number that is rather a code, as its value would lose a part of its spelling: digits behind a
/// leading zero (02134, 0045), hexadecimal digits (0x1F), and the 7 to 15 digits of a phone number behind a plus sign.
bool is_code(std::string_view number);

/// Returns false where no field of a delimited text is a code. May return true where none is.
bool may_hold_codes(std::string_view text, char delimiter);

/// Returns true for a number whose nearest float64 is infinite.
bool overflows_float64(const std::string& number);

/// Returns a text for a message, cut to 60 bytes.
std::string shorten(std::string_view text);

/// A number as it is spelled, for messages.
struct SpelledNumber {
  std::string text;
  TextPlace place;

  bool is_found() const { return place.line > 0; }
};

/// Ways to spell numbers.
enum class NumberForm { integer, decimal, exponent };

/// Returns the form of a number.
NumberForm form_of(std::string_view number);

/// Properties of the numbers of a column, which tell the type that holds all of them.
struct NumberFacts {
  bool integers_only = true;
  bool fit_int64 = true;          ///< true if int64 holds all integers
  bool fit_uint64 = true;         ///< true if uint64 holds all integers
  bool has_codes = false;         ///< true if a number is a code, as is_code says
  SpelledNumber negative;         ///< the first negative integer
  SpelledNumber beyond_int64;     ///< the first integer that int64 does not hold
  SpelledNumber beyond_integers;  ///< the first integer that neither int64 nor uint64 holds
  SpelledNumber inexact;          ///< the first integer that float64 does not hold exactly
  SpelledNumber beyond_float64;   ///< the first number that float64 does not hold

  /// Adds a number; `place` tells where it is, and is called for the few that messages may name.
  template <class Place>
  void add(std::string_view number, const Place& place) {
    add(number, form_of(number), place);
  }

  /// Adds a number whose form is known.
  template <class Place>
  void add(std::string_view number, NumberForm form, const Place& place) {
    constexpr std::size_t kAlwaysFits = 15;    // digits that both int64 and float64 hold
    constexpr std::size_t kUsualLength = 300;  // bytes of a number that float64 holds, unless it has an exponent
    const bool is_unsigned = !number.starts_with('-');
    if (form != NumberForm::integer) {
      integers_only = false;
      const bool may_be_beyond = form == NumberForm::exponent || number.size() > kUsualLength;
      if (may_be_beyond && !beyond_float64.is_found() && is_beyond_float64(number)) {
        set(beyond_float64, number, place());
      }
      return;
    }
    fit_uint64 = fit_uint64 && is_unsigned;
    if (!is_unsigned && !negative.is_found()) set(negative, number, place());
    if (number.size() > kAlwaysFits) add_long(number, is_unsigned, place);
  }

  /// Adds numbers that come later.
  void merge(const NumberFacts& later);
  /// Moves all places by some lines.
  void move_lines(std::int64_t lines);

 private:
  template <class Place>
  void add_long(std::string_view integer, bool is_unsigned, const Place& place) {
    const bool holds_signed = parse_integer<std::int64_t>(integer).has_value();
    const bool holds_unsigned = is_unsigned && parse_integer<std::uint64_t>(integer).has_value();
    fit_int64 = fit_int64 && holds_signed;
    fit_uint64 = fit_uint64 && holds_unsigned;
    if (!holds_signed && !beyond_int64.is_found()) set(beyond_int64, integer, place());
    if (!holds_signed && !holds_unsigned && !beyond_integers.is_found()) set(beyond_integers, integer, place());
    if (!beyond_float64.is_found() && is_beyond_float64(integer)) set(beyond_float64, integer, place());
    if (!inexact.is_found() && !is_exact_float64(integer)) set(inexact, integer, place());
  }

  static bool is_beyond_float64(std::string_view number);
  static bool is_exact_float64(std::string_view integer);
  static void set(SpelledNumber& spelled, std::string_view number, TextPlace place) {
    spelled = {shorten(number), place};
  }
};

}  // namespace skyrank::datasets
