#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/expression/machine_layout.cuh"
#include "kernels/cuda/expression/machine_memory.cuh"
#include "kernels/cuda/expression/steps.hpp"

// Runs a program for several rows a thread, in parts of four neighbouring ones, so that finding out what a step is
// costs but a part of a row's work. The values of the next rows are on their way to shared memory meanwhile
// (machine_rows.cuh), 16 bytes a copy. The last number and the last truth are in registers, those below them in shared
// memory; a truth is a bit.
//
// A step is told by what it does and what with (Act, From); some ten pairs of these are most of all steps, and known at
// one look (Common). Squares joined with what they are of or added to, and a root or quotient that is left for later
// (StepProgram::root_later), are there for distances: the root of eight rows is some 160 instructions, and most scores
// are known not to be wanted by its square. Each is one case here, and its own test on the host and the device.
namespace skyrank::kernels::cuda::expression {

namespace detail {

/// Steps that have no form for several rows. Not inlined: they are many, and rare.
__device__ __attribute__((noinline)) inline RowValue apply(const Instruction* how, RowValue a, RowValue b, RowValue c) {
  return StackMachine::applied(*how, a, b, c);
}
__device__ __attribute__((noinline)) inline RowValue read(const Instruction* how, const StoredColumn* columns,
                                                          std::int64_t row) {
  return StackMachine::read(*how, columns, row);
}

}  // namespace detail

/// A thread's rows on their way through a program.
template <class Form>
class RowMachine {
 public:
  static constexpr unsigned kRows = Form::kRows;
  static constexpr unsigned kParts = Form::kParts;

  /// `shared` has the bytes of the layout, which the program was told of.
  __device__ RowMachine(const StepProgram& program, const MachineLayout& layout, uint4* shared)
      : program_(program), layout_(layout), memory_(program, layout, shared) {}

  /// Returns the memory of the program; its values are to be copied into stages.
  __device__ const MachineMemory<Form>& memory() const { return memory_; }

  /// Runs the first part of the program for the rows that were fetched for `stage`; of rows that are not there values
  /// mean nothing.
  __device__ void run(const DeviceRows& rows, std::size_t tile, unsigned stage) {
    memory_.start(tile, stage);
    run_steps(rows, 0, program_.first_steps);
  }

  /// Then the rest, for which what it reads is copied only now.
  __device__ void run_rest(const DeviceRows& rows, std::size_t tile) {
    memory_.fetch_rest(rows, tile);
    if constexpr (Form::kNulls) memory_.take_nulls_left(rows, number_.valid);
    run_steps(rows, program_.first_steps, program_.step_count);
  }

  /// Returns the number that the program leaves.
  __device__ const Numbers<Form>& number() const { return number_; }
  __device__ const Truths& truth() const { return truth_; }

 private:
  using Values = Numbers<Form>;

  /// A step whose first words have been read before their turn.
  struct Now {
    uint2 head;
    const Step* whole;

    __device__ Common common() const { return static_cast<Common>(head.x >> (24 + Step::kCommonShift)); }
    __device__ Act act() const { return static_cast<Act>(head.x & 0xff); }
    __device__ From from() const { return static_cast<From>(head.x >> 8 & 0xff); }
    __device__ unsigned slot() const { return head.x >> 16 & 0xff; }
    __device__ bool integers() const { return (head.x & unsigned{Step::kIntegers} << 24) != 0; }
    __device__ bool flag() const { return (head.x & unsigned{Step::kFlag} << 24) != 0; }
    __device__ unsigned where() const { return head.y; }
  };
  __device__ uint2 head_of(int step) const {
    uint2 head;
    memcpy(&head, __builtin_assume_aligned(program_.steps + step, 8), sizeof(head));
    return head;
  }

  /// Conditions test one column after another: finding out what comes next costs less there.
  __device__ void run_steps(const DeviceRows& rows, int begin, int end) {
    if (begin == end) return;
    uint2 head = head_of(begin);
    for (int i = begin; i < end;) {
      Now step{head, program_.steps + i};
      while (step.common() == Common::test_floats) {
        ++i;
        head = head_of(min(i, end - 1));
        test(rows, step, memory_.template staged_within<float>(staged_at(step), *step.whole));
        if (i == end) return;
        step = {head, program_.steps + i};
      }
      ++i;
      head = head_of(min(i, end - 1));
      take(rows, step);
    }
  }

  /// Returns the place of a column that is the operand.
  __device__ unsigned staged_at(const Now& step) const { return memory_.staged_at(step.slot(), step.where()); }

  /// The operand, in its evaluation type; not one from a slot.
  __device__ void take_operand(const DeviceRows& rows, const Now& step, Values& values) const {
    if constexpr (Form::kNulls) {
      values.valid = step.flag() ? 0 : Form::kAll;
      if constexpr (Form::kFails) values.failed = 0;
      if (step.from() != From::constant) values.valid = memory_.valid_of(rows, program_.columns[step.slot()]);
    }
    if (step.from() == From::constant) {
      const auto constant = with_bits_of<double>(step.whole->bits);
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) values.values[i] = constant;
      return;
    }
    const unsigned where = staged_at(step);
    if (step.from() == From::float32) {
      return memory_.template take_staged<float>(where, values, [](float value) { return static_cast<double>(value); });
    }
    if (step.from() == From::int32) {
      return memory_.template take_staged<std::int32_t>(
          where, values, [](std::int32_t value) { return with_bits_of<double>(std::int64_t{value}); });
    }
    if (step.from() == From::uint32) {
      return memory_.template take_staged<std::uint32_t>(
          where, values, [](std::uint32_t value) { return with_bits_of<double>(std::uint64_t{value}); });
    }
    memory_.take_pairs(where, values);
  }

  /// Calls f with the number and a column of float32.
  template <class F>
  __device__ void with_floats(const DeviceRows& rows, const Now& step, F f) {
    Values right;
    memory_.template take_staged<float>(staged_at(step), right, [](float value) { return static_cast<double>(value); });
    if constexpr (Form::kNulls) number_.valid &= memory_.valid_of(rows, program_.columns[step.slot()]);
    each([&](unsigned i) { return right.values[i]; }, f);
  }
  __device__ void load_floats(const DeviceRows& rows, const Now& step) {
    memory_.template take_staged<float>(staged_at(step), number_,
                                        [](float value) { return static_cast<double>(value); });
    if constexpr (Form::kNulls) number_.valid = memory_.valid_of(rows, program_.columns[step.slot()]);
    if constexpr (Form::kFails) number_.failed = 0;
  }
  /// The number becomes what `make` makes of a column of float32.
  template <class Make>
  __device__ void load_made(const DeviceRows& rows, const Now& step, Make make) {
    memory_.template take_staged<float>(staged_at(step), number_,
                                        [&](float value) { return make(static_cast<double>(value)); });
    if constexpr (Form::kNulls) number_.valid = memory_.valid_of(rows, program_.columns[step.slot()]);
    if constexpr (Form::kFails) number_.failed = 0;
  }
  __device__ void add_slot(const Now& step) {
    Values left;
    memory_.take_slot(step.where(), left);
    if constexpr (Form::kNulls) number_.valid &= left.valid;
    if constexpr (Form::kFails) number_.failed |= left.failed;
    each([&](unsigned i) { return left.values[i]; }, [](double b, double a) { return kernels::detail::sum_of(a, b); });
  }

  __device__ void take(const DeviceRows& rows, const Now& step) {
    const auto product = [](double a, double b) { return kernels::detail::product_of(a, b); };
    switch (step.common()) {
      case Common::none: return take_any(rows, step);
      case Common::load_floats: return load_floats(rows, step);
      case Common::multiply_floats: return with_floats(rows, step, product);
      case Common::add_floats:
        return with_floats(rows, step, [](double a, double b) { return kernels::detail::sum_of(a, b); });
      case Common::multiply_constant: {
        const auto constant = with_bits_of<double>(step.whole->bits);
        return each([&](unsigned) { return constant; }, product);
      }
      case Common::add_slot: return add_slot(step);
      case Common::save: return memory_.save(step.where(), number_);
      case Common::square: return change_each([&](double value) { return product(value, value); });
      case Common::load_square: return load_made(rows, step, [&](double value) { return product(value, value); });
      case Common::add_square:
        return with_floats(rows, step, [&](double a, double b) { return kernels::detail::sum_of(a, product(b, b)); });
      case Common::test_floats: break;  // not here
    }
  }

  __device__ void take_any(const DeviceRows& rows, const Now& step) {
    switch (step.act()) {
      case Act::load: return take_operand(rows, step, number_);
      case Act::save: return memory_.save(step.where(), number_);
      case Act::restore: return memory_.take_slot(step.where(), number_);
      case Act::save_truth: return memory_.save(step.where(), truth_);
      case Act::restore_truth: truth_ = memory_.take_truth(step.where()); return;
      case Act::between: return between(step);
      case Act::test:
      case Act::and_test:
      case Act::or_test: return test(rows, step);
      case Act::logical_and: return logic(false, memory_.take_truth(step.where()));
      case Act::logical_or: return logic(true, memory_.take_truth(step.where()));
      case Act::logical_not: truth_.bits = ~truth_.bits & Form::kAll; return;
      case Act::is_null: return ask_for_nulls(step.flag());
      case Act::to_truth: return to_truth();
      case Act::to_number: return to_number();
      case Act::to_float:
      case Act::negate:
      case Act::absolute:
      case Act::square:
      case Act::square_root:
      case Act::round_down:
      case Act::round_up: return change(step.act());
      case Act::choose: return choose(step.where());
      case Act::choose_operand: return choose_operand(rows, step);
      case Act::general: return general(step);
      case Act::read: return read(rows, step);
      default: break;
    }
    if (step.from() == From::constant) {
      if constexpr (Form::kNulls) number_.valid &= step.flag() ? 0 : Form::kAll;
      const auto constant = with_bits_of<double>(step.whole->bits);
      return binary(step, [&](unsigned) { return constant; });
    }
    Values right;
    if (step.from() == From::slot) {
      right = number_;
      memory_.take_slot(step.where(), number_);
    } else {
      take_operand(rows, step, right);
    }
    if constexpr (Form::kNulls) number_.valid &= right.valid;
    if constexpr (Form::kFails) number_.failed |= right.failed;
    binary(step, [&](unsigned i) { return right.values[i]; });
  }

  /// The number becomes what `f(left, right)` says of each pair of floats, or of their bits.
  template <class Right, class F>
  __device__ void each(Right right, F f) {
#pragma unroll
    for (unsigned i = 0; i < kRows; ++i) number_.values[i] = f(number_.values[i], right(i));
  }
  template <class Right, class F>
  __device__ void each_bits(Right right, F f) {
    each(right, [&](double a, double b) {
      return with_bits_of<double>(f(with_bits_of<std::uint64_t>(a), with_bits_of<std::uint64_t>(b)));
    });
  }

  /// A bit for each row of which `f(left, right)` is true, of T's, int64 or double.
  template <class T, class Right, class F>
  __device__ unsigned ask(Right right, F f) const {
    unsigned truths = 0;
#pragma unroll
    for (unsigned i = 0; i < kRows; ++i) {
      if (f(with_bits_of<T>(number_.values[i]), with_bits_of<T>(right(i)))) truths |= 1u << i;
    }
    return truths;
  }
  template <class T, class Right>
  __device__ unsigned compared(Act act, Right right) const {
    switch (act) {
      case Act::equal: return ask<T>(right, [](T a, T b) { return a == b; });
      case Act::not_equal: return ask<T>(right, [](T a, T b) { return a != b; });
      case Act::less: return ask<T>(right, [](T a, T b) { return a < b; });
      case Act::less_equal: return ask<T>(right, [](T a, T b) { return a <= b; });
      case Act::more: return ask<T>(right, [](T a, T b) { return a > b; });
      default: return ask<T>(right, [](T a, T b) { return a >= b; });
    }
  }

  /// NULLs and failures have been settled.
  template <class Right>
  __device__ void binary(const Now& step, Right right) {
    if (step.integers()) return calculate(step.act(), right);
    if (step.act() >= Act::equal) return set_truth(compared<double>(step.act(), right));
    switch (step.act()) {
      case Act::add: return each(right, [](double a, double b) { return kernels::detail::sum_of(a, b); });
      case Act::subtract: return each(right, [](double a, double b) { return kernels::detail::difference_of(a, b); });
      case Act::multiply: return each(right, [](double a, double b) { return kernels::detail::product_of(a, b); });
      case Act::divide: return each(right, [](double a, double b) { return a / b; });
      // NaN replaces what is not one.
      case Act::lesser: return each(right, [](double a, double b) { return ((b < a) | (b != b)) ? b : a; });
      default: return each(right, [](double a, double b) { return ((a < b) | (b != b)) ? b : a; });
    }
  }

  /// Calculates with int64; a row fails if the result does not fit.
  template <class Right>
  __device__ void calculate(Act act, Right right) {
    if (act >= Act::equal) return set_truth(compared<std::int64_t>(act, right));
    if (act == Act::lesser || act == Act::greater) {
      const bool minimum = act == Act::lesser;
      return each_bits(right, [&](std::uint64_t a, std::uint64_t b) {
        const bool less = static_cast<std::int64_t>(b) < static_cast<std::int64_t>(a);
        return less == minimum ? b : a;
      });
    }
    if constexpr (Form::kFails) {
      unsigned overflow = 0;
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) {
        std::uint64_t result = number_.bits(i);
        overflow |= unsigned{calculate_one(act, result, with_bits_of<std::uint64_t>(right(i)))} << i;
        number_.set_bits(i, result);
      }
      number_.failed |= overflow & number_.valid;
    }
  }

  __device__ static bool calculate_one(Act act, std::uint64_t& left, std::uint64_t b) {
    const std::uint64_t a = left;
    if (act == Act::multiply) {
      const Int128 product = Int128{static_cast<std::int64_t>(a)} * static_cast<std::int64_t>(b);
      left = a * b;
      return product != static_cast<std::int64_t>(left);
    }
    const bool is_sum = act == Act::add;
    left = is_sum ? a + b : a - b;
    // A sum is over where both operands have a sign that it has not.
    return static_cast<std::int64_t>((is_sum ? a ^ left : a ^ b) & (is_sum ? b ^ left : a ^ left)) < 0;
  }

  /// A truth of the number.
  __device__ void set_truth(unsigned bits) {
    truth_.bits = bits;
    if constexpr (Form::kNulls) truth_.valid = number_.valid;
    if constexpr (Form::kFails) truth_.failed = number_.failed;
  }

  __device__ void between(const Now& step) {
    const auto inside = [&]<class T>(T lower, T upper) {
      unsigned truths = 0;
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) {
        const T value = with_bits_of<T>(number_.values[i]);
        if ((value >= lower) & (value <= upper)) truths |= 1u << i;
      }
      return truths;
    };
    const std::uint64_t lower = step.whole->bits;
    const std::uint64_t upper = step.whole->upper;
    const unsigned truths = step.integers()
                                ? inside(with_bits_of<std::int64_t>(lower), with_bits_of<std::int64_t>(upper))
                                : inside(with_bits_of<double>(lower), with_bits_of<double>(upper));
    set_truth(truths ^ (step.flag() ? Form::kAll : 0));
  }

  __device__ void test(const DeviceRows& rows, const Now& step) {
    const Step& range = *step.whole;
    const unsigned where = staged_at(step);
    switch (step.from()) {
      case From::float32: return test(rows, step, memory_.template staged_within<float>(where, range));
      case From::int32: return test(rows, step, memory_.template staged_within<std::int32_t>(where, range));
      default: break;
    }
    test(rows, step,
         step.integers() ? memory_.template staged_within<std::int64_t>(where, range)
                         : memory_.template staged_within<double>(where, range));
  }

  /// Takes a bit for each row, set in `inside` if the value lies within the bounds.
  __device__ void test(const DeviceRows& rows, const Now& step, unsigned inside) {
    const Truths left = truth_;
    truth_.bits = inside ^ (step.flag() ? Form::kAll : 0);
    if constexpr (Form::kNulls) truth_.valid = memory_.valid_of(rows, program_.columns[step.slot()]);
    if constexpr (Form::kFails) truth_.failed = 0;
    if (step.act() != Act::test) logic(step.act() == Act::or_test, left);
  }

  /// Kleene's logic: false decides `and`, true decides `or`, even beside NULL.
  __device__ void logic(bool is_or, const Truths& left) {
    if constexpr (!Form::kNulls) {
      truth_.bits = is_or ? left.bits | truth_.bits : left.bits & truth_.bits;
      return;
    }
    const Truths right = truth_;
    const unsigned decides_left = left.valid & (is_or ? left.bits : ~left.bits);
    const unsigned decides_right = right.valid & (is_or ? right.bits : ~right.bits);
    const unsigned decided = decides_left | decides_right;
    truth_.bits = (is_or ? decided : ~decided) & Form::kAll;
    truth_.valid = (left.valid & right.valid) | decided;
    if constexpr (Form::kFails) truth_.failed = left.failed | (right.failed & ~decides_left);
  }

  __device__ void ask_for_nulls(bool is_not) {
    const unsigned valid = Form::kNulls ? number_.valid : Form::kAll;
    set_truth(is_not ? valid : ~valid & Form::kAll);
    truth_.valid = Form::kAll;
  }

  __device__ void to_truth() {
    unsigned truths = 0;
#pragma unroll
    for (unsigned i = 0; i < kRows; ++i) truths |= unsigned{number_.bits(i) != 0} << i;
    set_truth(truths);
  }

  __device__ void to_number() {
#pragma unroll
    for (unsigned i = 0; i < kRows; ++i) number_.set_bits(i, truth_.bits >> i & 1);
    if constexpr (Form::kNulls) number_.valid = truth_.valid;
    if constexpr (Form::kFails) number_.failed = truth_.failed;
  }

  template <class F>
  __device__ void change_each(F f) {
#pragma unroll
    for (unsigned i = 0; i < kRows; ++i) number_.values[i] = f(number_.values[i]);
  }

  __device__ void change(Act act) {
    switch (act) {
      case Act::square: return change_each([](double value) { return kernels::detail::product_of(value, value); });
      case Act::square_root: return change_each([](double value) { return sqrt(value); });
      case Act::round_down: return change_each([](double value) { return floor(value); });
      case Act::round_up: return change_each([](double value) { return ceil(value); });
      case Act::to_float:
        return change_each([](double value) { return static_cast<double>(with_bits_of<std::int64_t>(value)); });
      case Act::negate:
        return change_each([](double value) {
          return with_bits_of<double>(with_bits_of<std::uint64_t>(value) ^ std::uint64_t{1} << 63);
        });
      default:
        return change_each([](double value) {
          return with_bits_of<double>(with_bits_of<std::uint64_t>(value) & ~std::uint64_t{0} >> 1);
        });
    }
  }

  /// The slot's numbers replace those whose condition is true.
  __device__ void choose(unsigned from) {
    Values values;
    memory_.take_slot(from, values);
    choose(values);
  }
  __device__ void choose_operand(const DeviceRows& rows, const Now& step) {
    Values values;
    take_operand(rows, step, values);
    choose(values);
  }
  __device__ void choose(const Values& values) {
    const unsigned taken = Form::kNulls ? truth_.valid & truth_.bits : truth_.bits;
#pragma unroll
    for (unsigned i = 0; i < kRows; ++i) {
      if ((taken >> i & 1) != 0) number_.values[i] = values.values[i];
    }
    if constexpr (Form::kNulls) number_.valid = (taken & values.valid) | (~taken & number_.valid);
    if constexpr (Form::kFails) {
      number_.failed = truth_.failed | (taken & values.failed) | (~taken & number_.failed);
    }
  }

  __device__ static RowValue row_of(const Values& values, unsigned i) {
    return {values.bits(i), (values.valid >> i & 1) != 0, (values.failed >> i & 1) != 0};
  }
  __device__ static void set_row(Values& values, unsigned i, const RowValue& value) {
    values.set_bits(i, value.bits);
    values.valid |= unsigned{value.valid} << i;
    values.failed |= unsigned{value.failed} << i;
  }

  __device__ void general(const Now& step) {
    if constexpr (Form::kFails) {
      Values a = number_;
      Values b = {};
      Values c = {};
      const auto operands = static_cast<unsigned>(step.whole->upper);
      const unsigned slot = layout_.slots + kWordStride * kSlotWords<Form> * step.slot();
      if (operands > 1) memory_.take_slot(slot, a);
      if (operands == 2) b = number_;
      if (operands == 3) {
        memory_.take_slot(slot + kWordStride * kSlotWords<Form>, b);
        c = number_;
      }
      const Instruction* const how = program_.source.instructions + step.where();
      number_ = {};
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) {
        set_row(number_, i, detail::apply(how, row_of(a, i), row_of(b, i), row_of(c, i)));
      }
    }
  }

  __device__ void read(const DeviceRows& rows, const Now& step) {
    if constexpr (Form::kFails) {
      number_ = {};
      const unsigned there = memory_.present(rows, memory_.place());
      const Instruction* const how = program_.source.instructions + step.where();
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) {
        if ((there >> i & 1) == 0) continue;
        set_row(number_, i, detail::read(how, program_.source.columns, rows.at(memory_.place_of(memory_.place(), i))));
      }
    }
  }

  const StepProgram& program_;
  const MachineLayout& layout_;
  MachineMemory<Form> memory_;
  Values number_ = {};
  Truths truth_ = {};
};

}  // namespace skyrank::kernels::cuda::expression
