#include "planner/cost/cuda_partitions.hpp"

#include "planner/cost/cuda_common.hpp"

namespace skyrank::planner::cost {

// Fitted to times of an H200: 4,096 partitions of 65,536 keys take 1.2 times as
// long as reading these, 262,144 of 256 with k = 100 some 0.64 ms longer than that, 67,108 of 1,000 0.25 ms.
Cost cuda_partitions(const PartitionShape& shape) {
  constexpr double kRead = 1.2;
  constexpr double kOfAnswer = 0.025e-9;  // seconds for a row of the answer, which is put in order
  constexpr double kRowId = 8;
  constexpr double kPartition = 16;  // bytes that say where a partition lies
  const double answers = shape.partitions * shape.k;
  return {{{"start", 1, kCudaStart},
           {"bytes-sent", kPartition * shape.partitions, kTransferByte},
           {"bytes-fetched", kRowId * answers, kTransferByte},
           {"launches", 1, kCudaLaunch},
           {"bytes", kRead * shape.rows * shape.key_bytes + kRowId * answers, kCudaByte},
           {"answers", answers, kOfAnswer}},
          kPartition * shape.partitions + kRowId * answers};
}

}  // namespace skyrank::planner::cost
