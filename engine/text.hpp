#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/common/nearest_name.hpp"

// Small text helpers shared by messages, printers and writers.
namespace skyrank::query {

using kernels::did_you_mean;
using kernels::nearest_name;

/// Returns a word of the user's in single quotes, as messages name it.
inline std::string in_quotes(std::string_view text) { return std::string("'").append(text) + "'"; }

/// Returns a text that stood in quotes, in which the quote stands twice.
std::string unquoted(std::string_view inner, char quote);

/// Returns true for a space, a tab and the end of a line.
inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Letters and digits are those of ASCII, whatever the locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char to_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
/// Returns true for what a name without quotes consists of: letters, digits and '_'.
constexpr bool is_name_character(char c) { return c == '_' || is_letter(c) || is_digit(c); }
/// Returns true for bytes of UTF-8 that continue a character.
constexpr bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::string in_small_letters(std::string_view text);
std::string in_capitals(std::string_view text);

/// Returns true if two texts are equal except for the case of letters.
bool equal_ignoring_case(std::string_view a, std::string_view b);
/// Returns true if a word is one of a list, in any case.
bool is_one_of(std::string_view word, std::span<const std::string_view> words);

/// Returns `name(item)` of each item, separated by commas.
template <class List, class Name>
std::string join(const List& list, const Name& name) {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : ", ") + name(item);
  return text;
}

/// Returns "a, b, c".
std::string listed(const std::vector<std::string>& names);

}  // namespace skyrank::query

namespace skyrank {

/// Shortest decimal text that reads back to the same value ("nan", "inf", "-inf" included): plain notation for
/// magnitudes in [1e-5, 1e16), exponents beyond.
std::string format_number(double value);
std::string format_number(float value);

}  // namespace skyrank
