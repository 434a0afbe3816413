#include "kernels/cuda/expression/steps.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/cuda/expression/scan_rows.cuh"

// A compiler in three passes over a program of the stack machine: instruction selection makes operations with operands,
// register allocation makes steps of these, and a peephole optimisation replaces runs of steps by shorter ones.
namespace skyrank::kernels::cuda::expression {
namespace {

bool is_truth(Act act) { return act >= Act::equal && act <= Act::to_truth; }

bool takes_truths(Act act) { return act >= Act::and_test && act <= Act::logical_not; }

bool may_fail(const Step& step) {
  const bool calculates = step.act == Act::add || step.act == Act::subtract || step.act == Act::multiply;
  return step.act == Act::general || step.act == Act::read || (calculates && (step.marks & Step::kIntegers) != 0);
}

/// Bounds of numbers, both inclusive.
template <class T>
struct Bounds {
  T lowest;
  T highest;
};

/// The greatest value below all others, or above them.
template <class T>
constexpr T kMin = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                        : std::numeric_limits<T>::lowest();
template <class T>
constexpr T kMax = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                        : std::numeric_limits<T>::max();

/// The numbers below a constant, or above it; none where that is NaN.
template <class T>
Bounds<T> below(T constant) {
  if (!(constant > kMin<T>)) return {T(1), T(0)};
  if constexpr (std::is_floating_point_v<T>) return {kMin<T>, std::nextafter(constant, kMin<T>)};
  return {kMin<T>, static_cast<T>(constant - 1)};
}
template <class T>
Bounds<T> above(T constant) {
  if (!(constant < kMax<T>)) return {T(1), T(0)};
  if constexpr (std::is_floating_point_v<T>) return {std::nextafter(constant, kMax<T>), kMax<T>};
  return {static_cast<T>(constant + 1), kMax<T>};
}

/// The numbers of which a comparison with constants is true, or for `not_equal` false.
template <class T>
Bounds<T> bounds_of(const Step& step) {
  const T constant = with_bits_of<T>(step.bits);
  switch (step.act) {
    case Act::less: return below(constant);
    case Act::less_equal: return {kMin<T>, constant};
    case Act::more: return above(constant);
    case Act::more_equal: return {constant, kMax<T>};
    case Act::between: return {constant, with_bits_of<T>(step.upper)};
    default: return {constant, constant};
  }
}

/// The same of a type of 32 bits: no value of it lies between the one and the other.
template <class T, class Wide>
Bounds<T> narrowed(const Bounds<Wide>& bounds) {
  ReadColumn column;
  detail::set_range<T>(column, bounds.lowest, bounds.highest);
  Bounds<T> narrow;
  memcpy(&narrow.lowest, &column.lowest, sizeof(T));
  memcpy(&narrow.highest, &column.highest, sizeof(T));
  return narrow;
}

template <class T>
void set_bounds(Step& step, const Bounds<T>& bounds) {
  step.bits = 0;
  step.upper = 0;
  memcpy(&step.bits, &bounds.lowest, sizeof(T));
  memcpy(&step.upper, &bounds.highest, sizeof(T));
}

/// Returns the step that tests a column, loaded by `load`, as `comparison` compares it with constants, if there is such
/// a step.
std::optional<Step> test_of(const Step& load, const Step& comparison) {
  const Act act = comparison.act;
  if (act < Act::equal || act > Act::between || comparison.from != From::constant || load.act != Act::load) return {};
  const bool flag = (comparison.marks & Step::kFlag) != 0;
  if (flag && act != Act::between) return {};  // the constant is NULL
  const bool integers = (comparison.marks & Step::kIntegers) != 0;
  Step test = load;
  test.act = Act::test;
  test.marks = Step::marked(integers, flag || act == Act::not_equal);
  if (load.from == From::float32 && !integers) {
    set_bounds(test, narrowed<float>(bounds_of<double>(comparison)));
  } else if (load.from == From::int32 && integers) {
    set_bounds(test, narrowed<std::int32_t>(bounds_of<std::int64_t>(comparison)));
  } else if (load.from == From::wide) {
    if (integers) {
      set_bounds(test, bounds_of<std::int64_t>(comparison));
    } else {
      set_bounds(test, bounds_of<double>(comparison));
    }
  } else {
    return {};
  }
  return test;
}

/// Returns true if a step leaves NULL if one of its operands is NULL, and otherwise a number.
bool keeps_nulls(const Step& step) {
  const bool is_null = step.from == From::constant && (step.marks & Step::kFlag) != 0;
  const bool is_binary = step.act >= Act::add && step.act <= Act::greater;
  const bool is_unary = step.act >= Act::to_float && step.act <= Act::round_up;
  return is_unary || ((is_binary || step.act == Act::load) && !is_null);
}

/// An operation of the program: what it does to the values that it takes off the stack, with one that it leaves there.
struct Operation {
  Step step;
  int operands = 0;        ///< values that it takes
  bool truth = false;      ///< true if it leaves a truth, false for a number
  bool converted = false;  ///< true if the step that takes the value needs the other kind
};

/// Instruction selection: reads the program instruction by instruction; constants and columns become operands of the
/// steps that follow them.
class InstructionSelection {
 public:
  InstructionSelection(const DeviceExpression& expression, StepProgram& program)
      : expression_(expression), program_(program) {}

  /// False where there are too many columns or instructions.
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

  const std::vector<Operation>& operations() const { return operations_; }
  /// How many of these come first.
  std::size_t first() const { return first_; }

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
    program_.nulls_later = !program_.fails && std::ranges::all_of(operations_, [](const Operation& operation) {
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
  Operation* last() {
    return !stack_.empty() && stack_.back() + 1 == operations_.size() ? &operations_.back() : nullptr;
  }

  /// A column that is compared with constants is tested as it is stored, and with what is true already; one that is
  /// multiplied with itself is squared.
  bool add_shorter(const Step& step, int operands) {
    Operation* const before = last();
    if (before == nullptr) return false;
    Step& step_before = before->step;
    if (const auto test = operands == 1 ? test_of(step_before, step) : std::nullopt) {
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
    operations_.push_back({.step = step, .operands = operands, .truth = is_truth(step.act)});
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
    const Operation& simple = operations_[left];
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
    const Operation& simple = operations_[first];
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
  std::vector<Operation> operations_;
  std::vector<std::size_t> stack_;  ///< operations that left what lies there
  std::size_t at_ = 0;
  std::size_t first_ = 0;
};

/// Register allocation: writes operations as steps, with those that move values between registers and slots.
class RegisterAllocation {
 public:
  explicit RegisterAllocation(StepProgram& program) : program_(program) {}

  /// False where there are too many steps or slots. The first part are the first `first` operations.
  bool run(const std::vector<Operation>& operations, std::size_t first) {
    std::size_t done = 0;
    for (const Operation& operation : operations) {
      if (done++ == first) program_.first_steps = program_.step_count;
      if (operation.step.act == Act::choose) {
        choose(operation.operands);
      } else if (operation.step.act == Act::choose_operand) {
        choose_operand(operation.step);
      } else {
        write(operation);
      }
      if (operation.converted) convert();
      if (!fits_) return false;
    }
    // What the program leaves is in registers in the end.
    for (std::size_t i = values_.size(); i > 0; --i) load_register(values_[i - 1]);
    if (done <= first) program_.first_steps = program_.step_count;
    return fits_;
  }

 private:
  static constexpr int kRegister = -1;

  struct Value {
    bool truth = false;
    int slot = kRegister;
  };

  void add(const Step& step) {
    fits_ = fits_ && program_.step_count < StepProgram::kMaxSteps;
    if (fits_) program_.steps[program_.step_count++] = step;
  }

  /// Values of a kind that lie in slots.
  int in_slots(bool truth) const {
    return static_cast<int>(std::count_if(values_.begin(), values_.end(), [&](const Value& value) {
      return value.truth == truth && value.slot != kRegister;
    }));
  }

  /// Moves the value in the register into a slot.
  void make_room(bool truth) {
    const auto there = std::find_if(values_.begin(), values_.end(), [&](const Value& value) {
      return value.truth == truth && value.slot == kRegister;
    });
    if (there == values_.end()) return;
    const int slot = in_slots(truth);
    there->slot = slot;
    int& most = truth ? program_.truth_slots : program_.number_slots;
    most = std::max(most, slot + 1);
    fits_ = fits_ && slot < StepProgram::kMaxSlots;
    add({.act = truth ? Act::save_truth : Act::save, .slot = static_cast<std::uint8_t>(slot)});
  }

  /// Moves the last value of its kind into the register.
  void load_register(Value& value) {
    if (value.slot == kRegister) return;
    add({.act = value.truth ? Act::restore_truth : Act::restore, .slot = static_cast<std::uint8_t>(value.slot)});
    value.slot = kRegister;
  }

  Value pop() {
    const Value value = values_.back();
    values_.pop_back();
    return value;
  }

  /// Operands but the last are in slots.
  void write(const Operation& operation) {
    Step step = operation.step;
    if (operation.operands > 0) {
      load_register(values_.back());
      pop();
      for (int i = 1; i < operation.operands; ++i) step.slot = static_cast<std::uint8_t>(pop().slot);
    }
    const bool uses_register = operation.operands > 0 && takes_truths(step.act) == operation.truth;
    if (!uses_register) make_room(operation.truth);
    add(step);
    values_.push_back({operation.truth});
  }

  /// From the last value to the first, each replaces those after it where its condition is true.
  void choose(int operands) {
    load_register(values_.back());
    for (int left = operands - 1; left > 0; left -= 2) {
      const Value chosen = pop();
      const Value value = pop();
      load_register(values_.back());
      pop();
      add({.act = Act::choose, .slot = static_cast<std::uint8_t>(value.slot)});
      values_.push_back(chosen);
    }
  }

  /// The operand replaces the last value where the condition before that is true.
  void choose_operand(const Step& step) {
    load_register(values_.back());
    const Value rest = pop();
    load_register(values_.back());
    pop();
    add(step);
    values_.push_back(rest);
  }

  /// The last value becomes one of the other kind.
  void convert() {
    const Value value = pop();
    make_room(!value.truth);
    add({.act = value.truth ? Act::to_number : Act::to_truth});
    values_.push_back({!value.truth});
  }

  StepProgram& program_;
  std::vector<Value> values_;
  bool fits_ = true;
};

/// Returns true if a step is an operation on two floats, the right one of which comes from `from` and is not NULL if it
/// is a constant.
bool is_of_floats(const Step& step, Act act, From from) {
  return step.act == act && step.from == from && (step.marks & (Step::kIntegers | Step::kFlag)) == 0;
}

/// Peephole optimisation: replaces several steps in a row by one that does the same.
class Peephole {
 public:
  explicit Peephole(StepProgram& program) : program_(program) {}

  void run() {
    const int all = program_.step_count;
    const int first = program_.first_steps;
    program_.step_count = 0;
    take(0, first);
    program_.first_steps = program_.step_count;
    take(first, all);
    count_slots();
  }

 private:
  /// Steps from `begin` to `end` behind those that are there.
  void take(int begin, int end) {
    least_ = program_.step_count;
    for (int i = begin; i < end; ++i) {
      const Step step = program_.steps[i];
      if (!join_load(step) && !join_sum(step)) program_.steps[program_.step_count++] = step;
    }
  }

  /// The last step but `back`, of those that may be joined; nothing where there is none.
  Step* last(int back) {
    const int place = program_.step_count - 1 - back;
    return place >= least_ ? &program_.steps[place] : nullptr;
  }

  /// A column of float32, and what is made of it.
  bool join_load(const Step& step) {
    Step* const load = last(0);
    if (load == nullptr || load->act != Act::load || load->from != From::float32) return false;
    if (step.act == Act::square) {
      load->act = Act::load_square;
    } else if (is_of_floats(step, Act::multiply, From::constant)) {
      load->act = Act::load_scaled;
      load->bits = step.bits;
    } else if (is_of_floats(step, Act::lesser, From::float32)) {
      load->act = Act::load_lesser;
      load->bits = step.slot;
    } else {
      return false;
    }
    return true;
  }

  /// A square that is added to a number that was saved for it.
  bool join_sum(const Step& step) {
    Step* const square = last(0);
    Step* const save = last(1);
    if (save == nullptr || square->act != Act::load_square || save->act != Act::save) return false;
    if (!is_of_floats(step, Act::add, From::slot) || step.slot != save->slot) return false;
    *save = *square;
    save->act = Act::add_square;
    --program_.step_count;
    return true;
  }

  void count_slots() {
    program_.number_slots = 0;
    for (int i = 0; i < program_.step_count; ++i) {
      const Step& step = program_.steps[i];
      if (step.act == Act::save) program_.number_slots = std::max(program_.number_slots, step.slot + 1);
    }
  }

  StepProgram& program_;
  int least_ = 0;
};

}  // namespace

std::optional<StepProgram> steps_of(const DeviceExpression& expression, Leaves leaves, std::size_t of_score) {
  StepProgram program;
  InstructionSelection selected(expression, program);
  if (!selected.run(leaves, of_score)) return std::nullopt;
  if (!RegisterAllocation(program).run(selected.operations(), selected.first())) return std::nullopt;
  Peephole(program).run();
  return program;
}

}  // namespace skyrank::kernels::cuda::expression
