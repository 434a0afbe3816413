#pragma once

#include <cstdint>

#include "kernels/cuda/skyline/bitmap/candidates.cuh"

namespace skyrank::kernels::cuda::skyline::bitmap {

/// Dimensions that reduce_groups is made for, at least d.
int padded_dims(int d);

/// Sets the `dominated` bits of all candidates that another one dominates. `rows.words` and `rows.guarded` are those of
/// padded_dims(rows.d).
void reduce_groups(SkylineRun& run, const Candidates& rows);

}  // namespace skyrank::kernels::cuda::skyline::bitmap
