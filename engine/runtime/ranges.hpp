#pragma once

#include <cstdint>
#include <functional>

namespace skyrank::exec {

/// Calls body(begin, end) for consecutive ranges of at most `grain` that cover [0, n), in parallel inside the caller's
/// TBB arena. The ranges depend on n and grain alone: what is computed per range is the same for any number of threads.
void for_each_range(std::int64_t n, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body);

/// Rows a range of a simple loop covers: enough work to be worth a task.
inline constexpr std::int64_t kGrain = std::int64_t{1} << 15;

}  // namespace skyrank::exec
