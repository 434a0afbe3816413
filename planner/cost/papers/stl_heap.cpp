#include "planner/cost/common.hpp"
#include "planner/cost/papers/models.hpp"

namespace skyrank::planner::cost {

Cost stl_heap(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
              const Values& /*values*/) {
  const HeapWork work = heap_work(shape, statistics, machine);
  // An insert is a pop and a push, and at the end every rank is popped.
  const double steps = 2 * work.filled + (2 * work.inserts + work.filled) * work.levels;
  return heap_cost(shape, work, steps, machine);
}

}  // namespace skyrank::planner::cost
