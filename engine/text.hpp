#pragma once

#include <cstdint>
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
