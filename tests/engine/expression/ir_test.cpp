#include "engine/expression/ir.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/expression/patterns.hpp"

namespace skyrank::exec {
namespace {

using query::Op;

Table numbers() {
  return Table({Column::own("a", std::vector<double>{1, 2}), Column::own("b", std::vector<float>{3, 4}),
                Column::own("n", std::vector<std::int64_t>{5, 6}),
                Column::own("s", std::vector<std::string>{"x", "y"})});
}

Ir lowered(const std::string& text) {
  return lower(*query::bind_expression(Expression(text), query::schema_of(numbers())).root);
}

std::vector<Op> ops(const Ir& ir) {
  std::vector<Op> list;
  for (const Operation& operation : ir.operations()) list.push_back(operation.op);
  return list;
}

TEST(Lower, PutsOperandsBeforeWhatReadsThem) {
  const Ir ir = lowered("a + b * n");
  EXPECT_EQ(ops(ir), (std::vector<Op>{Op::column, Op::column, Op::column, Op::multiply, Op::add}));
  EXPECT_EQ(ir.operand(ir.root(), 0).column, 0);
  EXPECT_EQ(ir.operand(ir.root(), 1).op, Op::multiply);
}

TEST(Lower, EvaluatesConstantPartsAndLeavesThoseThatFail) {
  EXPECT_EQ(ops(lowered("n + 2 * 3")), (std::vector<Op>{Op::column, Op::literal, Op::add}));
  EXPECT_EQ(lowered("2 * 3 + 1").root().constant->value, Value(std::int64_t{7}));
  EXPECT_TRUE(is_null_literal(lowered("1 + null").root()));
  EXPECT_EQ(lowered("1 / 0").root().op, Op::divide);
}

TEST(Lower, GivesConstantsTheTypeOfWhatTheyAreComparedWith) {
  const Ir ir = lowered("a < 5");
  EXPECT_EQ(ir.operand(ir.root(), 1).constant->value, Value(5.0));
  const Ir inexact = lowered("n < 5.5");
  EXPECT_EQ(inexact.operand(inexact.root(), 1).type.type, Type::float64);
}

TEST(Lower, MakesASetOfMembers) {
  const Ir ir = lowered("n in [3, 1, 2.5, null, 3]");
  ASSERT_EQ(ops(ir), (std::vector<Op>{Op::column, Op::in}));
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(ir.root().members->values), (std::vector<std::int64_t>{1, 3}));
  EXPECT_TRUE(ir.root().members->has_null);
}

TEST(Ir, GivesAPartOfItself) {
  const Ir ir = lowered("a + max(b, n * 2) > 1");
  const Operation& sum = ir.operand(ir.root(), 0);
  const Ir part = ir.part(ir.operand(sum, 1));
  EXPECT_EQ(ops(part), (std::vector<Op>{Op::column, Op::column, Op::literal, Op::multiply, Op::max}));
  EXPECT_EQ(part.operand(part.root(), 1).op, Op::multiply);
}

std::vector<double> weights(const std::string& text) {
  std::vector<double> list;
  for (const WeightedColumn& term : weighted_columns(lowered(text), numbers())) list.push_back(term.weight);
  return list;
}

TEST(Patterns, WeightedSumsLeanToTheLeftAndHaveFloatColumns) {
  EXPECT_EQ(weights("0.5 * a + b - 2 * b"), (std::vector<double>{0.5, 1, -2}));
  EXPECT_EQ(weights("(1 + 1) * a - b"), (std::vector<double>{2, -1}));
  EXPECT_EQ(weights("a + (b + a)"), std::vector<double>());
  EXPECT_EQ(weights("a + n"), std::vector<double>());
  EXPECT_EQ(weighted_numbers(lowered("a + n"), numbers()).size(), 2U);
}

TEST(Patterns, ATestOfAColumnHasTheColumnOnTheLeft) {
  const auto test = [](const std::string& text) {
    const Ir ir = lowered(text);
    const auto found = column_test(ir, ir.root());
    return found ? std::string(query::spelling(found->op)) + (found->negated ? " not " : " ") +
                       std::to_string(found->column->column)
                 : "";
  };
  EXPECT_EQ(test("a < 1"), "< 0");
  EXPECT_EQ(test("1 <= n"), ">= 2");
  EXPECT_EQ(test("b between 1 and 2"), "between 1");
  EXPECT_EQ(test("s not in ['x']"), "in not 3");
  EXPECT_EQ(test("n is null"), "is null 2");
  EXPECT_EQ(test("a < b"), "");
  EXPECT_EQ(test("a + 1 < 2"), "");
  EXPECT_EQ(test("a between b and 2"), "");
}

TEST(Patterns, OnlyArithmeticOfWholeNumbersFails) {
  EXPECT_TRUE(never_fails(lowered("a * b < 3 and n in [1, 2]")));
  EXPECT_TRUE(never_fails(lowered("n < 2 + 3")));
  EXPECT_FALSE(never_fails(lowered("n + 1 < 2")));
  EXPECT_FALSE(never_fails(lowered("a < 1 / 0")));
}

}  // namespace
}  // namespace skyrank::exec
