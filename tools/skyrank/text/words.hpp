#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// Words of what commands print.
namespace skyrank::tools {

/// Returns 1234567 as "1,234,567".
std::string with_separators(std::int64_t number);

/// "1 row", "1,234 rows".
std::string counted(std::int64_t number, std::string_view singular, std::string_view plural);

/// Breaks a text between words into lines of at most `width` terminal columns of ASCII; lines after the first begin
/// with `indentation`, which counts towards the width of all.
std::string wrapped(std::string_view text, std::string_view indentation, std::size_t width = 98);

}  // namespace skyrank::tools
