#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/cuda/device/block.cuh"
#include "kernels/cuda/device/copy_ahead.cuh"
#include "kernels/cuda/device/shared.cuh"
#include "kernels/cuda/eval/machine_layout.cuh"
#include "kernels/cuda/eval/machine_memory.cuh"
#include "kernels/cuda/eval/row_machine.cuh"

// Programs over all rows of a table: blocks take tiles of them, and bring the next ones' values ahead.
namespace skyrank::kernels::cuda {

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
    machine.memory().fetch(rows, tiles.first + turn * tiles.stride, turn);
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
    machine.memory().fetch(rows, tile + ahead, turn == 0 ? turns - 1 : turn - 1);
    wait_for_turn(turns);
    machine.run(rows, tile, turn);
    body(tile, machine.memory().first_place(tile));
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
    body(machine, tile, place, machine.memory().present(rows, place));
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
