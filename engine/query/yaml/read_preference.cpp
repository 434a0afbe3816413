#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/query/check.hpp"
#include "engine/query/yaml/read.hpp"
#include "engine/text.hpp"

// Preferences of a YAML batch: maps with one of the keys `low`, `high`, `around`, ..., or lists of such maps, which are
// `pareto`.
namespace skyrank::query {
namespace {

using Kind = Preference::Kind;

class PreferenceReader {
 public:
  explicit PreferenceReader(const YamlDocument& document) : document_(document) {}

  // {low: e}, {around: {...}}, {pareto: [...]}, ...
  Preference read(const YamlNode& node) const {
    if (node.is_sequence()) {
      document_.fail(node, "a list inside a list of preferences is ambiguous: write {pareto: [...]} or {prior: [...]}");
    }
    if (!node.is_map()) document_.fail(node, "a preference is a map such as {low: price}, found " + found(node));
    const YamlNode* const size = size_of_boxes(node);
    if (node.entries.size() != (size == nullptr ? 1 : 2)) {
      document_.fail(node, "a preference has one key, found " + std::to_string(node.entries.size()) +
                               "; several preferences are a list: [{low: a}, {high: b}]");
    }
    const auto& [key, value] = node.entries[&node.entries.front().value == size ? 1 : 0];
    const Kind kind = kind_of(node, key);
    Preference preference = at_place_of(document_, node, [&, &argument = value] { return make(kind, argument); });
    if (size == nullptr) return preference;
    return at_place_of(document_, *size, [&] { return step(std::move(preference), read_step(*size)); });
  }

  std::vector<Preference> read_children(const YamlNode& node, const std::string& what) const {
    std::vector<Preference> children;
    document_.attempt_each(read_list(document_, node, what, "[{low: price}, {high: rating}]"),
                           [&](const YamlNode& item) { children.push_back(read(item)); });
    return children;
  }

 private:
  // The value of `step` beside another key, or null.
  static const YamlNode* size_of_boxes(const YamlNode& node) {
    const auto found =
        std::ranges::find_if(node.entries, [](const YamlEntry& entry) { return entry.key.text == "step"; });
    return found == node.entries.end() || node.entries.size() == 1 ? nullptr : &found->value;
  }

  // A number; with a unit or a % it is a text.
  Value read_step(const YamlNode& node) const {
    const std::string text = read_text(document_, node, "'step'");
    const bool has_unit = !text.empty() && is_digit(text.front()) && !is_digit(text.back()) && text.back() != '.';
    return has_unit ? Value(text) : read_value(document_, node, "'step'");
  }

  Kind kind_of(const YamlNode& node, const YamlNode& key) const {
    const auto kind = find_by_word<Kind>([&](std::string_view word) { return key.text == word; });
    if (kind) return *kind;
    const MapReader reader(document_, node, "a preference", all_words<Kind>());  // says what is wrong with the key
    document_.fail(key, "unknown preference");
  }

  Preference make(Kind kind, const YamlNode& argument) const {
    const std::string what = in_quotes(word_for(kind));
    switch (kind) {
      case Kind::low: return low(read_name_or_expression(document_, argument, what));
      case Kind::high: return high(read_name_or_expression(document_, argument, what));
      case Kind::where: return where(read_expression(document_, argument, what));
      case Kind::around: return make_around(MapReader(document_, argument, what, {"expr", "target"}));
      case Kind::between: return make_between(MapReader(document_, argument, what, {"expr", "from", "to"}));
      case Kind::in: return make_in(MapReader(document_, argument, what, {"expr", "values"}));
      case Kind::pareto: return pareto(read_children(argument, what));
      case Kind::prior: return prior(read_children(argument, what));
      case Kind::inverse: return inverse(read(argument));
    }
    document_.fail(argument, "unknown preference");
  }

  Expression expression(const MapReader& map) const {
    return read_name_or_expression(document_, map.require("expr"), "'expr'");
  }

  Preference make_around(const MapReader& map) const {
    return around(expression(map), read_value(document_, map.require("target"), "'target'"));
  }

  Preference make_between(const MapReader& map) const {
    return between(expression(map), read_end(map, "from"), read_end(map, "to"));
  }

  // NULL for an end that is left out.
  Value read_end(const MapReader& map, std::string_view key) const {
    const YamlNode* node = map.find(key);
    if (node == nullptr) return Null{};
    const std::string what = in_quotes(key);
    Value value = read_value(document_, *node, what);
    if (std::holds_alternative<Null>(value)) {
      document_.fail(*node, what + " is NULL; leave it out for a range without an end there");
    }
    return value;
  }

  Preference make_in(const MapReader& map) const {
    constexpr const char* kExample = "[[a, b], [c]]";
    std::vector<std::vector<Value>> sets;
    for (const YamlNode& set : read_list(document_, map.require("values"), "'values'", kExample)) {
      auto& values = sets.emplace_back();
      for (const YamlNode& value : read_list(document_, set, "a set of 'values'", "[a, b] in [[a, b], [c]]")) {
        values.push_back(read_value(document_, value, "a set of 'values'"));
      }
    }
    return in(expression(map), std::move(sets));
  }

  const YamlDocument& document_;
};

}  // namespace

Preference read_preference(const YamlDocument& document, const YamlNode& node) {
  const PreferenceReader reader(document);
  if (!node.is_sequence()) return reader.read(node);
  return combined(reader.read_children(node, "'prefer'"));
}

}  // namespace skyrank::query
