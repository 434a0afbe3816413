#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/block.cuh"
#include "kernels/cuda/device/copy_ahead.cuh"
#include "kernels/cuda/device/shared.cuh"
#include "kernels/cuda/eval/steps.hpp"

// Runs a program for several rows a thread, in parts of four neighbouring ones, so that finding out what a step is
// costs but a part of a row's work. The values of the next rows are on their way to shared memory meanwhile, 16 bytes a
// copy; a thread reads only what it has copied itself, so that nothing waits for other threads. The last number and the
// last truth are in registers, those below them in shared memory; a truth is a bit.
namespace skyrank::kernels::cuda {

inline constexpr unsigned kMachineThreads = 128;
inline constexpr unsigned kPartRows = 4;
/// Blocks that a multiprocessor has registers for.
inline constexpr unsigned kMachineBlocks = 6;

/// What a kernel that runs programs knows of: NULLs or not, rows that fail and steps without a form of their own or
/// not. The less it knows of, the more rows a thread has registers for.
template <unsigned kPartsOfForm, bool kNullsOfForm, bool kFailsOfForm>
struct MachineForm {
  static constexpr unsigned kParts = kPartsOfForm;
  static constexpr unsigned kRows = kParts * kPartRows;
  static constexpr unsigned kAll = (1u << kRows) - 1;
  static constexpr bool kNulls = kNullsOfForm;
  static constexpr bool kFails = kFailsOfForm;
  /// Rows of a block: its parts, one after another.
  static constexpr unsigned kPartStride = kMachineThreads * kPartRows;
  static constexpr unsigned kTile = kParts * kPartStride;
};
using PlainForm = MachineForm<2, false, false>;
using NullsForm = MachineForm<2, true, false>;
using CarefulForm = MachineForm<1, true, true>;

/// Values of some rows, whatever they are in the registers of doubles; of `valid` and `failed` a bit for each.
template <class Form>
struct Numbers {
  double values[Form::kRows];
  unsigned valid;
  unsigned failed;

  __device__ std::uint64_t bits(unsigned i) const { return with_bits_of<std::uint64_t>(values[i]); }
  __device__ void set_bits(unsigned i, std::uint64_t bits) { values[i] = with_bits_of<double>(bits); }
};
struct Truths {
  unsigned bits;
  unsigned valid;
  unsigned failed;
};

/// The rows of a table, all or listed.
struct MachineRows {
  std::size_t n;
  const RowId* ids;  ///< null: all
};

namespace detail {

/// Steps that have no form for several rows. Not inlined: they are many, and rare.
__device__ __noinline__ inline RowValue apply(const Instruction* how, RowValue a, RowValue b, RowValue c) {
  return StackMachine::applied(*how, a, b, c);
}
__device__ __noinline__ inline RowValue read(const Instruction* how, const StoredColumn* columns, std::int64_t row) {
  return StackMachine::read(*how, columns, row);
}

}  // namespace detail

/// Bytes from one word of 16 bytes of a thread to the next: those of all threads lie side by side.
inline constexpr unsigned kWordStride = kMachineThreads * sizeof(uint4);

/// Words of a slot for numbers: these, and their NULLs and failures.
template <class Form>
inline constexpr unsigned kSlotWords = 2 * Form::kParts + (Form::kNulls ? 1 : 0);

/// How a program's shared memory is laid out, in bytes of a block.
struct MachineLayout {
  static constexpr unsigned kMostTurns = 4;

  unsigned first[StepProgram::kMostColumns];  ///< where a column is, of those of turns in the first turn
  unsigned of_turn;                           ///< the columns of the program's first part
  unsigned turns;                             ///< rows under way, and those at hand
  unsigned slots;                             ///< where the slots for numbers begin,
  unsigned truths;                            ///< those for truths, of a word each,
  unsigned bytes;                             ///< and where they end
  bool narrow;                                ///< all columns are of 32 bits
};

template <class Form>
MachineLayout layout_of(const StepProgram& program) {
  MachineLayout layout{};
  const auto bytes_of_column = [&](int c) {
    return kWordStride * Form::kParts * static_cast<unsigned>(bytes_of(program.columns[c].stored) / 4);
  };
  for (int c = 0; c < program.first_columns; ++c) {
    layout.first[c] = layout.of_turn;
    layout.of_turn += bytes_of_column(c);
  }
  unsigned later = 0;
  for (int c = program.first_columns; c < program.column_count; ++c) later += bytes_of_column(c);
  // A multiprocessor has room for six blocks of 12 words a thread and some slots. With few columns more than one turn
  // has to be under way for as many bytes.
  constexpr unsigned kMostStaged = 12 * kWordStride;
  const unsigned room = kMostStaged - std::min(kMostStaged, later);
  layout.turns = std::clamp(room / std::max(kWordStride, layout.of_turn), 2u, MachineLayout::kMostTurns);
  layout.slots = layout.of_turn * layout.turns;
  for (int c = program.first_columns; c < program.column_count; ++c) {
    layout.first[c] = layout.slots;
    layout.slots += bytes_of_column(c);
  }
  layout.truths = layout.slots + kWordStride * kSlotWords<Form> * static_cast<unsigned>(program.number_slots);
  layout.narrow = std::all_of(program.columns, program.columns + program.column_count,
                              [](const StoredColumn& column) { return bytes_of(column.stored) == 4; });
  layout.bytes = std::max(kWordStride, layout.truths + kWordStride * static_cast<unsigned>(program.truth_slots));
  return layout;
}

/// Which of the commonest steps one is.
inline Common common_of(const Step& step) {
  const bool plain = (step.marks & (Step::kIntegers | Step::kFlag)) == 0;
  const auto where = [](bool fits, Common common) { return fits ? common : Common::none; };
  switch (step.act) {
    case Act::load: return where(step.from == From::float32, Common::load_floats);
    case Act::add:
      if (plain && step.from == From::slot) return Common::add_slot;
      return where(plain && step.from == From::float32, Common::add_floats);
    case Act::multiply:
      if (plain && step.from == From::constant) return Common::multiply_constant;
      return where(plain && step.from == From::float32, Common::multiply_floats);
    case Act::save: return Common::save;
    case Act::square: return Common::square;
    case Act::test:
    case Act::and_test:
    case Act::or_test: return where(step.from == From::float32, Common::test_floats);
    case Act::load_square: return Common::load_square;
    case Act::add_square: return Common::add_square;
    case Act::load_scaled: return Common::load_scaled;
    case Act::load_lesser: return Common::load_lesser;
    default: break;
  }
  return Common::none;
}

/// Tells a program's steps where things are, and which they are.
template <class Form>
void lay_out(StepProgram& program, const MachineLayout& layout) {
  for (int i = 0; i < program.step_count; ++i) {
    Step& step = program.steps[i];
    step.marks |= static_cast<std::uint8_t>(static_cast<unsigned>(common_of(step)) << Step::kCommonShift);
    switch (step.act) {
      case Act::general:
      case Act::read: continue;
      case Act::save_truth:
      case Act::restore_truth:
      case Act::logical_and:
      case Act::logical_or: step.where = layout.truths + kWordStride * step.slot; continue;
      case Act::save:
      case Act::restore:
      case Act::choose: break;
      default:
        if (step.from == From::none || step.from == From::constant) continue;
        if (step.from == From::slot) break;
        step.where = layout.first[step.slot];
        if (step.act == Act::load_lesser) step.upper = layout.first[step.bits];
        continue;
    }
    step.where = layout.slots + kWordStride * kSlotWords<Form> * step.slot;
  }
}

/// Whether there is shared memory for enough blocks of eight rows a thread; else four are better.
template <class Form>
bool has_room(const StepProgram& program) {
  constexpr std::size_t kMostBytes = 56 * 1024;
  return layout_of<Form>(program).bytes <= kMostBytes;
}

/// `f(form)` for the form that a program runs in.
template <class F>
decltype(auto) with_form(const StepProgram& program, F f) {
  if (program.fails || !has_room<NullsForm>(program)) return f(CarefulForm{});
  return program.nulls ? f(NullsForm{}) : f(PlainForm{});
}

template <class Form>
class RowMachine {
 public:
  static constexpr unsigned kRows = Form::kRows;
  static constexpr unsigned kParts = Form::kParts;

  /// `shared` has the bytes of the layout, which the program was told of.
  __device__ RowMachine(const StepProgram& program, const MachineLayout& layout, uint4* shared)
      : program_(program), layout_(layout), shared_(reinterpret_cast<std::byte*>(shared + threadIdx.x)) {}

  /// The place of a thread's i-th row, whose first one is at `place`.
  __device__ static std::size_t place_of(std::size_t place, unsigned i) {
    return place + i / kPartRows * Form::kPartStride + i % kPartRows;
  }

  /// Begins to bring the values of a block's rows from `tile` on, of which those that are there count. Blocks decide as
  /// a whole which way they go, so that the compiler knows that a warp stays together.
  __device__ void fetch(const MachineRows& rows, std::size_t tile, unsigned turn) const {
    fetch_columns(rows, tile, 0, program_.first_columns, turn);
    end_copies();
  }

  /// Runs the first part of the program for the rows that were fetched for `turn`; of rows that are not there values
  /// mean nothing.
  __device__ void run(const MachineRows& rows, std::size_t tile, unsigned turn) {
    place_ = first_place(tile);
    turn_ = turn * layout_.of_turn;
    without_nulls_ = program_.nulls_later;
    run_steps(rows, 0, program_.first_steps);
  }

  /// What the next step divides by, of a program that leaves that for later; in the order of rows.
  __device__ void take_divisors(float (&divisors)[kRows]) const {
    const unsigned where = program_.steps[program_.first_steps].where + turn_;
#pragma unroll
    for (unsigned p = 0; p < kParts; ++p) {
      const uint4 staged = word(where + p * kWordStride);
      memcpy(divisors + p * kPartRows, &staged, sizeof(staged));
    }
  }

  /// Then the rest, for which what it reads is brought only now.
  __device__ void run_rest(const MachineRows& rows, std::size_t tile) {
    if (program_.first_columns < program_.column_count) {
      fetch_columns(rows, tile, program_.first_columns, program_.column_count, 0);
      end_copies();
      wait_for_copies<0>();
    }
    if (Form::kNulls && without_nulls_) {
      without_nulls_ = false;
      for (int c = 0; c < program_.first_columns; ++c) number_.valid &= valid_of(rows, program_.columns[c]);
    }
    run_steps(rows, program_.first_steps, program_.step_count);
  }

  /// What it leaves.
  __device__ const Numbers<Form>& number() const { return number_; }
  __device__ const Truths& truth() const { return truth_; }

  /// Where a thread's rows of a tile begin.
  __device__ static std::size_t first_place(std::size_t tile) { return tile + threadIdx.x * kPartRows; }

  /// Bits for the rows from `place` on that are there.
  __device__ static unsigned present(const MachineRows& rows, std::size_t place) {
    if (place_of(place, kRows - 1) < rows.n) return Form::kAll;
    unsigned there = 0;
#pragma unroll 1
    for (unsigned i = 0; i < kRows; ++i) there |= unsigned{place_of(place, i) < rows.n} << i;
    return there;
  }

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
  __device__ void run_steps(const MachineRows& rows, int begin, int end) {
    if (begin == end) return;
    uint2 head = head_of(begin);
    for (int i = begin; i < end;) {
      Now step{head, program_.steps + i};
      while (step.common() == Common::test_floats) {
        ++i;
        head = head_of(min(i, end - 1));
        test(rows, step, staged_within<float>(staged_at(step), *step.whole));
        if (i == end) return;
        step = {head, program_.steps + i};
      }
      ++i;
      head = head_of(min(i, end - 1));
      take(rows, step);
    }
  }

  __device__ void fetch_columns(const MachineRows& rows, std::size_t tile, int begin, int end, unsigned turn) const {
    const std::size_t place = first_place(tile);
    if (rows.ids == nullptr && tile + Form::kTile <= rows.n && layout_.narrow) {
      for (int c = begin; c < end; ++c) {
        fetch_part<4>(static_cast<const std::byte*>(program_.columns[c].values) + place * 4,
                      shared_ + layout_.first[c] + turn * layout_.of_turn);
      }
    } else if (rows.ids == nullptr && tile + Form::kTile <= rows.n) {
      for (int c = begin; c < end; ++c) {
        const StoredColumn& column = program_.columns[c];
        std::byte* const to = shared_ + layout_.first[c] + turn * layout_.of_turn;
        if (is_wide(column)) {
          fetch_part<8>(static_cast<const std::byte*>(column.values) + place * 8, to);
        } else {
          fetch_part<4>(static_cast<const std::byte*>(column.values) + place * 4, to);
        }
      }
    } else {
      for (int c = begin; c < end; ++c) fetch_some(rows, place, program_.columns[c], c, turn);
    }
  }

  __device__ static bool is_wide(const StoredColumn& column) {
    return column.stored == Stored::int64 || column.stored == Stored::uint64 || column.stored == Stored::float64;
  }
  __device__ static std::int64_t row_at(const MachineRows& rows, std::size_t place) {
    return rows.ids == nullptr ? static_cast<std::int64_t>(place) : rows.ids[place];
  }

  __device__ uint4& word(unsigned where) const { return *reinterpret_cast<uint4*>(shared_ + where); }
  __device__ double2& pair(unsigned where) const { return *reinterpret_cast<double2*>(shared_ + where); }
  /// NULLs and failures of a slot's numbers.
  __device__ unsigned& marks(unsigned slot) const { return word(slot + 2 * kParts * kWordStride).x; }

  template <unsigned kBytes>
  __device__ static void fetch_part(const std::byte* from, std::byte* to) {
    constexpr unsigned kWords = kBytes / 4;
#pragma unroll
    for (unsigned p = 0; p < kParts; ++p) {
#pragma unroll
      for (unsigned w = 0; w < kWords; ++w) {
        copy_ahead<16>(to + (p * kWords + w) * kWordStride, from + p * Form::kPartStride * kBytes + w * 16);
      }
    }
  }

  __device__ void fetch_some(const MachineRows& rows, std::size_t place, const StoredColumn& column, int c,
                             unsigned turn) const {
    const auto* const from = static_cast<const std::byte*>(column.values);
    const bool wide = is_wide(column);
#pragma unroll 1
    for (unsigned i = 0; i < kRows; ++i) {
      const std::size_t there = place_of(place, i);
      if (there >= rows.n) continue;
      const std::int64_t row = row_at(rows, there);
      std::byte* const to = shared_ + layout_.first[c] + turn * layout_.of_turn + (wide ? i / 2 : i / 4) * kWordStride;
      if (wide) {
        copy_ahead<8>(to + i % 2 * 8, from + row * 8);
      } else {
        copy_ahead<4>(to + i % 4 * 4, from + row * 4);
      }
    }
  }

  __device__ unsigned valid_of(const MachineRows& rows, const StoredColumn& column) const {
    if (column.validity == nullptr || without_nulls_) return Form::kAll;
    unsigned valid = 0;
    if (rows.ids == nullptr) {
#pragma unroll
      for (unsigned p = 0; p < kParts; ++p) {
        const std::size_t place = place_ + p * Form::kPartStride;
        const std::size_t bit = static_cast<std::size_t>(column.first_validity_bit) + place;
        const unsigned four = place < rows.n ? static_cast<unsigned>(__ldg(column.validity + bit / 8)) >> bit % 8 : 0;
        valid |= (four & 0xf) << kPartRows * p;
      }
      return valid;
    }
    for (unsigned i = 0; i < kRows; ++i) {
      const std::size_t place = place_of(place_, i);
      if (place < rows.n) valid |= unsigned{is_valid(column, rows.ids[place])} << i;
    }
    return valid;
  }

  /// Numbers of 64 bits as they lie there.
  __device__ void take_pairs(unsigned where, Values& values) const {
#pragma unroll
    for (unsigned w = 0; w < 2 * kParts; ++w) {
      const double2 two = pair(where + w * kWordStride);
      values.values[2 * w] = two.x;
      values.values[2 * w + 1] = two.y;
    }
  }
  __device__ void take_slot(unsigned slot, Values& values) const {
    take_pairs(slot, values);
    if constexpr (Form::kNulls) {
      values.valid = marks(slot) & Form::kAll;
      if constexpr (Form::kFails) values.failed = marks(slot) >> kRows;
    }
  }

  /// What is staged of a column of 32 bits, as `T`s, each made a number.
  template <class T, class Make>
  __device__ void take_staged(unsigned where, Values& values, Make make) const {
#pragma unroll
    for (unsigned p = 0; p < kParts; ++p) {
      const uint4 staged = word(where + p * kWordStride);
      T four[kPartRows];
      memcpy(four, &staged, sizeof(staged));
#pragma unroll
      for (unsigned i = 0; i < kPartRows; ++i) values.values[p * kPartRows + i] = make(four[i]);
    }
  }

  /// Where a column is that is the operand.
  __device__ unsigned staged_at(const Now& step) const { return staged_at(step.slot(), step.where()); }
  __device__ unsigned staged_at(unsigned column, unsigned where) const {
    const bool of_turn = column < static_cast<unsigned>(program_.first_columns);
    return where + (of_turn ? turn_ : 0);
  }

  /// The operand, in its evaluation type; not one from a slot.
  __device__ void take_operand(const MachineRows& rows, const Now& step, Values& values) const {
    if constexpr (Form::kNulls) {
      values.valid = step.flag() ? 0 : Form::kAll;
      if constexpr (Form::kFails) values.failed = 0;
      if (step.from() != From::constant) values.valid = valid_of(rows, program_.columns[step.slot()]);
    }
    if (step.from() == From::constant) {
      const auto constant = with_bits_of<double>(step.whole->bits);
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) values.values[i] = constant;
      return;
    }
    const unsigned where = staged_at(step);
    if (step.from() == From::float32) {
      return take_staged<float>(where, values, [](float value) { return static_cast<double>(value); });
    }
    if (step.from() == From::int32) {
      return take_staged<std::int32_t>(where, values,
                                       [](std::int32_t value) { return with_bits_of<double>(std::int64_t{value}); });
    }
    if (step.from() == From::uint32) {
      return take_staged<std::uint32_t>(where, values,
                                        [](std::uint32_t value) { return with_bits_of<double>(std::uint64_t{value}); });
    }
    take_pairs(where, values);
  }

  /// Of the number and a column of float32.
  template <class F>
  __device__ void with_floats(const MachineRows& rows, const Now& step, F f) {
    Values right;
    take_staged<float>(staged_at(step), right, [](float value) { return static_cast<double>(value); });
    if constexpr (Form::kNulls) number_.valid &= valid_of(rows, program_.columns[step.slot()]);
    each([&](unsigned i) { return right.values[i]; }, f);
  }
  __device__ void load_floats(const MachineRows& rows, const Now& step) {
    take_staged<float>(staged_at(step), number_, [](float value) { return static_cast<double>(value); });
    if constexpr (Form::kNulls) number_.valid = valid_of(rows, program_.columns[step.slot()]);
    if constexpr (Form::kFails) number_.failed = 0;
  }
  /// The number becomes what `make` makes of a column of float32.
  template <class Make>
  __device__ void load_made(const MachineRows& rows, const Now& step, Make make) {
    take_staged<float>(staged_at(step), number_, [&](float value) { return make(static_cast<double>(value)); });
    if constexpr (Form::kNulls) number_.valid = valid_of(rows, program_.columns[step.slot()]);
    if constexpr (Form::kFails) number_.failed = 0;
  }
  __device__ void load_lesser(const MachineRows& rows, const Now& step) {
    const auto other = static_cast<unsigned>(step.whole->bits);
    const unsigned left = staged_at(step);
    const unsigned right = staged_at(other, static_cast<unsigned>(step.whole->upper));
#pragma unroll
    for (unsigned p = 0; p < kParts; ++p) {
      const uint4 staged[] = {word(left + p * kWordStride), word(right + p * kWordStride)};
      float a[kPartRows];
      float b[kPartRows];
      memcpy(a, &staged[0], sizeof(a));
      memcpy(b, &staged[1], sizeof(b));
#pragma unroll
      for (unsigned i = 0; i < kPartRows; ++i) {
        const bool second = (b[i] < a[i]) | (b[i] != b[i]);
        number_.values[p * kPartRows + i] = static_cast<double>(second ? b[i] : a[i]);
      }
    }
    if constexpr (Form::kNulls) {
      number_.valid = valid_of(rows, program_.columns[step.slot()]) & valid_of(rows, program_.columns[other]);
    }
    if constexpr (Form::kFails) number_.failed = 0;
  }
  __device__ void add_slot(const Now& step) {
    Values left;
    take_slot(step.where(), left);
    if constexpr (Form::kNulls) number_.valid &= left.valid;
    if constexpr (Form::kFails) number_.failed |= left.failed;
    each([&](unsigned i) { return left.values[i]; }, [](double b, double a) { return kernels::detail::sum_of(a, b); });
  }

  __device__ void take(const MachineRows& rows, const Now& step) {
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
      case Common::save: return save(step.where());
      case Common::square: return change_each([&](double value) { return product(value, value); });
      case Common::load_square: return load_made(rows, step, [&](double value) { return product(value, value); });
      case Common::add_square:
        return with_floats(rows, step, [&](double a, double b) { return kernels::detail::sum_of(a, product(b, b)); });
      case Common::load_scaled: {
        const auto constant = with_bits_of<double>(step.whole->bits);
        return load_made(rows, step, [&](double value) { return product(value, constant); });
      }
      case Common::load_lesser: return load_lesser(rows, step);
      case Common::test_floats: break;  // not here
    }
  }

  __device__ void take_any(const MachineRows& rows, const Now& step) {
    switch (step.act()) {
      case Act::load: return take_operand(rows, step, number_);
      case Act::save: return save(step.where());
      case Act::restore: return take_slot(step.where(), number_);
      case Act::save_truth:
        word(step.where()).x = truth_.bits | truth_.valid << kRows | truth_.failed << 2 * kRows;
        return;
      case Act::restore_truth: truth_ = saved_truth(step.where()); return;
      case Act::between: return between(step);
      case Act::test:
      case Act::and_test:
      case Act::or_test: return test(rows, step);
      case Act::logical_and: return logic(false, saved_truth(step.where()));
      case Act::logical_or: return logic(true, saved_truth(step.where()));
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
      take_slot(step.where(), number_);
    } else {
      take_operand(rows, step, right);
    }
    if constexpr (Form::kNulls) number_.valid &= right.valid;
    if constexpr (Form::kFails) number_.failed |= right.failed;
    binary(step, [&](unsigned i) { return right.values[i]; });
  }

  __device__ void save(unsigned to) const {
#pragma unroll
    for (unsigned w = 0; w < 2 * kParts; ++w) {
      pair(to + w * kWordStride) = {number_.values[2 * w], number_.values[2 * w + 1]};
    }
    if constexpr (Form::kFails) {
      marks(to) = number_.valid | number_.failed << kRows;
    } else if constexpr (Form::kNulls) {
      marks(to) = number_.valid;
    }
  }

  __device__ Truths saved_truth(unsigned from) const {
    const unsigned saved = word(from).x;
    return {saved & Form::kAll, saved >> kRows & Form::kAll, saved >> 2 * kRows & Form::kAll};
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

  /// Of int64; a row fails where the result does not fit.
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

  /// A bit for each row whose value lies within bounds, of T as it is staged.
  template <class T>
  __device__ unsigned staged_within(unsigned where, const Step& range) const {
    constexpr unsigned kOfWord = sizeof(uint4) / sizeof(T);
    T lowest;
    T highest;
    memcpy(&lowest, &range.bits, sizeof(T));
    memcpy(&highest, &range.upper, sizeof(T));
    unsigned truths = 0;
#pragma unroll
    for (unsigned w = 0; w < kRows / kOfWord; ++w) {
      const uint4 staged = word(where + w * kWordStride);
      T values[kOfWord];
      memcpy(values, &staged, sizeof(staged));
#pragma unroll
      for (unsigned i = 0; i < kOfWord; ++i) {
        if ((values[i] >= lowest) & (values[i] <= highest)) truths |= 1u << (w * kOfWord + i);
      }
    }
    return truths;
  }

  __device__ void test(const MachineRows& rows, const Now& step) {
    const Step& range = *step.whole;
    const unsigned where = staged_at(step);
    switch (step.from()) {
      case From::float32: return test(rows, step, staged_within<float>(where, range));
      case From::int32: return test(rows, step, staged_within<std::int32_t>(where, range));
      default: break;
    }
    test(rows, step, step.integers() ? staged_within<std::int64_t>(where, range) : staged_within<double>(where, range));
  }

  /// `inside`: a bit for each row whose value lies within the bounds.
  __device__ void test(const MachineRows& rows, const Now& step, unsigned inside) {
    const Truths left = truth_;
    truth_.bits = inside ^ (step.flag() ? Form::kAll : 0);
    if constexpr (Form::kNulls) truth_.valid = valid_of(rows, program_.columns[step.slot()]);
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
    take_slot(from, values);
    choose(values);
  }
  __device__ void choose_operand(const MachineRows& rows, const Now& step) {
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
      if (operands > 1) take_slot(slot, a);
      if (operands == 2) b = number_;
      if (operands == 3) {
        take_slot(slot + kWordStride * kSlotWords<Form>, b);
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

  __device__ void read(const MachineRows& rows, const Now& step) {
    if constexpr (Form::kFails) {
      number_ = {};
      const unsigned there = present(rows, place_);
      const Instruction* const how = program_.source.instructions + step.where();
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) {
        if ((there >> i & 1) == 0) continue;
        set_row(number_, i, detail::read(how, program_.source.columns, row_at(rows, place_of(place_, i))));
      }
    }
  }

  const StepProgram& program_;
  const MachineLayout& layout_;
  std::byte* shared_;  ///< this thread's first word
  Values number_ = {};
  Truths truth_ = {};
  std::size_t place_ = 0;
  unsigned turn_ = 0;  ///< offset of its columns
  bool without_nulls_ = false;
};

/// Waits for the oldest of `turns` turns that are under way.
__device__ inline void wait_for_turn(unsigned turns) {
  switch (turns) {
    case 2: return wait_for_copies<1>();
    case 3: return wait_for_copies<2>();
    default: return wait_for_copies<3>();
  }
}

/// A block's tiles: every `stride` rows from `first` on, below `end`.
struct MachineTiles {
  std::size_t first;
  std::size_t stride;
  std::size_t end;
};

/// Where all blocks of a grid take turns.
template <class Form>
__device__ MachineTiles tiles_in_turns(const MachineRows& rows) {
  return {std::size_t{blockIdx.x} * Form::kTile, std::size_t{gridDim.x} * Form::kTile, rows.n};
}

/// Begins to bring a block's first rows.
template <class Form>
__device__ void fetch_first(const RowMachine<Form>& machine, const MachineLayout& layout, const MachineRows& rows,
                            const MachineTiles& tiles) {
#pragma unroll 1
  for (unsigned turn = 0; turn + 1 < layout.turns; ++turn) {
    machine.fetch(rows, tiles.first + turn * tiles.stride, turn);
  }
}

/// Runs the first part of the program for every row, `body(tile, place)` for those of a thread in a tile, the first of
/// which is at `place`; not all may be there. All lanes of a warp take part. The first rows are on their way.
template <class Form, class Body>
__device__ void for_rows_fetched(RowMachine<Form>& machine, const MachineLayout& layout, const MachineRows& rows,
                                 const MachineTiles& tiles, Body body) {
  const unsigned turns = layout.turns;
  const std::size_t ahead = (turns - 1) * tiles.stride;
  unsigned turn = 0;
  for (std::size_t tile = tiles.first; tile < tiles.end; tile += tiles.stride) {
    machine.fetch(rows, tile + ahead, turn == 0 ? turns - 1 : turn - 1);
    wait_for_turn(turns);
    machine.run(rows, tile, turn);
    body(tile, machine.first_place(tile));
    turn = turn + 1 == turns ? 0 : turn + 1;
  }
}

/// The same from the beginning, with `body(machine, tile, place, present)`: bits of `present` say which rows are there.
template <class Form, class Body>
__device__ void for_rows_together(const StepProgram& program, const MachineLayout& layout, const MachineRows& rows,
                                  Body body) {
  RowMachine<Form> machine(program, layout, dynamic_shared<uint4>());
  const MachineTiles tiles = tiles_in_turns<Form>(rows);
  fetch_first(machine, layout, rows, tiles);
  for_rows_fetched(machine, layout, rows, tiles, [&](std::size_t tile, std::size_t place) {
    body(machine, tile, place, machine.present(rows, place));
  });
}

/// Four bits of each lane as words of a bit a row.
__device__ inline void store_bits(unsigned* words, std::size_t place, std::size_t n, unsigned four) {
  const unsigned lane = threadIdx.x % kLanes;
  unsigned word = four << 4 * (lane % 8);
  for (unsigned distance = 1; distance < 8; distance *= 2) word |= __shfl_xor_sync(kAllLanes, word, distance);
  if (lane % 8 == 0 && place < n) words[place / 32] = word;
}

}  // namespace skyrank::kernels::cuda
