#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/device/block.cuh"
#include "kernels/cuda/device/shared.cuh"
#include "kernels/cuda/eval/steps.hpp"

// Runs a program for four neighbouring rows a thread, so that finding out what a step is costs a quarter. The values of
// the next rows are on their way to shared memory meanwhile, 16 bytes a copy; a thread reads only what it has copied
// itself, so that nothing waits for other threads. The last value is in registers, those below it in shared memory,
// their NULLs and failures in two words, four bits a value.
namespace skyrank::kernels::cuda {

inline constexpr unsigned kMachineThreads = 128;
/// Blocks that a multiprocessor has registers for.
inline constexpr unsigned kMachineBlocks = 6;
inline constexpr unsigned kMachineRows = 4;
inline constexpr unsigned kMachineTile = kMachineThreads * kMachineRows;

/// Values of four rows; of `valid` and `failed` a bit for each.
struct FourValues {
  std::uint64_t bits[kMachineRows];
  unsigned valid;
  unsigned failed;
};

/// A bit for each value that is not zero.
__device__ inline unsigned truths_of(const FourValues& values) {
  unsigned bits = 0;
#pragma unroll
  for (unsigned i = 0; i < kMachineRows; ++i) bits |= unsigned{values.bits[i] != 0} << i;
  return bits;
}

/// The rows of a table, all or listed.
struct MachineRows {
  std::size_t n;
  const RowId* ids;  ///< null: all
};

namespace detail {

template <unsigned kBytes>
__device__ void copy_ahead(void* shared, const void* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(kBytes) : "memory");
#else
  memcpy(shared, from, kBytes);
#endif
}

/// What was asked for before belongs together.
__device__ inline void end_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits for all but the last of what belongs together.
__device__ inline void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
}

/// Steps that have no form for several rows. Not inlined: they are many, and rare.
__device__ __noinline__ inline RowValue apply(const Instruction* how, RowValue a, RowValue b, RowValue c) {
  return StackMachine::applied(*how, a, b, c);
}
__device__ __noinline__ inline RowValue read(const Instruction* how, const StoredColumn* columns, std::int64_t row) {
  return StackMachine::read(*how, columns, row);
}

}  // namespace detail

/// Words of 16 bytes of a thread's shared memory.
inline std::size_t machine_words(const StepProgram& program) {
  return std::size_t{4} * program.column_count + std::size_t{2} * program.depth;
}

inline std::size_t machine_bytes(const StepProgram& program) {
  return machine_words(program) * kMachineThreads * sizeof(uint4);
}

class RowMachine {
 public:
  /// `shared` has machine_bytes(program).
  __device__ RowMachine(const StepProgram& program, uint4* shared) : program_(program), shared_(shared + threadIdx.x) {}

  /// Begins to bring the values of rows [place, place + 4), of which those that are there count.
  __device__ void fetch(const MachineRows& rows, std::size_t place, unsigned turn) {
    const bool together = rows.ids == nullptr && place + kMachineRows <= rows.n;
    for (int c = 0; c < program_.column_count; ++c) {
      const StoredColumn& column = program_.columns[c];
      const bool wide = is_wide(column);
      const auto* const from = static_cast<const std::byte*>(column.values);
      if (together) {
        const std::byte* const first = from + place * (wide ? 8 : 4);
        detail::copy_ahead<16>(staged(c, turn, 0), first);
        if (wide) detail::copy_ahead<16>(staged(c, turn, 1), first + 16);
        continue;
      }
      for (unsigned i = 0; i < kMachineRows && place + i < rows.n; ++i) {
        const auto row = row_at(rows, place + i);
        if (wide) {
          detail::copy_ahead<8>(reinterpret_cast<std::uint64_t*>(staged(c, turn, i / 2)) + i % 2, from + row * 8);
        } else {
          detail::copy_ahead<4>(reinterpret_cast<unsigned*>(staged(c, turn, 0)) + i, from + row * 4);
        }
      }
    }
    detail::end_copies();
  }

  /// Runs the program for the rows that were fetched for `turn`; of rows that are not there values mean nothing.
  __device__ void run(const MachineRows& rows, std::size_t place, unsigned turn) {
    place_ = place;
    turn_ = turn;
    depth_ = 0;
    stacked_valid_ = 0;
    stacked_failed_ = 0;
    for (int i = 0; i < program_.step_count; ++i) take(rows, program_.steps[i]);
  }

  /// The value that it left last, and the one before that.
  __device__ const FourValues& top() const { return top_; }
  __device__ FourValues below() const { return stacked_values(depth_ - 2); }

  /// Bits for the rows [place, place + 4) that are there.
  __device__ static unsigned present(const MachineRows& rows, std::size_t place) {
    if (place >= rows.n) return 0;
    return rows.n - place >= kMachineRows ? 0xfu : (1u << (rows.n - place)) - 1;
  }

 private:
  __device__ static bool is_wide(const StoredColumn& column) {
    return column.stored == Stored::int64 || column.stored == Stored::uint64 || column.stored == Stored::float64;
  }
  __device__ static std::int64_t row_at(const MachineRows& rows, std::size_t place) {
    return rows.ids == nullptr ? static_cast<std::int64_t>(place) : rows.ids[place];
  }

  /// One word of each thread lies beside the next one's.
  __device__ uint4* staged(int column, unsigned turn, unsigned word) const {
    return shared_ + ((2 * column + turn) * 2 + word) * kMachineThreads;
  }
  __device__ uint4* stacked(unsigned slot) const {
    return shared_ + (4 * program_.column_count + 2 * slot) * kMachineThreads;
  }

  __device__ void push() {
    if (depth_ > 0) {
      uint4 words[2];
      memcpy(words, top_.bits, sizeof(words));
      uint4* const slot = stacked(depth_ - 1);
      slot[0] = words[0];
      slot[kMachineThreads] = words[1];
      stacked_valid_ = stacked_valid_ << 4 | top_.valid;
      stacked_failed_ = stacked_failed_ << 4 | top_.failed;
    }
    ++depth_;
  }

  /// The values in a slot that is the uppermost.
  __device__ FourValues stacked_values(unsigned slot) const {
    const uint4* const from = stacked(slot);
    const uint4 words[2] = {from[0], from[kMachineThreads]};
    FourValues values;
    memcpy(values.bits, words, sizeof(words));
    values.valid = static_cast<unsigned>(stacked_valid_) & 0xf;
    values.failed = static_cast<unsigned>(stacked_failed_) & 0xf;
    return values;
  }

  /// What lies below the top, which is one less deep then.
  __device__ FourValues pop_below() {
    --depth_;
    const FourValues values = stacked_values(depth_ - 1);
    stacked_valid_ >>= 4;
    stacked_failed_ >>= 4;
    return values;
  }

  __device__ unsigned valid_of(const MachineRows& rows, const StoredColumn& column) const {
    if (column.validity == nullptr) return 0xf;
    if (rows.ids == nullptr) {
      const std::size_t bit = static_cast<std::size_t>(column.first_validity_bit) + place_;
      return place_ < rows.n ? static_cast<unsigned>(__ldg(column.validity + bit / 8)) >> bit % 8 & 0xf : 0;
    }
    unsigned valid = 0;
    for (unsigned i = 0; i < kMachineRows && place_ + i < rows.n; ++i) {
      valid |= unsigned{is_valid(column, rows.ids[place_ + i])} << i;
    }
    return valid;
  }

  /// A staged column's values in their evaluation type.
  __device__ FourValues column(const MachineRows& rows, unsigned place) const {
    const StoredColumn& column = program_.columns[place];
    FourValues values;
    values.valid = valid_of(rows, column);
    values.failed = 0;
    if (is_wide(column)) {
      const uint4 words[2] = {*staged(static_cast<int>(place), turn_, 0), *staged(static_cast<int>(place), turn_, 1)};
      memcpy(values.bits, words, sizeof(words));
      return values;
    }
    const uint4 word = *staged(static_cast<int>(place), turn_, 0);
    unsigned narrow[kMachineRows];
    memcpy(narrow, &word, sizeof(word));
#pragma unroll
    for (unsigned i = 0; i < kMachineRows; ++i) {
      if (column.stored == Stored::float32) {
        values.bits[i] = kernels::detail::bits_of(static_cast<double>(with_bits_of<float>(narrow[i])));
      } else if (column.stored == Stored::int32) {
        values.bits[i] = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(narrow[i])});
      } else {
        values.bits[i] = narrow[i];
      }
    }
    return values;
  }

  __device__ FourValues operand(const MachineRows& rows, const Step& step) const {
    if (step.from == From::column) return column(rows, step.place);
    FourValues values;
#pragma unroll
    for (unsigned i = 0; i < kMachineRows; ++i) values.bits[i] = step.bits;
    values.valid = step.flag ? 0 : 0xf;
    values.failed = 0;
    return values;
  }

  __device__ void take(const MachineRows& rows, const Step& step) {
    switch (step.act) {
      case Act::push: {
        const FourValues pushed = operand(rows, step);
        push();
        top_ = pushed;
        return;
      }
      case Act::between: return between(step);
      case Act::logical_not:
      case Act::is_null:
      case Act::to_float:
      case Act::negate:
      case Act::absolute:
      case Act::square_root:
      case Act::round_down:
      case Act::round_up: return unary(step);
      case Act::general: return general(step);
      case Act::read: return read(rows, step);
      case Act::choose: return choose(step);
      default: break;
    }
    if (step.from == From::stack) {
      const FourValues right = top_;
      top_ = pop_below();
      binary(step, right);
    } else {
      binary(step, operand(rows, step));
    }
  }

  /// The top becomes what `f(left, right)` says of each pair of values as they are, as bits.
  template <class F>
  __device__ void each(const FourValues& right, F f) {
#pragma unroll
    for (unsigned i = 0; i < kMachineRows; ++i) top_.bits[i] = f(top_.bits[i], right.bits[i]);
  }
  template <class F>
  __device__ void each_float(const FourValues& right, F f) {
    using kernels::detail::as_double;
    each(right,
         [&](std::uint64_t a, std::uint64_t b) { return kernels::detail::bits_of(f(as_double(a), as_double(b))); });
  }
  template <class F>
  __device__ void each_truth(const Step& step, const FourValues& right, F f) {
    using kernels::detail::as_double;
    if (step.integers) {
      each(right, [&](std::uint64_t a, std::uint64_t b) {
        return std::uint64_t{f(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b))};
      });
    } else {
      each(right, [&](std::uint64_t a, std::uint64_t b) { return std::uint64_t{f(as_double(a), as_double(b))}; });
    }
  }

  __device__ void binary(const Step& step, const FourValues& right) {
    if (step.act == Act::logical_and || step.act == Act::logical_or) return logic(step.act == Act::logical_or, right);
    top_.valid &= right.valid;
    top_.failed |= right.failed;
    switch (step.act) {
      case Act::equal: return each_truth(step, right, [](auto a, auto b) { return a == b; });
      case Act::not_equal: return each_truth(step, right, [](auto a, auto b) { return a != b; });
      case Act::less: return each_truth(step, right, [](auto a, auto b) { return a < b; });
      case Act::less_equal: return each_truth(step, right, [](auto a, auto b) { return a <= b; });
      default: break;
    }
    if (step.act == Act::lesser || step.act == Act::greater) return extremum(step, right);
    if (step.integers) return calculate(step.act, right);
    switch (step.act) {
      case Act::add: return each_float(right, [](double a, double b) { return kernels::detail::sum_of(a, b); });
      case Act::subtract:
        return each_float(right, [](double a, double b) { return kernels::detail::difference_of(a, b); });
      case Act::multiply:
        return each_float(right, [](double a, double b) { return kernels::detail::product_of(a, b); });
      default: return each_float(right, [](double a, double b) { return a / b; });
    }
  }

  /// Of int64, which fail where the result does not fit.
  __device__ void calculate(Act act, const FourValues& right) {
    unsigned overflow = 0;
#pragma unroll
    for (unsigned i = 0; i < kMachineRows; ++i) {
      const std::uint64_t a = top_.bits[i];
      const std::uint64_t b = right.bits[i];
      bool over = false;
      if (act == Act::multiply) {
        const Int128 product = Int128{static_cast<std::int64_t>(a)} * static_cast<std::int64_t>(b);
        top_.bits[i] = a * b;
        over = product != static_cast<std::int64_t>(top_.bits[i]);
      } else {
        const bool is_sum = act == Act::add;
        const std::uint64_t result = is_sum ? a + b : a - b;
        // A sum is over where both operands have a sign that it has not.
        over = static_cast<std::int64_t>((is_sum ? a ^ result : a ^ b) & (is_sum ? b ^ result : a ^ result)) < 0;
        top_.bits[i] = result;
      }
      overflow |= unsigned{over} << i;
    }
    top_.failed |= overflow & top_.valid;
  }

  /// Kleene's logic: false decides `and`, true decides `or`, even beside NULL.
  __device__ void logic(bool is_or, const FourValues& right) {
    const unsigned a = truths_of(top_);
    const unsigned b = truths_of(right);
    const unsigned decides_a = top_.valid & (is_or ? a : ~a);
    const unsigned decides_b = right.valid & (is_or ? b : ~b);
    const unsigned decided = decides_a | decides_b;
    const unsigned truth = is_or ? decided : ~decided;
    top_.valid = (top_.valid & right.valid) | decided;
    top_.failed |= right.failed & ~decides_a;
#pragma unroll
    for (unsigned i = 0; i < kMachineRows; ++i) top_.bits[i] = truth >> i & 1;
  }

  __device__ void between(const Step& step) {
    FourValues bound;
    const FourValues value = top_;
#pragma unroll
    for (unsigned i = 0; i < kMachineRows; ++i) bound.bits[i] = step.bits;
    each_truth(step, bound, [](auto a, auto b) { return a >= b; });
    const unsigned above = truths_of(top_);
    top_ = value;
#pragma unroll
    for (unsigned i = 0; i < kMachineRows; ++i) bound.bits[i] = step.upper;
    each_truth(step, bound, [](auto a, auto b) { return a <= b; });
    const unsigned inside = (above & truths_of(top_)) ^ (step.flag ? 0xfu : 0);
#pragma unroll
    for (unsigned i = 0; i < kMachineRows; ++i) top_.bits[i] = inside >> i & 1;
  }

  __device__ void unary(const Step& step) {
    if (step.act == Act::is_null) {
      const unsigned truth = step.flag ? top_.valid : ~top_.valid;
#pragma unroll
      for (unsigned i = 0; i < kMachineRows; ++i) top_.bits[i] = truth >> i & 1;
      top_.valid = 0xf;
      return;
    }
#pragma unroll
    for (unsigned i = 0; i < kMachineRows; ++i) top_.bits[i] = changed(step.act, top_.bits[i]);
  }

  __device__ static std::uint64_t changed(Act act, std::uint64_t bits) {
    using kernels::detail::as_double;
    using kernels::detail::bits_of;
    switch (act) {
      case Act::logical_not: return bits ^ 1;
      case Act::to_float: return bits_of(static_cast<double>(static_cast<std::int64_t>(bits)));
      case Act::negate: return bits ^ std::uint64_t{1} << 63;
      case Act::absolute: return bits & ~std::uint64_t{0} >> 1;
      case Act::square_root: return bits_of(sqrt(as_double(bits)));
      case Act::round_down: return bits_of(floor(as_double(bits)));
      default: return bits_of(ceil(as_double(bits)));
    }
  }

  /// NaN replaces what is not one.
  __device__ void extremum(const Step& step, const FourValues& right) {
    const bool minimum = step.act == Act::lesser;
    const auto replaces = [&](auto a, auto b) { return (minimum ? b < a : a < b) | (b != b); };
    if (step.integers) {
      each(right, [&](std::uint64_t a, std::uint64_t b) {
        return replaces(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)) ? b : a;
      });
    } else {
      each(right, [&](std::uint64_t a, std::uint64_t b) {
        return replaces(kernels::detail::as_double(a), kernels::detail::as_double(b)) ? b : a;
      });
    }
  }

  /// Condition, value, condition, value, ..., [else]: from the last to the first, each value replaces those after it
  /// where its condition is true.
  __device__ void choose(const Step& step) {
    unsigned left = step.operands;
    FourValues chosen = {};
    if (left % 2 == 1) {
      chosen = top_;
      --left;
      if (left > 0) top_ = pop_below();
    }
    while (left > 0) {
      const FourValues value = top_;
      const FourValues condition = pop_below();
      const unsigned taken = condition.valid & truths_of(condition);
#pragma unroll
      for (unsigned i = 0; i < kMachineRows; ++i) {
        if ((taken >> i & 1) != 0) chosen.bits[i] = value.bits[i];
      }
      chosen.valid = (taken & value.valid) | (~taken & chosen.valid);
      chosen.failed = condition.failed | (taken & value.failed) | (~taken & chosen.failed);
      left -= 2;
      if (left > 0) top_ = pop_below();
    }
    top_ = chosen;
  }

  __device__ static RowValue row_of(const FourValues& values, unsigned i) {
    return {values.bits[i], (values.valid >> i & 1) != 0, (values.failed >> i & 1) != 0};
  }
  __device__ static void set_row(FourValues& values, unsigned i, const RowValue& value) {
    values.bits[i] = value.bits;
    values.valid |= unsigned{value.valid} << i;
    values.failed |= unsigned{value.failed} << i;
  }

  __device__ void general(const Step& step) {
    FourValues a = top_;
    FourValues b = {};
    FourValues c = {};
    if (step.operands == 3) {
      c = top_;
      b = pop_below();
      a = pop_below();
    } else if (step.operands == 2) {
      b = top_;
      a = pop_below();
    }
    const Instruction* const how = program_.source.instructions + step.place;
    top_ = {};
#pragma unroll
    for (unsigned i = 0; i < kMachineRows; ++i) {
      set_row(top_, i, detail::apply(how, row_of(a, i), row_of(b, i), row_of(c, i)));
    }
  }

  __device__ void read(const MachineRows& rows, const Step& step) {
    push();
    top_ = {};
    const unsigned there = present(rows, place_);
    const Instruction* const how = program_.source.instructions + step.place;
#pragma unroll
    for (unsigned i = 0; i < kMachineRows; ++i) {
      if ((there >> i & 1) == 0) continue;
      set_row(top_, i, detail::read(how, program_.source.columns, row_at(rows, place_ + i)));
    }
  }

  const StepProgram& program_;
  uint4* shared_;
  FourValues top_ = {};
  std::size_t place_ = 0;
  unsigned turn_ = 0;
  unsigned depth_ = 0;
  std::uint64_t stacked_valid_ = 0;
  std::uint64_t stacked_failed_ = 0;
};

/// Runs the program for every row, `body(machine, place, present)` for rows [place, place + 4), of which those that are
/// there are bits of `present`; none may be. All lanes of a warp take part.
template <class Body>
__device__ void for_four_rows(const StepProgram& program, const MachineRows& rows, Body body) {
  RowMachine machine(program, dynamic_shared<uint4>());
  const std::size_t stride = std::size_t{gridDim.x} * kMachineTile;
  const std::size_t first = std::size_t{blockIdx.x} * kMachineTile + threadIdx.x * kMachineRows;
  machine.fetch(rows, first, 0);
  unsigned turn = 0;
  for (std::size_t place = first; place - threadIdx.x % kLanes * kMachineRows < rows.n; place += stride) {
    machine.fetch(rows, place + stride, turn ^ 1);
    detail::wait_for_copies();
    machine.run(rows, place, turn);
    body(machine, place, RowMachine::present(rows, place));
    turn ^= 1;
  }
}

/// Four bits of each lane as words of a bit a row.
__device__ inline void store_bits(unsigned* words, std::size_t place, std::size_t n, unsigned four) {
  const unsigned lane = threadIdx.x % kLanes;
  unsigned word = four << 4 * (lane % 8);
  for (unsigned distance = 1; distance < 8; distance *= 2) word |= __shfl_xor_sync(kAllLanes, word, distance);
  if (lane % 8 == 0 && place < n) words[place / 32] = word;
}

}  // namespace skyrank::kernels::cuda
