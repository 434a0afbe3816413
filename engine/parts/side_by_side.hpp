#pragma once

#include <cstddef>
#include <functional>

namespace skyrank::exec {

/// Runs `work` on this thread and on up to `threads - 1` others, fewer where the system has none left, until all have
/// returned. `work` must not throw.
void run_side_by_side(std::size_t threads, const std::function<void()>& work);

}  // namespace skyrank::exec
