#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/error.hpp>

#include "tests/engine/exec/edge_columns.hpp"
#include "tests/engine/exec/operator_test.hpp"
#include "tests/engine/exec/reference.hpp"

// Random well-typed expressions over edge values: the evaluator and the row-wise reference agree on every row, on which
// row fails first, and on which rows a filter keeps.
namespace skyrank::exec {
namespace {

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

Table random_table(std::int64_t n, Random& random) {
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

class Writer {
 public:
  explicit Writer(Random& random) : random_(random) {}

  std::string number(int depth) {
    if (depth == 0) return pick({"i", "u", "d", "s", "f", "0", "1", "2.5", "-1", "9223372036854775807", "NULL"});
    const auto sub = [&] { return "(" + number(depth - 1) + ")"; };
    switch (random_.below(7)) {
      case 0: return sub() + pick({" + ", " - ", " * ", " / ", " % "}) + sub();
      case 1: return pick({"abs", "floor", "ceil", "sqrt", "-"}) + sub();
      case 2: return pick({"min(", "max("}) + number(depth - 1) + ", " + number(depth - 1) + ")";
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
  std::string pick(const std::vector<std::string>& choices) {
    return choices[static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(choices.size())))];
  }

  Random& random_;
};

void check(const std::string& text, const Table& table) {
  RC_LOG() << text << std::endl;
  const query::BoundExpression expression = bound(text, table);
  std::optional<RowId> bad;
  std::vector<RowId> good;
  std::vector<RowId> is_true;
  std::vector<Value> expected;
  for (RowId row = 0; row < table.num_rows(); ++row) {
    const std::optional<Value> value = reference::try_evaluate(expression, table, row);
    if (!value) {
      if (!bad) bad = row;
      continue;
    }
    good.push_back(row);
    expected.push_back(*value);
    if (reference::is(*value, true)) is_true.push_back(row);
  }
  std::string message;
  try {
    evaluate_all(expression, table, all_rows(table), "x");
  } catch (const DataError& error) {
    message = error.message();
  }
  RC_ASSERT(message.substr(0, message.find(':')) == (bad ? "row " + std::to_string(*bad) : ""));
  const Rows rows{static_cast<std::int64_t>(good.size()), good.data()};
  const Column result = evaluate_all(expression, table, rows, "x");
  for (std::size_t i = 0; i < good.size(); ++i) {
    RC_LOG() << "row " << good[i] << std::endl;
    RC_ASSERT(reference::same(result.value(static_cast<std::int64_t>(i)), expected[i]));
  }
  if (expression.type.type == Type::boolean) RC_ASSERT(filter(expression, table, rows) == is_true);
}

RC_GTEST_PROP(EvaluateProperty, RandomExpressionsAgreeWithTheReference, (std::uint64_t seed)) {
  Random random(seed);
  const Table table = random_table(50, random);
  Writer writer(random);
  for (const int depth : {1, 2, 3, 4}) {
    check(writer.number(depth), table);
    check(writer.condition(depth), table);
  }
}

TEST(EvaluateDepth, TheHighestTreesFitTheStack) {
  const Table table({Column::own("a", std::vector<std::int64_t>{1, 2, 3})});
  std::string sum = "a";
  std::string choice = "a > 7";
  for (int i = 1; i < query::kMaxHeight - 2; ++i) {
    sum += " + a";
    choice += " or a = 1";
  }
  EXPECT_EQ(evaluate_all(bound(sum, table), table, all_rows(table), "x").value(2),
            Value(std::int64_t{3} * (query::kMaxHeight - 2)));
  EXPECT_EQ(filter(bound(choice, table), table, all_rows(table)), std::vector<RowId>{0});
}

TEST(EvaluateDepth, NestedMembershipIsEvaluatedOnce) {
  const Table table({Column::own("p", std::vector<bool>{true, false})});
  std::string text = "p";
  for (int i = 0; i < 150; ++i) text = "(" + text + ") in (p, p, not p)";
  EXPECT_EQ(filter(bound(text, table), table, all_rows(table)).size(), 2U);
}

}  // namespace
}  // namespace skyrank::exec
