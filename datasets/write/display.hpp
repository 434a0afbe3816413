#pragma once

#include <string>
#include <string_view>

// Text for a terminal: escapes, and the width of characters.
namespace skyrank::datasets {

/// UTF-8 text made safe for a terminal: control characters become escapes such as \n, \t or \x1b, bytes that are no
/// UTF-8 become U+FFFD.
std::string printable(std::string_view text);

/// Terminal columns that printable text takes: 2 for East Asian wide characters and emoji, 0 for combining marks,
/// else 1. An approximation of Unicode Standard Annex 11 by blocks.
int display_width(std::string_view text);

/// Printable text cut to `width` columns (at least 1), ending in "…" where something was cut.
std::string truncate(std::string text, int width);

}  // namespace skyrank::datasets
