#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

double stl_heap(const kernels::TopKShape& shape, const Machine& machine) {
  constexpr double kStart = 0.35e-6;
  const HeapWork work = heap_work(shape, machine);
  // An insert is a pop and a push, and at the end every rank is popped.
  const double steps = 2 * work.filled + (2 * work.inserts + work.filled) * work.levels;
  return kStart + work.scan + rank_step(shape) * steps + work.merge;
}

}  // namespace skyrank::planner::cost
