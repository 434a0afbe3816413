#include "kernels/cuda/eval/steps.hpp"

#include <algorithm>
#include <cstddef>

namespace skyrank::kernels::cuda {
namespace {

/// Puts a program together, instruction by instruction: constants and columns become operands of what follows them.
class Stepper {
 public:
  explicit Stepper(const DeviceExpression& expression) : expression_(expression) {}

  std::optional<StepProgram> run() {
    for (at_ = 0; at_ < expression_.instructions.size();) {
      if (!take_between() && !take_with_operand() && !take_alone()) take_generally();
      if (!fits_) return std::nullopt;
    }
    return program_;
  }

 private:
  const Instruction* next(std::size_t ahead) const {
    const std::size_t place = at_ + ahead;
    return place < expression_.instructions.size() ? &expression_.instructions[place] : nullptr;
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
         .integers = between->left == Number::int64,
         .flag = between->flag,
         .bits = lower->bits,
         .upper = upper->bits});
    at_ += 3;
    return true;
  }

  /// A constant or a column, by itself or with the operation on two values that follows.
  bool take_with_operand() {
    const auto operand = operand_of(*next(0));
    if (!operand) return false;
    const Instruction* const operation = next(1);
    const auto act = operation == nullptr ? std::nullopt : binary(*operation);
    Step step = *operand;
    if (act) {
      step.act = *act;
      step.integers = operation->left == Number::int64;
    } else {
      push();
    }
    add(step);
    at_ += act ? 2 : 1;
    return true;
  }

  std::optional<Step> operand_of(const Instruction& how) {
    if (how.op == Opcode::constant) return Step{.from = From::constant, .flag = how.flag, .bits = how.bits};
    if (how.op != Opcode::column) return std::nullopt;
    const StoredColumn& column = expression_.columns[how.index];
    const bool wide = bytes_of(column.stored) >= 4;
    const bool aligned = reinterpret_cast<std::uintptr_t>(column.values) % 16 == 0;
    if (!wide || !aligned || column.first_validity_bit % 4 != 0) return std::nullopt;
    const auto place = place_of(column);
    return place ? std::optional(Step{.from = From::column, .place = *place}) : std::nullopt;
  }

  std::optional<std::uint16_t> place_of(const StoredColumn& column) {
    for (int c = 0; c < program_.column_count; ++c) {
      const StoredColumn& known = program_.columns[c];
      if (known.values == column.values && known.validity == column.validity && known.stored == column.stored) {
        return static_cast<std::uint16_t>(c);
      }
    }
    if (program_.column_count == StepProgram::kMostColumns) return std::nullopt;
    program_.columns[program_.column_count] = column;
    return static_cast<std::uint16_t>(program_.column_count++);
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
      add({.act = *act, .from = From::stack, .integers = how.left == Number::int64});
      --depth_;
    } else if (const auto single = unary(how)) {
      add({.act = *single, .flag = how.flag});
    } else {
      return false;
    }
    ++at_;
    return true;
  }

  void take_generally() {
    const Instruction& how = *next(0);
    const int operands = operands_of(how);
    const Act act = operands == 0 ? Act::read : how.op == Opcode::choose ? Act::choose : Act::general;
    add({.act = act, .place = static_cast<std::uint16_t>(at_), .operands = static_cast<std::uint16_t>(operands)});
    if (operands == 0) {
      push();
    } else {
      depth_ -= operands - 1;
    }
    ++at_;
  }

  void push() {
    ++depth_;
    program_.depth = std::max(program_.depth, depth_);
    fits_ = fits_ && depth_ <= StepProgram::kMostStacked;
  }

  void add(const Step& step) {
    fits_ = fits_ && program_.step_count < StepProgram::kMostSteps;
    if (fits_) program_.steps[program_.step_count++] = step;
  }

  const DeviceExpression& expression_;
  StepProgram program_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool fits_ = true;
};

}  // namespace

std::optional<StepProgram> steps_of(const DeviceExpression& expression) { return Stepper(expression).run(); }

}  // namespace skyrank::kernels::cuda
