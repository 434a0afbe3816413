#include "engine/operators/segment_tasks.hpp"

#include "engine/runtime/parallel.hpp"

namespace skyrank::exec {

std::vector<SegmentTask> segment_tasks(const Vector<std::int64_t>& bounds) {
  constexpr std::int64_t kRowsPerTask = 8192;
  const auto segments = static_cast<std::int64_t>(bounds.size()) - 1;
  std::vector<SegmentTask> tasks;
  for (std::int64_t begin = 0; begin < segments;) {
    std::int64_t end = begin + 1;
    while (end < segments && bounds[end + 1] - bounds[begin] <= kRowsPerTask) ++end;
    tasks.push_back({begin, end});
    begin = end;
  }
  return tasks;
}

void for_each_task(const std::vector<SegmentTask>& tasks, const std::function<void(std::size_t)>& body) {
  for_each_range(static_cast<std::int64_t>(tasks.size()), 1,
                 [&](std::int64_t task, std::int64_t) { body(static_cast<std::size_t>(task)); });
}

}  // namespace skyrank::exec
