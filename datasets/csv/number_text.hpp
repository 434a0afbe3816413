#pragma once

#include <string>
#include <string_view>

// Numbers as text: what their digits say before they become values.
namespace skyrank::datasets {

/// Returns a text without the spaces and tabs around it.
std::string_view trim_blanks(std::string_view text);

/// Returns true for digits, with a sign or without.
bool is_integer(std::string_view text);

/// Return true if a type holds an integer as it is spelled.
bool fits_int64(std::string_view integer);
bool fits_uint64(std::string_view integer);

/// Returns true if the nearest float64 is the integer itself.
bool float64_holds(std::string_view integer);

/// Returns true for a number whose nearest float64 is infinite.
bool overflows_float64(const std::string& number);

/// Returns a text for a message, cut to 60 bytes.
std::string shorten(std::string_view text);

}  // namespace skyrank::datasets
