#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/copy_ahead.cuh"
#include "kernels/cuda/expression/machine_layout.cuh"
#include "kernels/cuda/expression/steps.hpp"

// The values that a program reads and sets aside while it runs (row_machine.cuh).
namespace skyrank::kernels::cuda::expression {

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

/// A thread's words of shared memory: the values of its rows, in stages, and the slots of a program. A thread reads
/// only what it has copied itself, so that nothing waits for other threads.
template <class Form>
class MachineMemory {
 public:
  static constexpr unsigned kRows = Form::kRows;
  static constexpr unsigned kParts = Form::kParts;

  /// `shared` has the bytes of the layout, which the program was told of.
  __device__ MachineMemory(const StepProgram& program, const MachineLayout& layout, uint4* shared)
      : program_(program), layout_(layout), shared_(reinterpret_cast<std::byte*>(shared + threadIdx.x)) {}

  /// The place of a thread's i-th row, whose first one is at `place`.
  __device__ static std::size_t place_of(std::size_t place, unsigned i) {
    return place + i / kPartRows * Form::kPartStride + i % kPartRows;
  }

  /// Returns the first of a thread's rows of a tile.
  __device__ static std::size_t first_place(std::size_t tile) { return tile + threadIdx.x * kPartRows; }

  /// Bits for the rows from `place` on that are there.
  __device__ static unsigned present(const DeviceRows& rows, std::size_t place) {
    if (place_of(place, kRows - 1) < rows.n) return Form::kAll;
    unsigned there = 0;
#pragma unroll 1
    for (unsigned i = 0; i < kRows; ++i) there |= unsigned{place_of(place, i) < rows.n} << i;
    return there;
  }

  /// Begins to copy the values of a block's rows from `tile` on, of which those that are there count. Blocks decide as
  /// a whole which way they go, so that the compiler knows that a warp stays together.
  __device__ void fetch(const DeviceRows& rows, std::size_t tile, unsigned stage) const {
    fetch_columns(rows, tile, 0, program_.first_columns, stage);
    end_copies();
  }

  /// From now on its rows are those of a tile, fetched for `stage`. NULLs may be left for later.
  __device__ void start(std::size_t tile, unsigned stage) {
    place_ = first_place(tile);
    stage_ = stage * layout_.of_stage;
    without_nulls_ = program_.nulls_later;
  }
  __device__ std::size_t place() const { return place_; }

  /// Copies what the program's later part reads.
  __device__ void fetch_rest(const DeviceRows& rows, std::size_t tile) const {
    if (program_.first_columns >= program_.column_count) return;
    fetch_columns(rows, tile, program_.first_columns, program_.column_count, 0);
    end_copies();
    wait_for_copies<0>();
  }
  /// NULLs that were left.
  __device__ void take_nulls_left(const DeviceRows& rows, unsigned& valid) {
    if (!without_nulls_) return;
    without_nulls_ = false;
    for (int c = 0; c < program_.first_columns; ++c) valid &= valid_of(rows, program_.columns[c]);
  }

  /// A bit for each row where a column has no NULL.
  __device__ unsigned valid_of(const DeviceRows& rows, const StoredColumn& column) const {
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

  /// Returns the place of a column that is the operand.
  __device__ unsigned staged_at(unsigned column, unsigned where) const {
    const bool of_stage = column < static_cast<unsigned>(program_.first_columns);
    return where + (of_stage ? stage_ : 0);
  }
  __device__ uint4& word(unsigned where) const { return *reinterpret_cast<uint4*>(shared_ + where); }

  /// Takes the divisors of the next step, for a program that leaves the division for later; in the order of rows.
  __device__ void take_divisors(float (&divisors)[kRows]) const {
    const unsigned where = program_.steps[program_.first_steps].where + stage_;
#pragma unroll
    for (unsigned p = 0; p < kParts; ++p) {
      const uint4 staged = word(where + p * kWordStride);
      memcpy(divisors + p * kPartRows, &staged, sizeof(staged));
    }
  }

  /// Takes the staged values of a column of 32 bits, as `T`s, each made a number.
  template <class T, class Make>
  __device__ void take_staged(unsigned where, Numbers<Form>& values, Make make) const {
#pragma unroll
    for (unsigned p = 0; p < kParts; ++p) {
      const uint4 staged = word(where + p * kWordStride);
      T four[kPartRows];
      memcpy(four, &staged, sizeof(staged));
#pragma unroll
      for (unsigned i = 0; i < kPartRows; ++i) values.values[p * kPartRows + i] = make(four[i]);
    }
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

  /// Numbers of 64 bits as they lie there.
  __device__ void take_pairs(unsigned where, Numbers<Form>& values) const {
#pragma unroll
    for (unsigned w = 0; w < 2 * kParts; ++w) {
      const double2 two = pair(where + w * kWordStride);
      values.values[2 * w] = two.x;
      values.values[2 * w + 1] = two.y;
    }
  }
  __device__ void take_slot(unsigned slot, Numbers<Form>& values) const {
    take_pairs(slot, values);
    if constexpr (Form::kNulls) {
      values.valid = marks(slot) & Form::kAll;
      if constexpr (Form::kFails) values.failed = marks(slot) >> kRows;
    }
  }
  __device__ void save(unsigned to, const Numbers<Form>& number) const {
#pragma unroll
    for (unsigned w = 0; w < 2 * kParts; ++w) {
      pair(to + w * kWordStride) = {number.values[2 * w], number.values[2 * w + 1]};
    }
    if constexpr (Form::kFails) {
      marks(to) = number.valid | number.failed << kRows;
    } else if constexpr (Form::kNulls) {
      marks(to) = number.valid;
    }
  }

  __device__ void save(unsigned to, const Truths& truth) const {
    word(to).x = truth.bits | truth.valid << kRows | truth.failed << 2 * kRows;
  }
  __device__ Truths take_truth(unsigned from) const {
    const unsigned saved = word(from).x;
    return {saved & Form::kAll, saved >> kRows & Form::kAll, saved >> 2 * kRows & Form::kAll};
  }

 private:
  __device__ double2& pair(unsigned where) const { return *reinterpret_cast<double2*>(shared_ + where); }
  /// NULLs and failures of a slot's numbers.
  __device__ unsigned& marks(unsigned slot) const { return word(slot + 2 * kParts * kWordStride).x; }

  __device__ void fetch_columns(const DeviceRows& rows, std::size_t tile, int begin, int end, unsigned stage) const {
    const std::size_t place = first_place(tile);
    if (rows.ids == nullptr && tile + Form::kTile <= rows.n && layout_.narrow) {
      for (int c = begin; c < end; ++c) {
        fetch_part<4>(static_cast<const std::byte*>(program_.columns[c].values) + place * 4,
                      shared_ + layout_.first[c] + stage * layout_.of_stage);
      }
    } else if (rows.ids == nullptr && tile + Form::kTile <= rows.n) {
      for (int c = begin; c < end; ++c) {
        const StoredColumn& column = program_.columns[c];
        std::byte* const to = shared_ + layout_.first[c] + stage * layout_.of_stage;
        if (is_wide(column)) {
          fetch_part<8>(static_cast<const std::byte*>(column.values) + place * 8, to);
        } else {
          fetch_part<4>(static_cast<const std::byte*>(column.values) + place * 4, to);
        }
      }
    } else {
      for (int c = begin; c < end; ++c) fetch_some(rows, place, program_.columns[c], c, stage);
    }
  }

  __device__ static bool is_wide(const StoredColumn& column) {
    return column.stored == Stored::int64 || column.stored == Stored::uint64 || column.stored == Stored::float64;
  }

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

  __device__ void fetch_some(const DeviceRows& rows, std::size_t place, const StoredColumn& column, int c,
                             unsigned stage) const {
    const auto* const from = static_cast<const std::byte*>(column.values);
    const bool wide = is_wide(column);
#pragma unroll 1
    for (unsigned i = 0; i < kRows; ++i) {
      const std::size_t there = place_of(place, i);
      if (there >= rows.n) continue;
      const std::int64_t row = rows.at(there);
      std::byte* const to =
          shared_ + layout_.first[c] + stage * layout_.of_stage + (wide ? i / 2 : i / 4) * kWordStride;
      if (wide) {
        copy_ahead<8>(to + i % 2 * 8, from + row * 8);
      } else {
        copy_ahead<4>(to + i % 4 * 4, from + row * 4);
      }
    }
  }

  const StepProgram& program_;
  const MachineLayout& layout_;
  std::byte* shared_;  ///< this thread's first word
  std::size_t place_ = 0;
  unsigned stage_ = 0;  ///< offset of its columns
  bool without_nulls_ = false;
};

}  // namespace skyrank::kernels::cuda::expression
