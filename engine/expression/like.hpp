#pragma once

#include <cstdint>
#include <string_view>

namespace skyrank::exec {

/// Returns true if a text matches a pattern of SQL's LIKE: `%` stands for any characters, `_` for one character (a code
/// point of UTF-8), and a backslash makes the character after it stand for itself. Case matters.
bool is_like(std::string_view text, std::string_view pattern);

/// Returns the number of characters (code points) of a text in UTF-8.
std::int64_t count_characters(std::string_view text);

}  // namespace skyrank::exec
