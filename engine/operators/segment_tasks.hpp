#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/runtime/query_memory.hpp"

namespace skyrank::exec {

/// Consecutive segments that one task answers.
struct SegmentTask {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Splits segments, given by their bounds, into tasks of several thousand rows (more where one segment has more). The
/// split depends on the bounds alone.
std::vector<SegmentTask> segment_tasks(const Vector<std::int64_t>& bounds);

/// Calls body with every task's index, in parallel.
void for_each_task(const std::vector<SegmentTask>& tasks, const std::function<void(std::size_t)>& body);

}  // namespace skyrank::exec
