#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

// Checks texts from outside before anything is made of them.
namespace skyrank::query {

/// Offset of the first byte that is not part of a well-formed UTF-8 sequence (Unicode 15, table 3-7: no surrogates, no
/// overlong forms, nothing above U+10FFFF).
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

}  // namespace skyrank::query
