#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "engine/query/check.hpp"
#include "engine/query/enum_words.hpp"
#include "engine/query/values.hpp"
#include "engine/text.hpp"
#include "tools/skyrank/dialects/clauses.hpp"
#include "tools/skyrank/dialects/dialects.hpp"

// Writes queries as a batch of YAML.
namespace skyrank::tools {
namespace {

using Kind = Preference::Kind;

bool is_letter(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_plain(std::string_view text) {
  constexpr std::string_view kWords[] = {"null", "true", "false", "yes", "no", "on", "off"};
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-';
  }) && std::ranges::none_of(kWords, [&](std::string_view word) { return query::equal_ignoring_case(word, text); });
}

std::string in_quotes(const std::string& text) {
  const bool escapes =
      std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
  std::string result(1, escapes ? '"' : '\'');
  for (const char c : text) {
    if (escapes && (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else if (escapes && (c == '"' || c == '\\')) {
      result.append({'\\', c});
    } else {
      result.append(!escapes && c == '\'' ? 2 : 1, c);
    }
  }
  return result + (escapes ? '"' : '\'');
}

std::string scalar(const std::string& text) { return is_plain(text) ? text : in_quotes(text); }

std::string text_of(const Expression& expression) { return scalar(expression.text()); }

std::string value(const Value& one) {
  if (const auto* text = std::get_if<std::string>(&one)) return in_quotes(*text);
  const auto* number = std::get_if<double>(&one);
  if (number != nullptr && std::isinf(*number)) return *number < 0 ? "-.inf" : ".inf";
  return query::spelled(one);
}

template <class Items, class Print>
std::string list(const Items& items, const Print& print) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : ", ") + print(item);
  return "[" + text + "]";
}

std::string names(const std::vector<std::string>& items) {
  return list(items, [](const std::string& name) { return scalar(name); });
}

std::string preference(const Preference& p) {
  const auto children = [&] { return list(p.children, preference); };
  const auto end = [](const char* key, const Value& one) {
    return std::holds_alternative<Null>(one) ? std::string() : fmt::format(", {}: {}", key, value(one));
  };
  const auto set = [](const std::vector<Value>& members) { return list(members, value); };
  const std::string_view word = query::word_for(p.kind);
  switch (p.kind) {
    case Kind::low:
    case Kind::high:
    case Kind::where: return fmt::format("{{{}: {}}}", word, text_of(*p.expression));
    case Kind::around:
      return fmt::format("{{around: {{expr: {}, target: {}}}}}", text_of(*p.expression), value(p.target));
    case Kind::between:
      return fmt::format("{{between: {{expr: {}{}{}}}}}", text_of(*p.expression), end("from", p.target),
                         end("to", p.upper));
    case Kind::in: return fmt::format("{{in: {{expr: {}, values: {}}}}}", text_of(*p.expression), list(p.values, set));
    case Kind::pareto:
    case Kind::prior: return fmt::format("{{{}: {}}}", word, children());
    case Kind::inverse: return fmt::format("{{inverse: {}}}", preference(p.children[0]));
  }
  return {};
}

std::string aggregates(const std::vector<Aggregate>& items) {
  std::string text;
  for (const Aggregate& one : items) {
    const std::string argument = one.argument ? one.argument->text() : "";
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", scalar(one.name),
                        in_quotes(fmt::format("{}({})", query::word_for(one.function), argument)));
  }
  return "{" + text + "}";
}

/// An item of `select` or a key.
template <class Item>
std::string named(const Item& item) {
  if (item.name == query::output_name(item.expression)) return text_of(item.expression);
  return fmt::format("{{{}: {}}}", scalar(item.name), text_of(item.expression));
}

std::string path(const ForcedPath& used) {
  std::string text;
  const auto add = [&](std::string_view key, const std::string& what) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key, what);
  };
  if (!used.algorithms.empty()) add("algorithm", names(used.algorithms));
  if (used.device != DeviceChoice::automatic) add("device", std::string(query::word_for(used.device)));
  std::string parameters;
  for (const auto& [name, number] : used.parameters) {
    parameters += fmt::format("{}{}: {}", parameters.empty() ? "" : ", ", scalar(name), number);
  }
  if (!parameters.empty()) add("parameters", "{" + parameters + "}");
  if (!used.without.empty()) add("without", names(used.without));
  return "{" + text + "}";
}

std::string pick(const Pick& one) {
  std::string text = fmt::format("{{count: {}, by: {}", one.count, query::word_for(one.by));
  if (!one.reference.empty())
    text += ", reference: " + list(one.reference, [](double number) { return value(number); });
  return text + "}";
}

/// The texts of clauses as values of a query's keys.
struct Yaml {
  static std::string expression(const Expression& one) { return text_of(one); }
  static std::string keys(const std::vector<GroupKey>& all) { return list(all, named<GroupKey>); }
  static std::string aggregates(const std::vector<Aggregate>& all) { return tools::aggregates(all); }
  static std::string pick(const Pick& one) { return tools::pick(one); }
  static std::string preferences(const Preference& p) {
    return p.kind == Kind::pareto && p.children.size() > 1 ? list(p.children, preference) : preference(p);
  }
  static std::string ranking(const std::vector<RankTerm>& terms) {
    return list(terms, [](const RankTerm& term) {
      return fmt::format("{{{}: {}}}", term.high ? "high" : "low", text_of(term.expression));
    });
  }
  static std::string skyband(std::int64_t rows) { return rows == kAllRows ? "all" : std::to_string(rows); }
  template <class Enum>
  static std::string word(Enum value) {
    return std::string(query::word_for(value));
  }
  static std::string selection(const std::vector<SelectItem>& items) { return list(items, named<SelectItem>); }
  static std::string milliseconds(std::int64_t count) { return fmt::format("{}ms", count); }
  static std::string path(const ForcedPath& used) { return tools::path(used); }
};

std::string to_yaml(const Query& query) {
  std::string text = fmt::format("  - name: {}\n", scalar(query.name()));
  const auto add = [&](std::string_view key, const std::string& value) {
    text += fmt::format("    {}: {}\n", key == "using_path" ? "using" : key, value);
  };
  add("from", scalar(query.from()));
  print_clauses(query, Yaml{}, add);
  return text;
}

std::string types(const std::map<std::string, std::string>& columns) {
  std::vector<std::string> entries;
  for (const auto& [column, type] : columns) entries.push_back(scalar(column) + ": " + in_quotes(type));
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

std::string to_yaml(const TableSpec& table) {
  if (table.generator) {
    const GeneratorSpec& spec = *table.generator;
    return fmt::format("  {}: {{generate: {{distribution: {}, rows: {}, dims: {}, seed: {}}}}}\n", scalar(table.name),
                       scalar(spec.distribution), spec.rows, spec.dims, spec.seed);
  }
  const auto stated = [](std::string_view key, const std::string& text) {
    return text.empty() ? "" : fmt::format(", {}: {}", key, in_quotes(text));
  };
  const CsvSpec& csv = table.csv;
  std::string form = table.format.empty() ? "" : ", format: " + scalar(table.format);
  if (csv.header) form += *csv.header ? ", header: true" : ", header: false";
  form += stated("delimiter", csv.delimiter) + stated("decimal", csv.decimal);
  if (csv.skip) form += fmt::format(", skip: {}", *csv.skip);
  form += stated("comment", csv.comment);
  if (!csv.null_spellings.empty()) form += ", nulls: " + list(csv.null_spellings, in_quotes);
  form += stated("encoding", table.encoding) + stated("records", table.records);
  if (table.flatten) form += ", flatten: true";
  if (!table.types.empty()) form += ", types: " + types(table.types);
  return fmt::format("  {}: {{file: {}{}}}\n", scalar(table.name),
                     table.files.size() == 1 ? scalar(table.files[0]) : names(table.files), form);
}

}  // namespace

std::string to_yaml(const Batch& batch) {
  std::string text = "version: 1\n";
  if (!batch.devices.empty()) text += fmt::format("devices: [{}]\n", fmt::join(batch.devices, ", "));
  text += "tables:\n";
  for (const TableSpec& table : batch.tables) text += to_yaml(table);
  text += "queries:\n";
  for (const Query& query : batch.queries) text += to_yaml(query);
  return text;
}

}  // namespace skyrank::tools
