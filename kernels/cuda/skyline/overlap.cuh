#pragma once

#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/skyline/solve.cuh"

// Launches of which each is placed while the one before it ends.
namespace skyrank::kernels::cuda::skyline {

/// Grid::overlaps of a run's launches.
inline bool can_overlap(const SkylineRun& run) { return run.device.properties().overlaps_launches; }

/// At the start of a kernel that overlaps the one before it and is overlapped by the next.
__device__ inline void follow_previous() {
  wait_for_previous();
  let_next_start();
}

}  // namespace skyrank::kernels::cuda::skyline
