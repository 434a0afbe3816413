#include "engine/runtime/ranges.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>

#include "engine/runtime/thread_state.hpp"

namespace skyrank::exec {

void for_each_range(std::int64_t n, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (n <= 0) return;
  check(current_stop());
  if (n <= grain) return body(0, n);
  const ThreadState caller = ThreadState::current();
  tbb::parallel_for(std::int64_t{0}, (n + grain - 1) / grain, [&](std::int64_t range) {
    const ThreadScope as_caller(caller);
    check(caller.stop);
    body(range * grain, std::min(n, (range + 1) * grain));
  });
}

}  // namespace skyrank::exec
