#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/expression/lowering/passes.hpp"

// Selects steps for the instructions of an expression in postfix order. A stack holds the operands that have no step
// yet, constants and columns, so that a step loads them itself. At each place the longest pattern is taken: a range
// test, an operation with swapped operands, one with an operand of the stack, one alone.
namespace skyrank::exec::lowering {

using kernels::Instruction;
using kernels::Number;
using kernels::Opcode;
using kernels::operands_of;
using kernels::Stored;
using kernels::StoredColumn;
using kernels::cuda::expression::DeviceExpression;

namespace {

bool may_fail(const Step& step) {
  const bool calculates = step.act == Act::add || step.act == Act::subtract || step.act == Act::multiply;
  return step.act == Act::general || step.act == Act::read || (calculates && (step.marks & Step::kIntegers) != 0);
}

/// Returns true if a step leaves NULL if one of its operands is NULL, and otherwise a number.
bool keeps_nulls(const Step& step) {
  const bool is_null = step.from == From::constant && (step.marks & Step::kFlag) != 0;
  const bool is_binary = step.act >= Act::add && step.act <= Act::greater;
  const bool is_unary = step.act >= Act::to_float && step.act <= Act::round_up;
  return is_unary || ((is_binary || step.act == Act::load) && !is_null);
}

/// Reads an expression instruction by instruction.
class InstructionSelection {
 public:
  InstructionSelection(const DeviceExpression& expression, StepProgram& program)
      : expression_(expression), program_(program) {}

  /// Returns false where the program has too many steps, or its stack is too deep.
  bool run(Leaves leaves, std::size_t of_score) {
    while (at_ < expression_.instructions.size()) {
      if (leaves == Leaves::score_and_truth && at_ == of_score) end_score();
      if (!take_between() && !take_swapped() && !take_with_operand() && !take_alone()) take_generally();
      if (operations_.size() > StepProgram::kMaxSteps || stack_.size() > StepProgram::kMaxStacked) return false;
    }
    if (leaves == Leaves::score) end_score();
    if (leaves == Leaves::number || leaves == Leaves::truth) end_first();
    if (leaves != Leaves::truth) want(stack_.front(), false);
    if (leaves == Leaves::truth || leaves == Leaves::score_and_truth) want(stack_.back(), true);
    return true;
  }

  SelectedOperations take() { return {std::move(operations_), first_}; }

 private:
  /// Ends the first part: later steps do not belong to it.
  void end_first() {
    first_ = operations_.size();
    program_.first_columns = program_.column_count;
  }
  /// Nor is the score's root: roots are in the order of what they are of. Nor its quotient, which can be compared with
  /// a bound without dividing.
  void end_score() {
    end_first();
    program_.nulls_later = !program_.fails && std::ranges::all_of(operations_, [](const StepOperation& operation) {
      return keeps_nulls(operation.step);
    });
    const Step& last = operations_.back().step;
    program_.root_later = last.act == Act::square_root;
    program_.quotient_later = last.act == Act::divide && last.from == From::float32;
    if (program_.root_later || program_.quotient_later) --first_;
  }

  const Instruction* next(std::size_t ahead) const {
    const std::size_t place = at_ + ahead;
    return place < expression_.instructions.size() ? &expression_.instructions[place] : nullptr;
  }

  void want(std::size_t operation, bool truth) {
    operations_[operation].converted = operations_[operation].truth != truth;
  }

  /// The last operation, where that left the last value.
  StepOperation* last() {
    return !stack_.empty() && stack_.back() + 1 == operations_.size() ? &operations_.back() : nullptr;
  }

  /// A column that is compared with constants is tested as it is stored, and with what is true already; one that is
  /// multiplied with itself is squared.
  bool add_shorter(const Step& step, int operands) {
    StepOperation* const before = last();
    if (before == nullptr) return false;
    Step& step_before = before->step;
    if (const auto test = operands == 1 ? make_column_test(step_before, step) : std::nullopt) {
      *before = {.step = *test, .truth = true};
      return true;
    }
    if ((step.act == Act::logical_and || step.act == Act::logical_or) && step_before.act == Act::test) {
      Step both = step_before;
      both.act = step.act == Act::logical_and ? Act::and_test : Act::or_test;
      operations_.pop_back();
      stack_.pop_back();
      add(both, 1);
      return true;
    }
    const bool same = step.from != From::constant && step.from == step_before.from && step.slot == step_before.slot;
    const bool floats = (step.marks & Step::kIntegers) == 0;
    if (operands != 1 || step.act != Act::multiply || step_before.act != Act::load || !same || !floats) return false;
    add({.act = Act::square}, 1);
    return true;
  }

  /// Adds a step that takes `operands` values and leaves one.
  void add(const Step& step, int operands) {
    if (operands > 0 && add_shorter(step, operands)) return;
    for (int i = 0; i < operands; ++i) {
      // Before the last value of a choice there are conditions, each with a value.
      const bool is_condition =
          (step.act == Act::choose && i > 0 && i % 2 == 0) || (step.act == Act::choose_operand && i == 1);
      want(stack_.back(), takes_truths(step.act) || is_condition);
      stack_.pop_back();
    }
    program_.fails = program_.fails || may_fail(step);
    stack_.push_back(operations_.size());
    operations_.push_back({.step = step, .operands = operands, .truth = leaves_truth(step.act)});
  }

  /// `value between constant and constant`
  bool take_between() {
    const Instruction* const lower = next(0);
    const Instruction* const upper = next(1);
    const Instruction* const between = next(2);
    if (between == nullptr || between->op != Opcode::between || between->times) return false;
    if (lower->op != Opcode::constant || upper->op != Opcode::constant || lower->flag || upper->flag) return false;
    if (between->left != between->middle || between->left != between->right) return false;
    if (between->left == Number::uint64) return false;
    add({.act = Act::between,
         .from = From::constant,
         .marks = Step::marked(between->left == Number::int64, between->flag),
         .bits = lower->bits,
         .upper = upper->bits},
        1);
    at_ += 3;
    return true;
  }

  /// A constant and a column, and an operation on them that can swap its operands: the column is loaded, and the
  /// constant is the operand.
  bool take_swapped() {
    const Instruction& constant = *next(0);
    const Instruction* const operation = next(2);
    if (constant.op != Opcode::constant || constant.flag || operation == nullptr) return false;
    const auto act = binary(*operation);
    if (!act) return false;
    const auto swapped = swapped_operands(*act);
    if (!swapped) return false;
    const auto column = operand_of(*next(1));
    if (!column || column->from == From::constant) return false;
    add(*column, 0);
    add({.act = *swapped,
         .from = From::constant,
         .marks = Step::marked(operation->left == Number::int64, false),
         .bits = constant.bits},
        1);
    at_ += 3;
    return true;
  }

  static std::optional<Act> swapped_operands(Act act) {
    switch (act) {
      case Act::add:
      case Act::multiply:
      case Act::equal:
      case Act::not_equal: return act;
      case Act::less: return Act::more;
      case Act::less_equal: return Act::more_equal;
      default: break;
    }
    return std::nullopt;
  }

  /// A constant or a column, by itself or with the operation on two numbers that follows.
  bool take_with_operand() {
    const auto operand = operand_of(*next(0));
    if (!operand) return false;
    const Instruction* const operation = next(1);
    const auto act = operation == nullptr ? std::nullopt : binary(*operation);
    Step step = *operand;
    if (act && !takes_truths(*act)) {
      step.act = *act;
      step.marks |= Step::marked(operation->left == Number::int64, false);
      add(step, 1);
      at_ += 2;
    } else {
      add(step, 0);
      ++at_;
    }
    return true;
  }

  std::optional<Step> operand_of(const Instruction& how) {
    if (how.op == Opcode::constant) return constant_of(how.bits, how.flag);
    if (how.op != Opcode::column) return std::nullopt;
    const StoredColumn& column = expression_.columns[how.index];
    const auto from = staged_as(column.stored);
    const bool aligned = reinterpret_cast<std::uintptr_t>(column.values) % 16 == 0;
    if (!from || !aligned || column.first_validity_bit % 4 != 0) return std::nullopt;
    const auto place = place_of(column);
    return place ? std::optional(Step{.from = *from, .slot = *place}) : std::nullopt;
  }

  Step constant_of(std::uint64_t bits, bool is_null) {
    program_.nulls = program_.nulls || is_null;
    return {.from = From::constant, .marks = Step::marked(false, is_null), .bits = bits};
  }

  static std::optional<From> staged_as(Stored stored) {
    switch (stored) {
      case Stored::float32: return From::float32;
      case Stored::int32: return From::int32;
      case Stored::uint32: return From::uint32;
      case Stored::int64:
      case Stored::uint64:
      case Stored::float64: return From::wide;
      default: break;
    }
    return std::nullopt;
  }

  std::optional<std::uint8_t> place_of(const StoredColumn& column) {
    for (int c = 0; c < program_.column_count; ++c) {
      const StoredColumn& known = program_.columns[c];
      if (known.values == column.values && known.validity == column.validity && known.stored == column.stored) {
        return static_cast<std::uint8_t>(c);
      }
    }
    if (program_.column_count == StepProgram::kMaxColumns) return std::nullopt;
    program_.nulls = program_.nulls || column.validity != nullptr;
    program_.columns[program_.column_count] = column;
    return static_cast<std::uint8_t>(program_.column_count++);
  }

  /// Operations on two values, of one type that is not uint64.
  static std::optional<Act> binary(const Instruction& how) {
    const bool floats = how.left == Number::float64 && how.right == Number::float64;
    const bool integers = how.left == Number::int64 && how.right == Number::int64;
    const bool arithmetic = floats || (integers && !how.flag);
    const bool comparison = (floats || integers) && !how.times;
    const auto where = [](bool fits, Act act) { return fits ? std::optional(act) : std::nullopt; };
    switch (how.op) {
      case Opcode::add: return where(arithmetic, Act::add);
      case Opcode::subtract: return where(arithmetic, Act::subtract);
      case Opcode::multiply: return where(arithmetic, Act::multiply);
      case Opcode::divide: return where(floats, Act::divide);
      case Opcode::equal: return where(comparison, Act::equal);
      case Opcode::not_equal: return where(comparison, Act::not_equal);
      case Opcode::less: return where(comparison, Act::less);
      case Opcode::less_equal: return where(comparison, Act::less_equal);
      case Opcode::logical_and: return Act::logical_and;
      case Opcode::logical_or: return Act::logical_or;
      // The right operand's type is not said.
      case Opcode::lesser: return where(how.left != Number::uint64, Act::lesser);
      case Opcode::greater: return where(how.left != Number::uint64, Act::greater);
      default: break;
    }
    return std::nullopt;
  }

  /// Makes the left operand the step's own if it is only a constant or a column and the operation can swap its
  /// operands: it need not wait in a slot for the right one.
  bool take_simple_left(Act act, const Instruction& operation) {
    const auto swapped = swapped_operands(act);
    if (!swapped) return false;
    const std::size_t left = stack_[stack_.size() - 2];
    const StepOperation& simple = operations_[left];
    if (simple.step.act != Act::load || simple.converted) return false;
    Step step = simple.step;
    step.act = *swapped;
    step.marks |= Step::marked(operation.left == Number::int64, false);
    erase_left();
    add(step, 1);
    ++at_;
    return true;
  }

  static std::optional<Act> unary(const Instruction& how) {
    const bool floats = how.left == Number::float64;
    const auto where = [](bool fits, Act act) { return fits ? std::optional(act) : std::nullopt; };
    switch (how.op) {
      case Opcode::logical_not: return Act::logical_not;
      case Opcode::is_null: return Act::is_null;
      case Opcode::to_float: return where(how.left == Number::int64, Act::to_float);
      case Opcode::negate: return where(floats, Act::negate);
      case Opcode::absolute: return where(floats, Act::absolute);
      case Opcode::square_root: return Act::square_root;
      case Opcode::round_down: return Act::round_down;
      case Opcode::round_up: return Act::round_up;
      default: break;
    }
    return std::nullopt;
  }

  /// An operation on what lies on the stack.
  bool take_alone() {
    const Instruction& how = *next(0);
    if (const auto act = binary(how)) {
      if (take_simple_left(*act, how)) return true;
      add({.act = *act, .from = From::slot, .marks = Step::marked(how.left == Number::int64, false)}, 2);
    } else if (const auto single = unary(how)) {
      add({.act = *single, .marks = Step::marked(false, how.flag)}, 1);
    } else if (how.op == Opcode::choose) {
      take_choice(static_cast<int>(how.count));
    } else {
      return false;
    }
    ++at_;
    return true;
  }

  /// Takes a choice without a value for the rest, which is NULL then.
  void take_choice(int operands) {
    if (operands % 2 == 0) add(constant_of(0, true), 0);
    if (operands <= 3 && take_simple_choice()) return;
    add({.act = Act::choose}, operands + (operands % 2 == 0 ? 1 : 0));
  }

  /// Takes a choice of two values, the first of which is only a constant or a column: it need not wait in a slot for
  /// the other one.
  bool take_simple_choice() {
    const std::size_t first = stack_[stack_.size() - 2];
    const StepOperation& simple = operations_[first];
    if (simple.step.act != Act::load || simple.converted) return false;
    Step step = simple.step;
    step.act = Act::choose_operand;
    erase_left();
    add(step, 2);
    return true;
  }

  /// The last value but one is not to be on the stack.
  void erase_left() {
    operations_.erase(operations_.begin() + static_cast<std::ptrdiff_t>(stack_[stack_.size() - 2]));
    stack_.erase(stack_.end() - 2);
    --stack_.back();
  }

  void take_generally() {
    const Instruction& how = *next(0);
    const int operands = operands_of(how);
    add({.act = operands == 0 ? Act::read : Act::general,
         .where = static_cast<std::uint32_t>(at_),
         .upper = static_cast<std::uint64_t>(operands)},
        operands);
    ++at_;
  }

  const DeviceExpression& expression_;
  StepProgram& program_;
  std::vector<StepOperation> operations_;
  std::vector<std::size_t> stack_;  ///< operations that left what lies there
  std::size_t at_ = 0;
  std::size_t first_ = 0;
};

}  // namespace

std::optional<SelectedOperations> select_instructions(const DeviceExpression& expression, Leaves leaves,
                                                      std::size_t of_score, StepProgram& program) {
  InstructionSelection selection(expression, program);
  if (!selection.run(leaves, of_score)) return std::nullopt;
  return selection.take();
}

}  // namespace skyrank::exec::lowering
