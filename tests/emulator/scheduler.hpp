#pragma once

#include <cstddef>

#include "cuda_runtime.h"

namespace skyrank::emulator {

/// Runs the blocks of a grid one after another, x fastest, and the threads of a block by turns: each until it waits for
/// others. The configuration is one that the hardware takes. One grid at a time.
void run_grid(dim3 grid, dim3 block, std::size_t dynamic_shared_bytes, ThreadFunction thread);

}  // namespace skyrank::emulator
