#pragma once

#include <cstdint>
#include <optional>

#include "kernels/common/expression.hpp"
#include "kernels/cuda/eval/columns.hpp"

// Programs of the stack machine put into the form in which kernels run them for several rows at a time.
namespace skyrank::kernels::cuda {

/// What a step does to the accumulator, in which the last value is. `left` is the accumulator, or with an operand from
/// the stack what lies there.
enum class Act : std::uint8_t {
  push,  ///< the accumulator goes onto the stack, the operand comes in its place
  add,   ///< of two floats, or with `integers` of two int64
  subtract,
  multiply,
  divide,  ///< of floats alone
  equal,
  not_equal,
  less,
  less_equal,
  between,  ///< of constants: `bits` <= value <= `upper`, negated where `flag`
  logical_and,
  logical_or,
  logical_not,
  is_null,  ///< is not, where `flag`
  to_float,
  negate,  ///< this and the following of floats
  absolute,
  square_root,
  round_down,
  round_up,
  lesser,  ///< of two floats, or with `integers` of two int64; of equal ones the left
  greater,
  choose,   ///< of `operands` values on the stack
  general,  ///< instruction `place` of the program, a row at a time, on one to three operands
  read,     ///< pushes what that instruction reads, a row at a time
};

/// Where the second operand comes from.
enum class From : std::uint8_t { stack, constant, column };

struct Step {
  Act act = Act::push;
  From from = From::stack;
  bool integers = false;
  bool flag = false;           ///< of a constant: it is NULL
  std::uint16_t place = 0;     ///< the column's among those that are staged, or the instruction's
  std::uint16_t operands = 0;  ///< of a general step
  std::uint64_t bits = 0;
  std::uint64_t upper = 0;
};

/// A program as an argument of a kernel.
struct StepProgram {
  static constexpr int kMostSteps = 64;
  static constexpr int kMostColumns = 8;
  /// NULLs and failures of the values on the stack are bits of a word.
  static constexpr int kMostStacked = 16;

  Step steps[kMostSteps];
  StoredColumn columns[kMostColumns];  ///< that are staged: of 4 or 8 bytes, aligned to 16
  int step_count = 0;
  int column_count = 0;
  int depth = 0;      ///< values on the stack at most
  Expression source;  ///< the program itself, for general steps; set where it is in device memory
};

/// Nothing where the program is too long, or its stack too deep.
std::optional<StepProgram> steps_of(const DeviceExpression& expression);

}  // namespace skyrank::kernels::cuda
