#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/expression/policy.hpp"
#include "kernels/cuda/expression/steps.hpp"

// How the shared memory of a kernel that runs programs is laid out (row_machine.cuh), and the forms of such kernels.
namespace skyrank::kernels::cuda::expression {

inline constexpr unsigned kMachineThreads = MachinePolicy::kThreads;
inline constexpr unsigned kPartRows = 4;  ///< neighbouring rows of a thread, whose values of 32 bits are one copy
inline constexpr unsigned kMachineBlocks = MachinePolicy::kBlocks;

/// The features of a kernel that runs programs: NULLs, rows that fail, and steps without a form of their own. The fewer
/// features it has, the more rows a thread has registers for.
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
using PlainForm = MachineForm<MachinePolicy::kParts, false, false>;
using NullsForm = MachineForm<MachinePolicy::kParts, true, false>;
using CarefulForm = MachineForm<MachinePolicy::kPartsOfCareful, true, true>;

/// Bytes from one word of 16 bytes of a thread to the next: those of all threads lie side by side.
inline constexpr unsigned kWordStride = kMachineThreads * sizeof(uint4);

/// Words of a slot for numbers: these, and their NULLs and failures.
template <class Form>
inline constexpr unsigned kSlotWords = 2 * Form::kParts + (Form::kNulls ? 1 : 0);

/// How a program's shared memory is laid out, in bytes of a block.
struct MachineLayout {
  unsigned
      first[StepProgram::kMaxColumns];  ///< offset of each column; for columns that have stages that in the first stage
  unsigned of_stage;                    ///< the columns of the program's first part
  unsigned stages;                      ///< rows under way, and those at hand
  unsigned slots;                       ///< begin of the slots for numbers,
  unsigned truths;                      ///< begin of the slots for truths, of a word each,
  unsigned bytes;                       ///< and where they end
  bool narrow;                          ///< all columns are of 32 bits
};

template <class Form>
MachineLayout layout_of(const StepProgram& program) {
  MachineLayout layout{};
  const auto bytes_of_column = [&](int c) {
    return kWordStride * Form::kParts * static_cast<unsigned>(bytes_of(program.columns[c].stored) / 4);
  };
  for (int c = 0; c < program.first_columns; ++c) {
    layout.first[c] = layout.of_stage;
    layout.of_stage += bytes_of_column(c);
  }
  unsigned later = 0;
  for (int c = program.first_columns; c < program.column_count; ++c) later += bytes_of_column(c);
  constexpr unsigned kMaxStaged = MachinePolicy::kMaxStagedWords * kWordStride;
  const unsigned room = kMaxStaged - std::min(kMaxStaged, later);
  layout.stages = std::clamp(room / std::max(kWordStride, layout.of_stage), 2u, MachinePolicy::kMaxStages);
  layout.slots = layout.of_stage * layout.stages;
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

/// Returns which of the commonest steps a step is.
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
    default: break;
  }
  return Common::none;
}

/// Lays a program out, and tells its steps where things are, and which they are.
template <class Form>
MachineLayout lay_out(StepProgram& program) {
  const MachineLayout layout = layout_of<Form>(program);
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
        continue;
    }
    step.where = layout.slots + kWordStride * kSlotWords<Form> * step.slot;
  }
  return layout;
}

/// Calls `f(form)` with the form that a program runs in: four rows a thread where shared memory does not suffice for
/// enough blocks with eight.
template <class F>
decltype(auto) with_form(const StepProgram& program, F f) {
  if (program.fails || layout_of<NullsForm>(program).bytes > MachinePolicy::kMaxBytes) return f(CarefulForm{});
  return program.nulls ? f(NullsForm{}) : f(PlainForm{});
}

}  // namespace skyrank::kernels::cuda::expression
