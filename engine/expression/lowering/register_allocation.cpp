#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/expression/lowering/passes.hpp"

// Assigns registers and slots to intermediate values in one pass over the operations, which come in postfix order.
namespace skyrank::exec::lowering {
namespace {

/// Writes operations as steps.
class RegisterAllocation {
 public:
  explicit RegisterAllocation(StepProgram& program) : program_(program) {}

  /// Returns false where there are too many steps or slots.
  bool run(const SelectedOperations& selected) {
    std::size_t done = 0;
    for (const StepOperation& operation : selected.operations) {
      if (done++ == selected.first) program_.first_steps = program_.step_count;
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
    // Kernels take what the program leaves from registers.
    for (std::size_t i = values_.size(); i > 0; --i) load_register(values_[i - 1]);
    if (done <= selected.first) program_.first_steps = program_.step_count;
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
  void write(const StepOperation& operation) {
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

}  // namespace

bool allocate_registers(const SelectedOperations& selected, StepProgram& program) {
  return RegisterAllocation(program).run(selected);
}

}  // namespace skyrank::exec::lowering
