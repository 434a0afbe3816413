#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/copy_ahead.cuh"
#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/expression/machine_layout.cuh"
#include "kernels/cuda/expression/machine_memory.cuh"
#include "kernels/cuda/expression/row_machine.cuh"

// Programs over all rows of a table: blocks take tiles of them, and copy the next ones' values ahead.
namespace skyrank::kernels::cuda::expression {

/// Waits for the oldest of `stages` stages that are being copied.
__device__ inline void wait_for_stage(unsigned stages) {
  switch (stages) {
    case 2: return wait_for_copies<1>();
    case 3: return wait_for_copies<2>();
    default: return wait_for_copies<3>();
  }
}

/// A block's tiles, by their numbers in the order that all blocks take them in: every `stride`-th from `first` on,
/// below `end`. The `last` tiles of `all` come before the others, the very last one first: the first blocks start
/// before the others.
struct MachineTiles {
  unsigned first;
  unsigned stride;
  unsigned end;
  unsigned last = 0;
  unsigned all = 0;

  /// Returns the first row of the tile of a number.
  template <class Form>
  __device__ std::size_t begin(unsigned number) const {
    return std::size_t{number < last ? all - 1 - number : number - last} * Form::kTile;
  }
};

/// Returns the tiles of this block if all blocks of a grid share them.
template <class Form>
__device__ MachineTiles tiles_of_all_blocks(const DeviceRows& rows) {
  return {blockIdx.x, gridDim.x, static_cast<unsigned>((rows.n + Form::kTile - 1) / Form::kTile)};
}

/// Begins to copy the rows of one of a block's tiles into a stage, none after the last one.
template <class Form>
__device__ void fetch_tile(const RowMachine<Form>& machine, const DeviceRows& rows, const MachineTiles& tiles,
                           unsigned number, unsigned stage) {
  if (number < tiles.end)
    machine.memory().fetch(rows, tiles.begin<Form>(number), stage);
  else
    end_copies();  // a stage is waited for by how many have begun after it
}

/// Begins to copy a block's first rows.
template <class Form>
__device__ void fetch_first(const RowMachine<Form>& machine, const MachineLayout& layout, const DeviceRows& rows,
                            const MachineTiles& tiles) {
#pragma unroll 1
  for (unsigned stage = 0; stage + 1 < layout.stages; ++stage) {
    fetch_tile(machine, rows, tiles, tiles.first + stage * tiles.stride, stage);
  }
}

/// Runs the first part of the program for every row, `body(tile, place)` for those of a thread in a tile, the first of
/// which is at `place`; not all may be there. All lanes of a warp take part. The first rows are on their way.
template <class Form, class Body>
__device__ void for_rows_fetched(RowMachine<Form>& machine, const MachineLayout& layout, const DeviceRows& rows,
                                 const MachineTiles& tiles, Body body) {
  const unsigned stages = layout.stages;
  const unsigned ahead = (stages - 1) * tiles.stride;
  unsigned stage = 0;
  for (unsigned number = tiles.first; number < tiles.end; number += tiles.stride) {
    fetch_tile(machine, rows, tiles, number + ahead, stage == 0 ? stages - 1 : stage - 1);
    wait_for_stage(stages);
    const std::size_t tile = tiles.begin<Form>(number);
    machine.run(rows, tile, stage);
    body(tile, machine.memory().first_place(tile));
    stage = stage + 1 == stages ? 0 : stage + 1;
  }
}

/// The same from the beginning, with `body(machine, tile, place, present)`: bits of `present` say which rows are there.
template <class Form, class Body>
__device__ void for_rows_together(const StepProgram& program, const MachineLayout& layout, const DeviceRows& rows,
                                  Body body) {
  RowMachine<Form> machine(program, layout, dynamic_shared<uint4>());
  const MachineTiles tiles = tiles_of_all_blocks<Form>(rows);
  fetch_first(machine, layout, rows, tiles);
  for_rows_fetched(machine, layout, rows, tiles, [&](std::size_t tile, std::size_t place) {
    body(machine, tile, place, machine.memory().present(rows, place));
  });
}

/// Four bits of each lane as words of a bit a row.
__device__ inline void store_bits(unsigned* words, std::size_t place, std::size_t n, unsigned four) {
  const unsigned lane = threadIdx.x % kLanes;
  unsigned word = four << 4 * (lane % 8);
  for (int distance = 1; distance < 8; distance *= 2) word |= __shfl_xor_sync(kAllLanes, word, distance);
  if (lane % 8 == 0 && place < n) words[place / 32] = word;
}

}  // namespace skyrank::kernels::cuda::expression
