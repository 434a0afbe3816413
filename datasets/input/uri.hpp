#pragma once

#include <string>
#include <string_view>

// Names of files that are URIs rather than paths: `file:///path`, `s3://bucket/key`.
namespace skyrank::datasets {

/// Returns the scheme of a URI, in small letters; empty for a path. One letter is a drive rather than a scheme.
std::string scheme_of(std::string_view name);

/// Returns true for a URI whose file lies on another machine, as far as the scheme tells.
bool is_remote(std::string_view name);

/// Returns a URI without its query, which begins with `?`.
std::string_view without_query(std::string_view uri);

/// Returns text with each `%` and two hexadecimal digits as the byte that they name.
std::string decode_percent(std::string_view text);

/// Returns a path as a part of a URI: bytes that have a meaning there become `%` and two digits.
std::string encode_percent(std::string_view path);

}  // namespace skyrank::datasets
