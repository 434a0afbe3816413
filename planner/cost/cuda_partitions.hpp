#pragma once

#include "planner/cost/terms.hpp"

namespace skyrank::planner::cost {

/// Rankings of all partitions of a table at once (kernels/cuda/select/partitions.hpp).
struct PartitionShape {
  double partitions = 0;
  double rows = 0;       ///< rows of all partitions
  double k = 0;          ///< best rows of each
  double key_bytes = 4;  ///< bytes of one key: 4 or 8; narrower keys are widened to 4 before
};

/// One launch that reads the keys once, and the answers' way back. `bytes`: of temporary memory on the device.
Cost cuda_partitions(const PartitionShape& shape);

}  // namespace skyrank::planner::cost
