#include "planner/cost/cuda_partitions.hpp"

#include <algorithm>

#include "planner/cost/cuda_common.hpp"

namespace skyrank::planner::cost {

// Fitted to times of an H200: 4,096 partitions of 65,536 keys take 1.2 times as
// long as reading these, 262,144 of 256 with k = 100 some 0.64 ms longer than that, 67,108 of 1,000 0.25 ms.
Cost cuda_partitions(const PartitionShape& shape) {
  constexpr double kRead = 1.2;
  constexpr double kOfAnswer = 0.025e-9;  // seconds for a row of the answer, which is put in order
  constexpr double kRowId = 8;
  const double key = std::max(4.0, shape.key_bytes);
  const double widened = key > shape.key_bytes ? shape.rows * (shape.key_bytes + key) : 0;
  const double answers = shape.partitions * shape.k;
  return {{{"start", 1, kCudaStart},
           {"bytes-sent", kRowId * (shape.partitions + 1), kTransferByte},
           {"bytes-fetched", kRowId * answers, kTransferByte},
           {"launches", widened > 0 ? 2.0 : 1.0, kCudaLaunch},
           {"bytes", kRead * shape.rows * key + widened + kRowId * answers, kCudaByte},
           {"answers", answers, kOfAnswer}},
          kRowId * (shape.partitions + 1 + answers) + (widened > 0 ? shape.rows * key : 0)};
}

}  // namespace skyrank::planner::cost
