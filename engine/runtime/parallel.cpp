#include "engine/runtime/parallel.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "engine/runtime/thread_state.hpp"

namespace skyrank::exec {

void for_chunks(std::int64_t n, const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& work) {
  const std::int64_t chunks = num_chunks(n);
  check(current_stop());
  if (chunks == 1) return work(0, 0, n);
  std::atomic<std::int64_t> first_failed{chunks};
  std::exception_ptr error;
  std::mutex mutex;
  const ThreadState caller = ThreadState::current();
  tbb::parallel_for(std::int64_t{0}, chunks, [&](std::int64_t chunk) {
    const ThreadScope as_caller(caller);
    if (chunk > first_failed.load(std::memory_order_relaxed)) return;
    try {
      check(caller.stop);
      const std::int64_t begin = chunk * kChunkRows;
      work(chunk, begin, std::min(n, begin + kChunkRows));
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (chunk < first_failed.load(std::memory_order_relaxed)) {
        first_failed.store(chunk, std::memory_order_relaxed);
        error = std::current_exception();
      }
    }
  });
  if (error != nullptr) std::rethrow_exception(error);
}

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
