#include "engine/text.hpp"

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
