#include "engine/query/yaml/read.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "engine/query/ast.hpp"
#include "engine/query/duration.hpp"
#include "engine/text.hpp"

namespace skyrank::query {
namespace {

// Digits with an optional sign, point and exponent: a number that may still be out of range.
bool looks_like_number(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  if (!text.empty() && text.front() == '.') text.remove_prefix(1);
  return !text.empty() && is_digit(text.front()) &&
         text.find_first_not_of("0123456789.eE+-") == std::string_view::npos &&
         std::count(text.begin(), text.end(), '.') <= 1 && text.find_first_of("+-") == text.find_last_of("+-") &&
         (text.find_first_of("+-") == std::string_view::npos || (text[text.find_first_of("+-") - 1] | 0x20) == 'e');
}

bool looks_like_literal(std::string_view text) {
  const std::string_view word = text.substr(0, text.find_first_of(" '"));
  return (equal_ignoring_case(word, "date") || equal_ignoring_case(word, "timestamp")) && word.size() < text.size() &&
         text.back() == '\'';
}

// The infinity that YAML 1.2 writes as .inf.
std::optional<double> infinity(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (!equal_ignoring_case(text, ".inf")) return std::nullopt;
  return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

constexpr std::size_t kFewKeys = 9;

// Words of SQL and of other systems for what a batch calls otherwise. Of several meanings of a word the first counts.
struct Synonyms {
  std::string_view ours;
  std::array<std::string_view, 6> foreign;
};
constexpr Synonyms kSynonyms[] = {
    {"high", {"max", "maximize", "maximise", "desc", "descending", "highest"}},
    {"low", {"min", "minimize", "minimise", "asc", "ascending", "lowest"}},
    {"rank_by", {"order_by", "orderby", "order", "sort_by", "sort", "sortby"}},
    {"where", {"filter", "condition"}},
    {"limit", {"top", "k", "fetch"}},
    {"prefer", {"skyline", "skyline_of", "preferring", "preference"}},
    {"group_by", {"group", "groupby"}},
    {"aggregate", {"aggregates"}},
    {"partition_by", {"partition"}},
    {"select", {"columns", "fields", "project"}},
    {"from", {"table", "lower", "min"}},
    {"offset", {"skip"}},
    {"distinct", {"unique"}},
    {"nulls", {"null"}},
    {"file", {"path", "files"}},
    {"cuda", {"gpu", "nvidia"}},
    {"cpu", {"host"}},
    {"expr", {"expression", "column"}},
    {"target", {"value"}},
    {"to", {"upper", "max"}},
    {"values", {"set"}},
    {"pareto", {"and"}},
    {"prior", {"lexicographic", "then"}},
    {"inverse", {"reverse", "dual"}},
    {"around", {"near", "closest"}},
    {"using", {"hints"}},
};

// "; did you mean 'rank_by'?": the word that another system's word stands for, else the nearest one.
std::string suggested(std::string_view word, const std::vector<std::string>& names) {
  for (const Synonyms& known : kSynonyms) {
    if (word.empty() || !is_one_of(word, known.foreign)) continue;
    if (std::ranges::find(names, known.ours) != names.end()) return "; did you mean " + in_quotes(known.ours) + "?";
  }
  return did_you_mean(word, names);
}

// Advice for a whole number with an exponent or a point, such as 1e6; empty where the text means none.
std::string as_whole_number(std::string_view text) {
  constexpr double kExactBelow = 0x1p53;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (!is_number || !(value >= 0 && value < kExactBelow) || std::trunc(value) != value) return {};
  return "; write " + std::to_string(static_cast<std::int64_t>(value));
}

template <class Integer>
Integer parse_integer(const YamlDocument& document, const YamlNode& node, const std::string& what) {
  std::string_view text = node.text;
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (node.is_scalar() && !node.quoted && error == std::errc::result_out_of_range && end == text.data() + text.size()) {
    document.fail(node, what + " is out of range: " + found(node));
  }
  if (!node.is_scalar() || node.quoted || error != std::errc() || end != text.data() + text.size()) {
    const std::string advice = node.is_scalar() && !node.quoted ? as_whole_number(text) : "";
    document.fail(node, what + " needs a whole number, found " + found(node) + advice);
  }
  return value;
}

}  // namespace

std::string found(const YamlNode& node) {
  constexpr std::size_t kLongest = 60;
  switch (node.kind) {
    case YamlNode::Kind::null: return node.text.empty() ? "nothing" : in_quotes(node.text);
    case YamlNode::Kind::sequence: return "a list";
    case YamlNode::Kind::map: return "a map";
    case YamlNode::Kind::scalar: break;
  }
  if (node.text.size() <= kLongest) return in_quotes(node.text);
  std::size_t end = kLongest;
  while (continues_character(node.text[end])) --end;
  return in_quotes(node.text.substr(0, end) + "...");
}

MapReader::MapReader(const YamlDocument& document, const YamlNode& node, std::string what,
                     std::vector<std::string> keys, Unknown unknown)
    : document_(document), node_(node), what_(std::move(what)) {
  for (const YamlEntry& entry : read_map(document, node, what_)) {
    const YamlNode& key = entry.key;
    if (std::find(keys.begin(), keys.end(), key.text) != keys.end()) continue;
    const bool broken = key.in_flow && key.text.find_first_of("()") != std::string::npos;
    const std::string hint = suggested(key.text, keys);
    // A long list helps nobody who is told the right word.
    const bool lists = hint.empty() || keys.size() <= kFewKeys;
    has_unknown_ = true;
    document.attempt([&] {
      document.fail(key, what_ + " has no key " + found(key) + hint +
                             (lists ? " (keys are " + listed(keys) + ")" : "") +
                             (broken ? "; inside {...} an expression with a comma needs quotes" : ""));
    });
  }
  if (has_unknown_ && unknown == Unknown::ends) throw MistakesCollected{};
}

const YamlNode* MapReader::find(std::string_view key) const {
  const auto entry = std::find_if(node_.entries.begin(), node_.entries.end(),
                                  [&](const YamlEntry& candidate) { return candidate.key.text == key; });
  return entry == node_.entries.end() ? nullptr : &entry->value;
}

const YamlNode& MapReader::require(std::string_view key) const {
  if (const YamlNode* node = find(key)) return *node;
  if (has_unknown_) throw MistakesCollected{};
  document_.fail(node_, what_ + " needs the key " + in_quotes(key));
}

const std::vector<YamlEntry>& read_map(const YamlDocument& document, const YamlNode& node, std::string_view what) {
  if (!node.is_map()) document.fail(node, std::string(what) + " needs a map (key: value), found " + found(node));
  return node.entries;
}

const std::vector<YamlNode>& read_list(const YamlDocument& document, const YamlNode& node, std::string_view what,
                                       std::string_view example) {
  const auto fail = [&](std::string_view fault, const std::string& instead) {
    document.fail(node, std::string(what).append(fault).append(" a list such as ").append(example) + instead);
  };
  if (!node.is_sequence()) fail(" needs", ", found " + found(node));
  if (node.items.empty()) fail(" is empty; it needs", "");
  return node.items;
}

std::string read_text(const YamlDocument& document, const YamlNode& node, const std::string& what) {
  if (!node.is_scalar() || node.text.empty()) document.fail(node, what + " needs a text, found " + found(node));
  return node.text;
}

bool read_bool(const YamlDocument& document, const YamlNode& node, const std::string& what) {
  if (node.is_scalar() && !node.quoted) {
    if (equal_ignoring_case(node.text, "true")) return true;
    if (equal_ignoring_case(node.text, "false")) return false;
  }
  document.fail(node, what + " needs true or false, found " + found(node));
}

std::int64_t read_integer(const YamlDocument& document, const YamlNode& node, const std::string& what,
                          std::int64_t at_least) {
  const auto value = parse_integer<std::int64_t>(document, node, what);
  if (value < at_least) {
    document.fail(node, what +
                            (at_least == 0 ? std::string(" must not be negative")
                                           : " must be at least " + std::to_string(at_least)) +
                            ", found " + std::to_string(value));
  }
  return value;
}

std::uint64_t read_unsigned(const YamlDocument& document, const YamlNode& node, const std::string& what) {
  if (node.is_scalar() && !node.quoted && node.text.starts_with('-') && looks_like_number(node.text)) {
    document.fail(node, what + " must not be negative, found " + node.text);
  }
  return parse_integer<std::uint64_t>(document, node, what);
}

std::chrono::milliseconds read_duration(const YamlDocument& document, const YamlNode& node, const std::string& what) {
  const auto duration = node.is_scalar() ? parse_duration(node.text) : std::nullopt;
  if (!duration) document.fail(node, what + " needs " + kDurationExample + ", found " + found(node));
  return *duration;
}

Expression read_expression(const YamlDocument& document, const YamlNode& node, const std::string& what) {
  if (!node.is_scalar()) document.fail(node, what + " needs an expression, found " + found(node));
  return document.expression(node);
}

Expression read_name_or_expression(const YamlDocument& document, const YamlNode& node, const std::string& what) {
  if (!node.is_scalar()) document.fail(node, what + " needs an expression, found " + found(node));
  return document.name_or_expression(node);
}

Value read_value(const YamlDocument& document, const YamlNode& node, const std::string& what) {
  if (node.kind == YamlNode::Kind::null && !node.text.empty()) return Null{};
  if (!node.is_scalar()) document.fail(node, what + " needs a value, found " + found(node));
  if (node.quoted) return node.text;
  if (equal_ignoring_case(node.text, "true")) return true;
  if (equal_ignoring_case(node.text, "false")) return false;
  if (const auto number = infinity(node.text)) return *number;
  if (equal_ignoring_case(node.text, ".nan")) {
    document.fail(node, what + " cannot be NaN: it is worst, or best with nan: best");
  }
  YamlNode literal = node;
  if (literal.text.starts_with('+')) {
    literal.text.erase(0, 1);
    ++literal.offset;
  }
  if (!looks_like_number(literal.text) && !looks_like_literal(literal.text)) return node.text;
  const Expression expression = document.expression(literal);
  return root_of(expression).op == Op::literal ? root_of(expression).value : Value(node.text);
}

void fail_choice(const YamlDocument& document, const YamlNode& node, const std::string& what,
                 const std::vector<std::string>& names) {
  const std::string hint = node.is_scalar() ? suggested(node.text, names) : "";
  document.fail(node, what + " is one of " + listed(names) + ", found " + found(node) + hint);
}

}  // namespace skyrank::query
