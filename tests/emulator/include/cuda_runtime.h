#pragma once

// Stands for CUDA's header of this name: kernels compile as plain C++ and run on the CPU (tests/emulator/README.md).

// There is no __noinline__, as the standard library spells an attribute like that: kernels write
// __attribute__((noinline)), which is the same to nvcc.

#define __host__
#define __device__
#define __global__
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline __attribute__((always_inline))
/// Blocks run one after another, so that one copy serves them all.
#define __shared__ static

#include "cuda_runtime_api.h"
#include "emulator/arithmetic.hpp"
#include "emulator/atomics.hpp"
#include "emulator/launch.hpp"
#include "emulator/memory.hpp"
#include "emulator/threads.hpp"
#include "vector_functions.h"
