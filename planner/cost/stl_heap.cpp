#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

Cost stl_heap(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine) {
  const HeapWork work = heap_work(shape, statistics, machine);
  // An insert is a pop and a push, and at the end every rank is popped.
  const double steps = 2 * work.filled + (2 * work.inserts + work.filled) * work.levels;
  return {{{"start", 1, 0.35e-6},
           {"threads", threads_used(static_cast<double>(shape.n), 32768, machine) - 1, 5e-6},
           {"scan", passes(shape) * scan_weight(shape) * work.rows, 1e-9},
           {"heap-steps", rank_weight(shape) * steps, 4e-9},
           {"merge", rank_weight(shape) * sort_steps(work.held) / threads_used(work.held, 16384, machine), 4e-9}},
          2 * work.held * rank_bytes(shape)};
}

}  // namespace skyrank::planner::cost
