#include "datasets/arrow/number_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <locale>
#include <sstream>
#include <system_error>

namespace skyrank::datasets {
namespace {

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view without_sign(std::string_view number) {
  if (number.starts_with('-') || number.starts_with('+')) number.remove_prefix(1);
  return number;
}

bool all_digits(std::string_view text) { return std::ranges::all_of(text, is_decimal_digit); }

bool has_leading_zero(std::string_view digits) {
  return digits.size() > 1 && digits[0] == '0' && (is_decimal_digit(digits[1]) || digits[1] == 'x' || digits[1] == 'X');
}

/// Returns true if a field may begin with the character at `place`, a sign or blanks before it.
bool may_begin_field(std::string_view text, std::size_t place, char delimiter) {
  const auto is_limit = [&] { return place == 0 || text[place - 1] == delimiter; };
  if (is_limit()) return true;
  if (text[place - 1] == '-' || text[place - 1] == '+') --place;
  while (!is_limit() && (text[place - 1] == ' ' || text[place - 1] == '\t')) --place;
  return is_limit() || text[place - 1] == '"' || text[place - 1] == '\n' || text[place - 1] == '\r';
}

void keep_first(SpelledNumber& first, const SpelledNumber& later) {
  if (!first.is_found()) first = later;
}

}  // namespace

std::string_view trim_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool is_integer(std::string_view text) {
  text = without_sign(text);
  return !text.empty() && all_digits(text);
}

bool is_code(std::string_view number) {
  constexpr std::size_t kMinPhoneDigits = 7;
  constexpr std::size_t kMaxPhoneDigits = 15;  // by E.164
  const std::string_view digits = without_sign(number);
  if (has_leading_zero(digits)) return true;
  const bool is_phone_length = digits.size() >= kMinPhoneDigits && digits.size() <= kMaxPhoneDigits;
  return number.starts_with('+') && is_phone_length && all_digits(digits);
}

bool may_hold_codes(std::string_view text, char delimiter) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool may_begin_code = text[i] == '+' || (text[i] == '0' && has_leading_zero(text.substr(i, 2)));
    if (may_begin_code && may_begin_field(text, i, delimiter)) return true;
  }
  return false;
}

// Numbers too small for float64 round to zero, as by any double; from_chars does not tell the two apart.
bool overflows_float64(const std::string& number) {
  std::istringstream in(number);
  in.imbue(std::locale::classic());
  double value = 0;
  in >> value;
  return in.fail() && std::fabs(value) == std::numeric_limits<double>::max();
}

NumberForm form_of(std::string_view number) {
  if (is_integer(number)) return NumberForm::integer;
  return number.find_first_of("eE") == std::string_view::npos ? NumberForm::decimal : NumberForm::exponent;
}

void NumberFacts::merge(const NumberFacts& later) {
  integers_only = integers_only && later.integers_only;
  fit_int64 = fit_int64 && later.fit_int64;
  fit_uint64 = fit_uint64 && later.fit_uint64;
  has_codes = has_codes || later.has_codes;
  keep_first(negative, later.negative);
  keep_first(beyond_int64, later.beyond_int64);
  keep_first(beyond_integers, later.beyond_integers);
  keep_first(inexact, later.inexact);
  keep_first(beyond_float64, later.beyond_float64);
}

void NumberFacts::move_lines(std::int64_t lines) {
  for (SpelledNumber* const number : {&negative, &beyond_int64, &beyond_integers, &inexact, &beyond_float64}) {
    if (number->is_found()) number->place.line += lines;
  }
}

bool NumberFacts::is_beyond_float64(std::string_view number) {
  double value = 0;
  const std::errc error = std::from_chars(number.data(), number.data() + number.size(), value).ec;
  return error != std::errc{} && overflows_float64(std::string(number));
}

bool NumberFacts::is_exact_float64(std::string_view integer) {
  integer = without_sign(integer);
  integer.remove_prefix(std::min(integer.find_first_not_of('0'), integer.size()));
  if (integer.size() <= std::numeric_limits<double>::digits10) return true;
  double value = 0;
  std::from_chars(integer.data(), integer.data() + integer.size(), value);
  std::array<char, std::numeric_limits<double>::max_exponent10 + 2> digits{};
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed, 0);
  return error == std::errc{} && std::string_view(digits.data(), end) == integer;
}

std::string shorten(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return text.size() <= kShown ? std::string(text) : std::string(text.substr(0, kShown)) + "...";
}

}  // namespace skyrank::datasets
