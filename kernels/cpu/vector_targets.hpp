#pragma once

// Leaves instruction sets out of the vector code of the file that includes this before Highway. Processors with SSSE3
// or SSE4 alone gain little over SSE2. Vectors of SVE and of RISC-V have no size that the compiler knows, so they
// cannot lie in arrays and classes, which is how the kernels keep them in registers; on ARM processors with SVE the
// code for NEON runs.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
