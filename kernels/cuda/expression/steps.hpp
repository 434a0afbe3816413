#pragma once

#include <cstdint>

#include "kernels/common/expression.hpp"
#include "kernels/common/stored.hpp"

// The form in which kernels run programs of the stack machine for several rows at a time. The last number and the last
// truth are in registers, numbers and truths below them in slots. The engine lowers expressions to it
// (engine/expression/lowering).
namespace skyrank::kernels::cuda::expression {

/// The effect of a step on the number and the truth that are in registers. Those of a kind stand side by side: from
/// `add` to `greater` two numbers make one, from `equal` to `to_truth` what is left is a truth, from `and_test` to
/// `logical_not` one is taken, and from `to_float` to `round_up` a float makes another.
enum class Act : std::uint8_t {
  load,  ///< the operand becomes the number
  save,  ///< the number goes into a slot
  restore,
  save_truth,
  restore_truth,
  // These take the number and the operand, which is the right one, but for one from a slot, which is the left one;
  // both are floats, or with `integers` int64. The first ones leave a number,
  add,
  subtract,
  multiply,
  divide,  ///< for floats alone
  lesser,  ///< the left one if both are equal
  greater,
  // and these a truth.
  equal,
  not_equal,
  less,
  less_equal,
  more,
  more_equal,
  between,  ///< tests with constants: `bits` <= number <= `upper`, negated where `flag`
  // These test the operand alone, a column as it is stored, by bounds of its own type.
  test,
  and_test,  ///< combines the test with the truth in the register, which is the left one
  or_test,
  // These take the truth, and one from a slot, which is the left one.
  logical_and,
  logical_or,
  logical_not,
  is_null,  ///< a truth of the number; is not, where `flag`
  to_truth,
  to_number,
  to_float,
  negate,  ///< this and the following of floats
  absolute,
  square,
  square_root,
  round_down,
  round_up,
  choose,          ///< the number from the slot, where the truth is one
  choose_operand,  ///< the same of the operand, a column or a constant
  // Several of these at once, of columns of float32:
  load_square,  ///< the operand's square becomes the number
  add_square,   ///< the operand's square is added to the number
  general,  ///< instruction `place` of the program, a row at a time, on `operands` numbers, all but the last in slots
  read,     ///< the number is what instruction `place` of the program reads, a row at a time
};

/// The commonest steps, which are told at once, not by what they do and then by what with.
enum class Common : std::uint8_t {
  none,
  load_floats,
  multiply_floats,
  add_floats,
  multiply_constant,
  add_slot,
  save,
  square,
  test_floats,
  load_square,
  add_square,
};

/// The source of a step's operand.
enum class From : std::uint8_t { none, slot, constant, float32, int32, uint32, wide };

/// Its first eight bytes are read as two words.
struct alignas(8) Step {
  Act act = Act::load;
  From from = From::none;
  std::uint8_t slot = 0;    ///< number among the staged columns, if the operand is a column
  std::uint8_t marks = 0;   ///< kIntegers, kFlag and Common
  std::uint32_t where = 0;  ///< the instruction's place; of what is in shared memory its offset, once that is laid out
  std::uint64_t bits = 0;
  std::uint64_t upper = 0;  ///< number of operands, for a general step

  static constexpr std::uint8_t kIntegers = 1;
  static constexpr std::uint8_t kFlag = 2;  ///< a constant is NULL; a range is negated

  static constexpr unsigned kCommonShift = 4;  ///< place of Common, once the program is laid out

  static constexpr std::uint8_t marked(bool integers, bool flag) {
    return static_cast<std::uint8_t>((integers ? kIntegers : 0) | (flag ? kFlag : 0));
  }
};

/// The values that a program leaves: a number, a truth, or a score and after it a truth. The square root of a score, or
/// its division by a column of float32, may be left for later if it comes last.
enum class Leaves : std::uint8_t { number, truth, score, score_and_truth };

/// A program as an argument of a kernel.
struct StepProgram {
  static constexpr int kMaxSteps = 96;
  static constexpr int kMaxColumns = 8;
  static constexpr int kMaxSlots = 15;
  /// Values that the program has on its stack at most.
  static constexpr int kMaxStacked = 16;

  Step steps[kMaxSteps];
  StoredColumn columns[kMaxColumns];  ///< staged columns: of 4 or 8 bytes, aligned to 16
  int step_count = 0;
  int column_count = 0;
  /// Steps and columns of the first part: those without which a score cannot be computed, or the operand of its root or
  /// quotient. All of them for programs that leave no score.
  int first_steps = 0;
  int first_columns = 0;
  bool root_later = false;
  bool quotient_later = false;
  /// A score without a value in any column of which there is none: NULLs are looked at after the first part.
  bool nulls_later = false;
  int number_slots = 0;
  int truth_slots = 0;
  bool nulls = false;  ///< there may be some
  bool fails = false;  ///< rows may, or there are general steps
  Expression source;   ///< the program itself, for general steps; set where it is in device memory
};

}  // namespace skyrank::kernels::cuda::expression
