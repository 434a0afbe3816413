#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

double heap(const kernels::TopKShape& shape, const Machine& machine) {
  constexpr double kStart = 0.35e-6;
  const HeapWork work = heap_work(shape, machine);
  // Making the heap takes about two steps a rank, each insert one a level.
  const double steps = 2 * work.filled + work.inserts * work.levels;
  return kStart + work.scan + rank_step(shape) * steps + work.merge;
}

}  // namespace skyrank::planner::cost
