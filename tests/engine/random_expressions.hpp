#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/table.hpp>

#include "tests/engine/edge_columns.hpp"
#include "tests/engine/operator_test.hpp"

// Random expressions over edge values.
namespace skyrank::exec {

template <class T>
Column random_column(std::string name, std::int64_t n, Random& random) {
  const std::vector<T> edges = edge_values<T>();
  std::vector<T> values;
  std::vector<bool> valid;
  for (std::int64_t i = 0; i < n; ++i) {
    values.push_back(edges[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(edges.size())))]);
    valid.push_back(random.below(6) != 0);
  }
  return Column::own(std::move(name), values, valid);
}

/// n rows of edge values, with NULLs: i, u, d, s, f are numbers, p is a truth, t a string.
inline Table random_table(std::int64_t n, Random& random) {
  std::vector<bool> flags;
  std::vector<bool> valid;
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < n; ++i) {
    flags.push_back(random.below(2) != 0);
    valid.push_back(random.below(4) != 0);
    texts.push_back(std::string(static_cast<std::size_t>(random.below(3)), 'x'));
  }
  return Table({random_column<std::int64_t>("i", n, random), random_column<std::uint64_t>("u", n, random),
                random_column<double>("d", n, random), random_column<std::int8_t>("s", n, random),
                random_column<float>("f", n, random), Column::own("p", flags, valid), Column::own("t", texts, valid)});
}

/// Writes random well-typed expressions over the columns of random_table.
class ExpressionWriter {
 public:
  explicit ExpressionWriter(Random& random) : random_(random) {}

  /// A comparison, `between` or `in` of strings, in which t stands in any place.
  std::string string_predicate() {
    switch (random_.below(5)) {
      case 4: return string() + pick({" like ", " not like "}) + pick({"'x%'", "'_'", "'%x_'", "t", "NULL"});
      case 0: return string() + pick({" = ", " != ", " < ", " <= ", " > ", " >= "}) + string();
      case 1: return string() + pick({" between ", " not between "}) + string() + " and " + string();
      case 2: return string() + pick({" in (", " not in ("}) + string() + ")";
      default: return string() + pick({" in (", " not in ("}) + string() + ", " + string() + ", " + string() + ")";
    }
  }

  /// A condition of string predicates.
  std::string string_condition(int depth) {
    if (depth == 0) return string_predicate();
    const auto sub = [&] { return "(" + string_condition(depth - 1) + ")"; };
    switch (random_.below(5)) {
      case 0: return sub() + " and " + sub();
      case 1: return sub() + " or " + sub();
      case 2: return "not " + sub();
      case 3: return sub() + pick({" is null", " is not null"});
      default: return string_predicate();
    }
  }

  std::string number(int depth) {
    if (depth == 0) return pick({"i", "u", "d", "s", "f", "0", "1", "2.5", "-1", "9223372036854775807", "NULL"});
    const auto sub = [&] { return "(" + number(depth - 1) + ")"; };
    switch (random_.below(8)) {
      case 7: return cast(sub());
      case 0: return sub() + pick({" + ", " - ", " * ", " / ", " % "}) + sub();
      case 1: return pick({"abs", "floor", "ceil", "round", "sqrt", "-"}) + sub();
      case 2: return pick({"min(", "max(", "coalesce("}) + number(depth - 1) + ", " + number(depth - 1) + ")";
      case 3: return "case when " + condition(depth - 1) + " then " + sub() + " else " + sub() + " end";
      case 4: return "case when " + condition(depth - 1) + " then " + sub() + " end";
      default: return number(0);
    }
  }

  std::string condition(int depth) {
    if (depth == 0) return pick({"p", "i < u", "d >= s", "f = d", "u != 0", "t = 'x'", "t < 'xx'", "NULL", "true"});
    const auto sub = [&] { return "(" + condition(depth - 1) + ")"; };
    const auto value = [&] { return "(" + number(depth - 1) + ")"; };
    switch (random_.below(8)) {
      case 0: return sub() + " and " + sub();
      case 1: return sub() + " or " + sub();
      case 2: return "not " + sub();
      case 3: return value() + pick({" = ", " != ", " < ", " <= ", " > ", " >= "}) + value();
      case 4: return value() + pick({" between ", " not between "}) + value() + " and " + value();
      case 5: return value() + pick({" in (", " not in ("}) + number(0) + ", " + number(0) + ", 3)";
      case 6: return value() + pick({" is null", " is not null"});
      default: return condition(0);
    }
  }

 private:
  std::string string() { return pick({"t", "t", "''", "'x'", "'xx'", "'y'", "NULL", "t || 'x'", "'y' || t"}); }

  std::string cast(const std::string& number) {
    const std::string type = pick({"int64", "uint64", "float64"});
    if (random_.below(3) > 0) return pick({"cast(", "CAST( "}) + number + " as " + type + ")";
    return pick({"p", "s", "cast(i as string)", "cast(u as string)", "case when t = 'x' then '1.5' else t end"}) +
           "::" + type;
  }

  std::string pick(const std::vector<std::string>& choices) {
    return choices[static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(choices.size())))];
  }

  Random& random_;
};

}  // namespace skyrank::exec
