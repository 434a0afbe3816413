#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/query/check.hpp"
#include "engine/query/enum_words.hpp"
#include "engine/text.hpp"
#include "tools/skyrank/dialects/clauses.hpp"
#include "tools/skyrank/dialects/dialects.hpp"

// Writes queries as C++ that builds them.
namespace skyrank::tools {
namespace {

using Kind = Preference::Kind;

std::string literal(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      result += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    } else {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
  }
  return result + "\"";
}

std::string code(const Expression& expression) { return literal(expression.text()); }

std::string float_literal(double number) {
  if (std::isinf(number)) {
    return std::string(number < 0 ? "-" : "") + "std::numeric_limits<double>::infinity()";
  }
  const std::string text = format_number(number);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

/// A decimal's digits in two halves of 64 bits where one does not hold them.
std::string decimal_literal(const Decimal& decimal) {
  const auto low = static_cast<std::int64_t>(decimal.unscaled);
  if (low == decimal.unscaled) return fmt::format("Decimal{{{}, {}}}", low, decimal.scale);
  return fmt::format("Decimal{{Int128{{{}}} * (Int128{{1}} << 64) + {}u, {}}}",
                     static_cast<std::int64_t>(decimal.unscaled >> 64), static_cast<std::uint64_t>(decimal.unscaled),
                     decimal.scale);
}

struct ValueLiteral {
  std::string operator()(Null) const { return "Null{}"; }
  std::string operator()(bool one) const { return one ? "true" : "false"; }
  std::string operator()(std::int64_t one) const {
    if (one == std::numeric_limits<std::int64_t>::min()) return "std::numeric_limits<std::int64_t>::min()";
    return fmt::format("std::int64_t{{{}}}", one);
  }
  std::string operator()(std::uint64_t one) const { return fmt::format("std::uint64_t{{{}u}}", one); }
  std::string operator()(double one) const { return float_literal(one); }
  std::string operator()(Date one) const { return fmt::format("Date{{{}}}", one.days); }
  std::string operator()(Timestamp one) const {
    constexpr std::string_view kUnits[] = {"second", "millisecond", "microsecond", "nanosecond"};
    return fmt::format("Timestamp{{{}, TimeUnit::{}}}", one.ticks, kUnits[static_cast<int>(one.unit)]);
  }
  std::string operator()(const std::string& one) const {
    const bool nul = one.find('\0') != std::string::npos;
    return nul ? fmt::format("std::string({}, {})", literal(one), one.size())
               : fmt::format("std::string({})", literal(one));
  }
  std::string operator()(const Decimal& one) const { return decimal_literal(one); }
};

std::string value(const Value& one) { return std::visit(ValueLiteral{}, one); }

template <class Items, class Print>
std::string list(const Items& items, const Print& print) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : ", ") + print(item);
  return "{" + text + "}";
}

std::string names(const std::vector<std::string>& items) {
  return list(items, [](const std::string& name) { return literal(name); });
}

std::string preference(const Preference& p) {
  const std::string_view word = query::word_for(p.kind);
  const auto set = [](const std::vector<Value>& members) { return list(members, value); };
  switch (p.kind) {
    case Kind::low:
    case Kind::high:
    case Kind::where: return fmt::format("{}({})", word, code(*p.expression));
    case Kind::around: return fmt::format("around({}, {})", code(*p.expression), value(p.target));
    case Kind::between: return fmt::format("between({}, {}, {})", code(*p.expression), value(p.target), value(p.upper));
    case Kind::in: return fmt::format("in({}, {})", code(*p.expression), list(p.values, set));
    case Kind::pareto:
    case Kind::prior: return fmt::format("{}({})", word, list(p.children, preference));
    case Kind::inverse: return fmt::format("inverse({})", preference(p.children[0]));
  }
  return {};
}

std::string aggregate(const Aggregate& one) {
  return fmt::format("{}({}{})", query::word_for(one.function), literal(one.name),
                     one.argument ? ", " + code(*one.argument) : "");
}

std::string selection(const std::vector<SelectItem>& items) {
  const bool unnamed = std::ranges::all_of(
      items, [](const SelectItem& item) { return item.name == query::output_name(item.expression); });
  return list(items, [&](const SelectItem& item) {
    return unnamed ? code(item.expression)
                   : fmt::format("SelectItem{{{}, {}}}", literal(item.name), code(item.expression));
  });
}

std::string key(const GroupKey& one) {
  if (one.name == query::output_name(one.expression)) return code(one.expression);
  return fmt::format("{{{}, {}}}", literal(one.name), code(one.expression));
}

std::string path(const ForcedPath& used) {
  std::string text;
  const auto add = [&](std::string_view member, const std::string& what) {
    text += fmt::format("{}.{} = {}", text.empty() ? "" : ", ", member, what);
  };
  if (!used.algorithms.empty()) add("algorithms", names(used.algorithms));
  if (used.device != DeviceChoice::automatic) {
    add("device", fmt::format("DeviceChoice::{}", query::word_for(used.device)));
  }
  if (!used.parameters.empty()) {
    add("parameters", list(used.parameters, [](const auto& parameter) {
          return fmt::format("{{{}, {}}}", literal(parameter.first), parameter.second);
        }));
  }
  if (!used.without.empty()) add("without", names(used.without));
  return "{" + text + "}";
}

std::string pick(const Pick& one) {
  return fmt::format("Pick{{{}, Pick::By::{}, {}}}", one.count, query::word_for(one.by),
                     list(one.reference, [](double number) { return value(number); }));
}

/// A name for a variable.
std::string identifier(const std::string& name) {
  std::string result = name.empty() ? "query" : name;
  std::ranges::replace_if(
      result, [](char c) { return c == '-' || c == '.'; }, '_');
  return result.front() >= '0' && result.front() <= '9' ? "query_" + result : result;
}

/// The texts of clauses as calls take them.
struct Cpp {
  static std::string expression(const Expression& one) { return code(one); }
  static std::string keys(const std::vector<GroupKey>& all) { return list(all, key); }
  static std::string aggregates(const std::vector<Aggregate>& all) { return list(all, aggregate); }
  static std::string pick(const Pick& one) { return tools::pick(one); }
  static std::string preferences(const Preference& p) {
    return p.kind == Kind::pareto && p.children.size() > 1 ? list(p.children, preference) : preference(p);
  }
  static std::string ranking(const std::vector<RankTerm>& terms) {
    return list(terms, [](const RankTerm& term) {
      return fmt::format("{}({})", term.high ? "high" : "low", code(term.expression));
    });
  }
  static std::string skyband(std::int64_t rows) { return rows == kAllRows ? "kAllRows" : std::to_string(rows); }
  static std::string word(Ties ties) { return fmt::format("Ties::{}", query::word_for(ties)); }
  static std::string word(Missing rule) { return fmt::format("Missing::{}", query::word_for(rule)); }
  static std::string selection(const std::vector<SelectItem>& items) { return tools::selection(items); }
  static std::string milliseconds(std::int64_t count) { return fmt::format("std::chrono::milliseconds({})", count); }
  static std::string path(const ForcedPath& used) { return tools::path(used); }
};

}  // namespace

std::string to_cpp(const Query& query) {
  std::string text = fmt::format("const Query {} = Query::from({})", identifier(query.name()), literal(query.from()));
  const auto add = [&](std::string_view call, const std::string& arguments) {
    text += fmt::format("\n    .{}({})", call, arguments);
  };
  if (!query.name().empty()) add("name", literal(query.name()));
  print_clauses(query, Cpp{}, add);
  return text + ";\n";
}

}  // namespace skyrank::tools
