#include "engine/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

namespace skyrank {
namespace {

template <class Float>
std::string shortest(Float value) {
  if (std::isnan(value)) return "nan";
  const Float magnitude = std::fabs(value);
  const bool plain = magnitude == 0 || (magnitude >= Float(1e-5) && magnitude < Float(1e16)) || std::isinf(value);
  char buffer[64];
  const auto end = std::to_chars(std::begin(buffer), std::end(buffer), value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  return {buffer, end.ptr};
}

}  // namespace

std::string format_number(double value) { return shortest(value); }
std::string format_number(float value) { return shortest(value); }

}  // namespace skyrank

namespace skyrank::query {

std::string in_small_letters(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), to_lower);
  return result;
}

std::string in_capitals(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), to_upper);
  return result;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, to_lower, to_lower);
}

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view one) { return equal_ignoring_case(one, word); });
}

std::string unquoted(std::string_view inner, char quote) {
  std::string result;
  result.reserve(inner.size());
  for (std::size_t i = 0; i < inner.size(); ++i) {
    result += inner[i];
    if (inner[i] == quote) ++i;
  }
  return result;
}

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace skyrank::query
