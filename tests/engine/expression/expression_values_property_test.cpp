#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "tests/engine/operator_test.hpp"
#include "tests/engine/random_expressions.hpp"
#include "tests/engine/reference.hpp"

// Random well-typed expressions over edge values: the evaluator and the row-wise reference agree on every row, on which
// row fails first, and on which rows a filter keeps.
namespace skyrank::exec {
namespace {

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
  ExpressionWriter writer(random);
  for (const int depth : {1, 2, 3, 4}) {
    check(writer.number(depth), table);
    check(writer.condition(depth), table);
  }
}

/// The same strings as indices into a dictionary; NULL rows index past its end.
Column as_dictionary(const Column& column) {
  auto entries = std::make_shared<std::vector<std::string>>();
  auto indices = std::make_shared<std::vector<std::int32_t>>();
  for (std::int64_t row = 0; row < column.size(); ++row) {
    if (column.is_null(row)) {
      indices->push_back(std::numeric_limits<std::int32_t>::max());
      continue;
    }
    const std::string text = std::get<std::string>(column.value(row));
    const auto entry = std::find(entries->begin(), entries->end(), text);
    indices->push_back(static_cast<std::int32_t>(entry - entries->begin()));
    if (entry == entries->end()) entries->push_back(text);
  }
  ColumnData data;
  data.type = Type::string;
  data.layout = Layout::dictionary;
  data.length = column.size();
  data.index_type = Type::int32;
  data.stride = sizeof(std::int32_t);
  data.values = indices->data();
  data.validity = column.data().validity;
  data.dictionary = std::make_shared<ColumnData>(Column::own("entries", *entries).data());
  data.owner = std::make_shared<std::pair<std::shared_ptr<const void>, Column>>(indices, column);
  return {column.name(), data};
}

RC_GTEST_PROP(EvaluateProperty, DictionariesAnswerAsPlainStrings, (std::uint64_t seed)) {
  Random random(seed);
  const Table plain({random_table(1 + random.below(30), random).column("t")});
  const Table dictionary({as_dictionary(plain.column(0))});
  ExpressionWriter writer(random);
  for (int i = 0; i < 30; ++i) {
    const std::string text = writer.string_condition(i % 3);
    RC_LOG() << text << std::endl;
    check(text, plain);
    check(text, dictionary);
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
  for (int i = 0; i < 90; ++i) text = "(" + text + ") in (p, p, not p)";
  EXPECT_EQ(filter(bound(text, table), table, all_rows(table)).size(), 2U);
}

}  // namespace
}  // namespace skyrank::exec
