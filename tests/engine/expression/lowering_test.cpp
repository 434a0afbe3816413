#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "engine/expression/lowering/compile_steps.hpp"
#include "kernels/common/expression.hpp"
#include "kernels/cuda/expression/columns.hpp"

// The steps that expressions become for GPU kernels. Their values are compared with the interpreter's wherever kernels
// run, on the emulator and on GPUs.
namespace skyrank::exec {
namespace {

using kernels::Instruction;
using kernels::Number;
using kernels::Opcode;
using kernels::Stored;
using kernels::StoredColumn;
using kernels::with_bits_of;
using kernels::cuda::expression::Act;
using kernels::cuda::expression::DeviceExpression;
using kernels::cuda::expression::From;
using kernels::cuda::expression::Leaves;
using kernels::cuda::expression::Step;
using kernels::cuda::expression::StepProgram;
using testing::ElementsAre;

/// Places of columns, of which the lowering looks at the addresses alone.
alignas(16) const std::uint64_t kPlaces[4] = {};

StoredColumn column_of(std::size_t place, Stored stored) {
  return {.values = reinterpret_cast<const std::byte*>(kPlaces) + 16 * place, .stored = stored};
}

Instruction load(std::uint32_t column) { return {.op = Opcode::column, .index = column}; }
Instruction constant(double value) { return {.op = Opcode::constant, .bits = with_bits_of<std::uint64_t>(value)}; }
Instruction of_floats(Opcode op) { return {.op = op, .left = Number::float64, .right = Number::float64}; }

DeviceExpression over_floats(std::vector<Instruction> instructions) {
  DeviceExpression expression;
  expression.instructions = std::move(instructions);
  expression.columns = {column_of(0, Stored::float32), column_of(1, Stored::float32)};
  return expression;
}

std::vector<Act> acts_of(const StepProgram& program) {
  std::vector<Act> acts;
  for (int i = 0; i < program.step_count; ++i) acts.push_back(program.steps[i].act);
  return acts;
}

TEST(Lowering, AWeightedSumReadsItsColumnsAsOperands) {
  DeviceExpression sum =
      over_floats({constant(2.5), load(0), of_floats(Opcode::multiply), load(1), of_floats(Opcode::add)});
  compile_steps(sum, Leaves::number);
  ASSERT_TRUE(sum.steps);
  EXPECT_THAT(acts_of(*sum.steps), ElementsAre(Act::load, Act::multiply, Act::add));
  EXPECT_EQ(sum.steps->steps[1].bits, with_bits_of<std::uint64_t>(2.5));
  EXPECT_EQ(sum.steps->steps[2].from, From::float32);
  EXPECT_EQ(sum.steps->steps[2].slot, 1);
  EXPECT_EQ(sum.steps->column_count, 2);
  EXPECT_EQ(sum.steps->number_slots, 0);
  EXPECT_FALSE(sum.steps->fails);
}

TEST(Lowering, ALengthNeedsOneSlotLess) {
  DeviceExpression length =
      over_floats({load(0), load(0), of_floats(Opcode::multiply), load(1), load(1), of_floats(Opcode::multiply),
                   of_floats(Opcode::add), of_floats(Opcode::square_root)});
  compile_steps(length, Leaves::number);
  ASSERT_TRUE(length.steps);
  EXPECT_THAT(acts_of(*length.steps), ElementsAre(Act::load_square, Act::add_square, Act::square_root));
  EXPECT_EQ(length.steps->number_slots, 0);
}

// `x < .1` in floats of 64 bits is `x <= b` for a float32 b, the greatest one below .1.
TEST(Lowering, AComparisonWithAConstantTestsTheColumnAsItIsStored) {
  DeviceExpression less = over_floats({load(0), constant(.1), of_floats(Opcode::less)});
  compile_steps(less, Leaves::truth);
  ASSERT_TRUE(less.steps);
  ASSERT_THAT(acts_of(*less.steps), ElementsAre(Act::test));
  const Step& test = less.steps->steps[0];
  const auto highest = with_bits_of<float>(static_cast<std::uint32_t>(test.upper));
  EXPECT_LT(double{highest}, .1);
  EXPECT_GE(double{std::nextafter(highest, 1.0f)}, .1);
  EXPECT_EQ(with_bits_of<float>(static_cast<std::uint32_t>(test.bits)), -std::numeric_limits<float>::infinity());
}

TEST(Lowering, AComparisonWithNaNHoldsForNoRow) {
  DeviceExpression less =
      over_floats({load(0), constant(std::numeric_limits<double>::quiet_NaN()), of_floats(Opcode::less)});
  compile_steps(less, Leaves::truth);
  ASSERT_TRUE(less.steps);
  const Step& test = less.steps->steps[0];
  EXPECT_GT(with_bits_of<float>(static_cast<std::uint32_t>(test.bits)),
            with_bits_of<float>(static_cast<std::uint32_t>(test.upper)));
}

TEST(Lowering, IntegersBeyondTheColumnsTypeAreNarrowed) {
  DeviceExpression less = over_floats({load(0),
                                       {.op = Opcode::constant, .bits = std::uint64_t{1} << 40},
                                       {.op = Opcode::less_equal, .left = Number::int64, .right = Number::int64}});
  less.columns = {column_of(0, Stored::int32)};
  compile_steps(less, Leaves::truth);
  ASSERT_TRUE(less.steps);
  ASSERT_THAT(acts_of(*less.steps), ElementsAre(Act::test));
  EXPECT_EQ(static_cast<std::int32_t>(less.steps->steps[0].upper), std::numeric_limits<std::int32_t>::max());
}

// Only the columns of the score are read for every row.
TEST(Lowering, AScanEndsItsFirstPartWithTheScore) {
  const DeviceExpression score = over_floats({load(0)});
  const DeviceExpression condition = over_floats({load(1), constant(5), of_floats(Opcode::less)});
  const auto scan = compile_scan(score, condition, true);
  EXPECT_TRUE(scan.filters());
  EXPECT_EQ(scan.of_score, 1U);
  ASSERT_TRUE(scan.program.steps);
  const StepProgram& program = *scan.program.steps;
  EXPECT_THAT(acts_of(program), ElementsAre(Act::load, Act::test));
  EXPECT_EQ(program.first_steps, 1);
  EXPECT_EQ(program.first_columns, 1);
  EXPECT_EQ(program.column_count, 2);
}

TEST(Lowering, TheRootOfAScoreIsLeftForLater) {
  const auto scan = compile_scan(over_floats({load(0), of_floats(Opcode::square_root)}), std::nullopt, false);
  EXPECT_FALSE(scan.filters());
  ASSERT_TRUE(scan.program.steps);
  EXPECT_TRUE(scan.program.steps->root_later);
  EXPECT_EQ(scan.program.steps->first_steps, 1);
}

TEST(Lowering, ProgramsThatAreTooLongOrTooDeepHaveNoSteps) {
  std::vector<Instruction> deep;
  for (int i = 0; i <= StepProgram::kMaxStacked; ++i) {
    deep.push_back(load(0));
    deep.push_back(of_floats(Opcode::round_up));
  }
  for (int i = 0; i < StepProgram::kMaxStacked; ++i) deep.push_back(of_floats(Opcode::add));
  DeviceExpression stacked = over_floats(deep);
  compile_steps(stacked, Leaves::number);
  EXPECT_FALSE(stacked.steps);

  std::vector<Instruction> many = {load(0)};
  for (int i = 0; i < StepProgram::kMaxSteps; ++i) many.push_back(of_floats(Opcode::round_up));
  DeviceExpression rounded = over_floats(many);
  compile_steps(rounded, Leaves::number);
  EXPECT_FALSE(rounded.steps);
  rounded.instructions.pop_back();
  compile_steps(rounded, Leaves::number);
  EXPECT_TRUE(rounded.steps);
}

TEST(Lowering, RowsOfUnalignedColumnsAreReadOneByOne) {
  DeviceExpression sum = over_floats({load(0), load(1), of_floats(Opcode::add)});
  sum.columns[1].values = reinterpret_cast<const std::byte*>(kPlaces) + 4;
  compile_steps(sum, Leaves::number);
  ASSERT_TRUE(sum.steps);
  EXPECT_THAT(acts_of(*sum.steps), ElementsAre(Act::read, Act::add));
  EXPECT_TRUE(sum.steps->fails);
  EXPECT_EQ(sum.steps->column_count, 1);
}

}  // namespace
}  // namespace skyrank::exec
