#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <skyrank/query.hpp>

// The words that YAML, SQL and Python have for the values of enumerations.
namespace skyrank::query {

/// Words of an enumeration's values, in their order.
template <class Enum>
struct EnumWords;
template <>
struct EnumWords<Ties> {
  static constexpr std::array<std::string_view, 4> kAll = {"first", "last", "all", "any"};
};
template <>
struct EnumWords<Missing> {
  static constexpr std::array<std::string_view, 4> kAll = {"worst", "exclude", "error", "best"};
};
template <>
struct EnumWords<DeviceChoice> {
  static constexpr std::array<std::string_view, 3> kAll = {"auto", "cpu", "cuda"};
};
template <>
struct EnumWords<Aggregate::Function> {
  static constexpr std::array<std::string_view, 5> kAll = {"count", "sum", "min", "max", "avg"};
};
template <>
struct EnumWords<Pick::By> {
  static constexpr std::array<std::string_view, 3> kAll = {"distance", "coverage", "hypervolume"};
};

template <>
struct EnumWords<Preference::Kind> {
  static constexpr std::array<std::string_view, 9> kAll = {"low",   "high",   "around", "between", "in",
                                                           "where", "pareto", "prior",  "inverse"};
};

/// Returns the word for a value.
template <class Enum>
constexpr std::string_view word_for(Enum value) {
  return EnumWords<Enum>::kAll[static_cast<std::size_t>(value)];
}

/// Returns the value whose word satisfies is_it(word).
template <class Enum, class IsIt>
std::optional<Enum> find_by_word(const IsIt& is_it) {
  const auto& words = EnumWords<Enum>::kAll;
  const auto found = std::find_if(words.begin(), words.end(), is_it);
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

/// Returns the words of all values, for messages.
template <class Enum>
std::vector<std::string> all_words() {
  return {EnumWords<Enum>::kAll.begin(), EnumWords<Enum>::kAll.end()};
}

}  // namespace skyrank::query
