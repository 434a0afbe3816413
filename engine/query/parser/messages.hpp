#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Parts of the messages about text that is no expression.
namespace skyrank::query {

/// Name of an operand, where one is missing.
inline constexpr const char* kValue = "a value";

/// Returns the word, symbol or character that begins at `offset`; not more than a line's worth.
std::string_view token_at(std::string_view text, std::size_t offset);

/// Returns the word or symbol before `offset`; empty at the beginning and after strings and quoted names.
std::string_view token_before(std::string_view text, std::size_t offset);

/// Returns true if a word names no column unless it is quoted.
bool is_reserved_word(std::string_view word);

/// Returns true if a token is a name that needs no quotes.
bool is_bare_name(std::string_view token);

/// Returns advice in parentheses where a mistake is one that other languages teach; else the empty text.
std::string hint(std::string_view found, bool value_expected);

/// Returns a token as a part of a message, which must stay readable text whatever the input was.
std::string shown(std::string_view token);

}  // namespace skyrank::query
