#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

Cost heap(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
          const Values& /*values*/) {
  const HeapWork work = heap_work(shape, statistics, machine);
  // Making the heap takes about two steps a rank, each insert one a level.
  const double steps = 2 * work.filled + work.inserts * work.levels;
  return heap_cost(shape, work, steps, machine);
}

}  // namespace skyrank::planner::cost
