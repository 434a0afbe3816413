#pragma once

#include <cstdint>

#include "kernels/cuda/skyline/bitmap/candidates.cuh"

namespace skyrank::kernels::cuda::skyline::bitmap {

/// Dimensions that reduce_groups is made for, at least d.
int padded_dims(int d);

/// A share of the comparisons of equal candidates on several GPUs.
struct ReduceShare {
  std::uint32_t member = 0;   ///< number of this GPU, from 0
  std::uint32_t members = 1;  ///< GPUs that share the work
};

/// Sets the `dominated` bits of all candidates that another one dominates; those that it sets on each of several GPUs
/// are these together. `rows.words` and `rows.guarded` are those of padded_dims(rows.d).
void reduce_groups(SkylineRun& run, const Candidates& rows, ReduceShare share = {});

}  // namespace skyrank::kernels::cuda::skyline::bitmap
