#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <skyrank/query.hpp>

#include "engine/query/enum_words.hpp"
#include "engine/query/yaml/tree.hpp"

// Typed values out of YAML nodes. Everything here throws QueryError with the node's place; `what` is the words a
// message begins with, such as "'limit'".
namespace skyrank::query {

/// "'text'", "a list", "a map", "nothing": what a node is, for messages.
std::string found(const YamlNode& node);

/// A map whose keys are all known.
class MapReader {
 public:
  /// Says if the known keys of a map with unknown ones are read, to find the mistakes in them too.
  enum class Unknown { ends, goes_on };

  MapReader(const YamlDocument& document, const YamlNode& node, std::string what, std::vector<std::string> keys,
            Unknown unknown = Unknown::ends);

  const YamlNode* find(std::string_view key) const;
  const YamlNode& require(std::string_view key) const;
  bool has_unknown() const { return has_unknown_; }
  /// Calls use(value) where the key is there. Returns false where that meets mistakes, which were collected.
  template <class Use>
  bool with(std::string_view key, const Use& use) const {
    const YamlNode* const value = find(key);
    return value == nullptr || document_.attempt([&] { use(*value); });
  }

 private:
  const YamlDocument& document_;
  const YamlNode& node_;
  std::string what_;
  bool has_unknown_ = false;  // keys, one of which may be meant as a required one
};

const YamlNode& need_map(const YamlDocument& document, const YamlNode& node, std::string_view what);
const std::vector<YamlNode>& read_list(const YamlDocument& document, const YamlNode& node, std::string_view what,
                                       std::string_view example);
/// Any scalar with text, quoted or not.
std::string read_text(const YamlDocument& document, const YamlNode& node, const std::string& what);
bool read_bool(const YamlDocument& document, const YamlNode& node, const std::string& what);
std::int64_t read_integer(const YamlDocument& document, const YamlNode& node, const std::string& what,
                          std::int64_t at_least);
std::uint64_t read_unsigned(const YamlDocument& document, const YamlNode& node, const std::string& what);
/// A time such as 30s, 500ms or 5min; a plain number is seconds.
std::chrono::milliseconds read_duration(const YamlDocument& document, const YamlNode& node, const std::string& what);
Expression read_expression(const YamlDocument& document, const YamlNode& node, const std::string& what);

/// The same where the name of a column may stand, however it is spelt.
Expression read_name_or_expression(const YamlDocument& document, const YamlNode& node, const std::string& what);
/// Reads a number (.inf and -.inf included), true, false, date '...', timestamp '...' or NULL; every other text, and
/// all in quotes, is a string.
Value read_value(const YamlDocument& document, const YamlNode& node, const std::string& what);

template <class Enum>
using Choices = std::vector<std::pair<std::string, Enum>>;

[[noreturn]] void fail_choice(const YamlDocument& document, const YamlNode& node, const std::string& what,
                              const std::vector<std::string>& names);

template <class Enum>
Enum read_choice(const YamlDocument& document, const YamlNode& node, const std::string& what,
                 const Choices<Enum>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (node.is_scalar() && node.text == name) return value;
    names.push_back(name);
  }
  fail_choice(document, node, what, names);
}

/// Reads the word of a value that has one everywhere (enum_words.hpp).
template <class Enum>
Enum read_choice(const YamlDocument& document, const YamlNode& node, const std::string& what) {
  const auto value = find_by_word<Enum>([&](std::string_view word) { return node.is_scalar() && node.text == word; });
  if (value) return *value;
  fail_choice(document, node, what, all_words<Enum>());
}

/// Runs `make` and gives errors that know no place that of `node`.
template <class Make>
auto at_place_of(const YamlDocument& document, const YamlNode& node, const Make& make) {
  try {
    return make();
  } catch (const QueryError& error) {
    if (error.location().line > 0) throw;
    document.fail(node, error.message());
  }
}

// Queries. Each key is read on its own, so that one pass collects the mistakes of all keys, with their places; a query
// that has one is dropped.

/// The names of a batch's tables, as they are listed and as they are looked up.
struct TableNames {
  std::vector<std::string> listed;
  std::unordered_set<std::string> known;
};

/// One entry of `queries:`. QueryError with the place of what is wrong; `tables` are the names that `from` may name.
Query read_query(const YamlDocument& document, const YamlNode& node, const TableNames& tables);

/// Reads the value of `prefer`: a map or a list of maps.
Preference read_preference(const YamlDocument& document, const YamlNode& node);

}  // namespace skyrank::query
