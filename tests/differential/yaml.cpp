#include <utility>

#include "tests/differential/generate.hpp"
#include "tests/differential/oracle/oracle.hpp"

// Queries as YAML.
namespace skyrank::differential {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string in_backquotes(const std::string& name) { return "`" + name + "`"; }

std::string plain(const Cell& value) {
  if (const auto* integer = std::get_if<Integer>(&value)) return spelled(*integer);
  if (const auto* number = std::get_if<double>(&value)) return spelled(*number);
  return quoted(std::get<std::string>(value));
}

template <class T, class Spell>
std::string list(const std::vector<T>& items, const Spell& spell) {
  std::string text = "[";
  for (const T& item : items) text += (text.size() > 1 ? ", " : "") + spell(item);
  return text + "]";
}

std::string yaml(const Preference& preference) {
  using Kind = Preference::Kind;
  const ExpressionPtr& value = preference.stepped ? preference.stepped : preference.expression;
  const std::string expression = value ? quoted(value->text) : "";
  const std::string step = preference.stepped ? ", step: " + preference.step : "";
  switch (preference.kind) {
    case Kind::low: return "{low: " + expression + step + "}";
    case Kind::high: return "{high: " + expression + step + "}";
    case Kind::where: return "{where: " + expression + "}";
    case Kind::around: return "{around: {expr: " + expression + ", target: " + plain(preference.from) + "}}";
    case Kind::between:
      return "{between: {expr: " + expression + ", from: " + plain(preference.from) + ", to: " + plain(preference.to) +
             "}}";
    case Kind::in:
      return "{in: {expr: " + expression +
             ", values: " + list(preference.sets, [](const auto& set) { return list(set, plain); }) + "}}";
    case Kind::inverse: return "{inverse: " + yaml(preference.children.front()) + "}";
    case Kind::pareto: return "{pareto: " + list(preference.children, yaml) + "}";
    case Kind::prior: break;
  }
  return "{prior: " + list(preference.children, yaml) + "}";
}

std::string yaml(const Output& output) {
  constexpr const char* kPseudo[] = {"row", "level", "score"};
  const std::string text = output.kind == Output::Kind::expression ? output.expression->text
                           : output.kind == Output::Kind::measure  ? text_of(output.measure)
                                                                   : kPseudo[static_cast<std::size_t>(output.kind)];
  return "{" + output.name + ": " + quoted(text) + "}";
}

std::string yaml(const Pick& pick) {
  constexpr const char* kBy[] = {"distance", "coverage", "hypervolume"};
  std::string text = "{count: " + std::to_string(pick.count) + ", by: " + kBy[static_cast<std::size_t>(pick.by)];
  if (!pick.reference.empty()) text += ", reference: " + list(pick.reference, [](double v) { return spelled(v); });
  return text + "}";
}

std::string yaml(const Query& query, const Relation& table) {
  std::string text = "  - {name: " + query.name + ", from: t";
  const auto add = [&](const std::string& key, const std::string& value) { text += ",\n     " + key + ": " + value; };
  if (query.where) add("where", quoted(query.where->text));
  if (!query.group_by.empty()) {
    add("group_by", list(query.group_by, [&](std::size_t c) { return quoted(in_backquotes(table.fields[c].name)); }));
  }
  if (query.has_groups()) {
    std::string aggregates = "{";
    for (const Aggregation& item : query.aggregates) {
      const std::string call = item.function + "(" + (item.argument ? item.argument->text : "") + ")";
      aggregates += (aggregates.size() > 1 ? ", " : "") + item.name + ": " + quoted(call);
    }
    if (!query.aggregates.empty()) add("aggregate", aggregates + "}");
    if (query.having) add("having", quoted(query.having->text));
  }
  const std::vector<Field> fields = fields_after_grouping(query, table);
  if (!query.partition_by.empty()) {
    add("partition_by", list(query.partition_by, [&](std::size_t c) { return quoted(in_backquotes(fields[c].name)); }));
  }
  if (query.prefer) add("prefer", yaml(query.spelling ? query.spelling->preference : *query.prefer));
  if (query.spelling) {
    const Spelling& spelling = *query.spelling;
    if (!spelling.weights.empty()) add("weights", list(spelling.weights, quoted));
    if (!spelling.feasible.empty()) add("feasible", quoted(spelling.feasible));
    if (!spelling.violations.empty()) add("violation", list(spelling.violations, quoted));
  }
  if (query.pick) add("pick", yaml(*query.pick));
  if (query.levels) add("levels", std::to_string(*query.levels));
  if (query.skyband) add("skyband", query.skyband == Query::kAll ? "all" : std::to_string(*query.skyband));
  if (query.at_least) add("at_least", std::to_string(*query.at_least));
  if (query.distinct) add("distinct", "true");
  if (!query.rank_by.empty()) {
    add("rank_by", list(query.rank_by, [](const Ranking& term) {
          return std::string(term.high ? "{high: " : "{low: ") +
                 quoted(term.measure ? text_of(*term.measure) : term.expression->text) + "}";
        }));
  }
  if (query.offset > 0) add("offset", std::to_string(query.offset));
  if (query.limit) add("limit", std::to_string(*query.limit));
  add("ties", query.ties + ", nan: " + query.nan + ", nulls: " + query.nulls);
  if (!query.select.empty()) add("select", list(query.select, [](const Output& output) { return yaml(output); }));
  std::string path;
  if (!query.path.algorithm.empty()) path += ", algorithm: " + query.path.algorithm;
  if (!query.path.device.empty()) path += ", device: " + query.path.device;
  if (!query.path.without.empty())
    path += ", without: " + list(query.path.without, [](const std::string& rule) { return rule; });
  if (!path.empty()) add("using", "{" + path.substr(2) + "}");
  return text + "}\n";
}

}  // namespace

std::string text_of(const Measure& measure) {
  constexpr const char* kNames[] = {"level", "dominated_by", "dominates", "crowding", "contribution", "compromise"};
  std::string numbers;
  for (const double number : measure.numbers) numbers += (numbers.empty() ? "" : ", ") + spelled(number);
  return std::string(kNames[static_cast<std::size_t>(measure.kind)]) + "(" + numbers + ")";
}

std::string yaml_of(const std::vector<Query>& queries, const Relation& table) {
  std::string text = "version: 1\ntables: {t: {file: t.csv}}\nqueries:\n";
  for (const Query& query : queries) text += yaml(query, table);
  return text;
}

}  // namespace skyrank::differential
