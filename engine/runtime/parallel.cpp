#include "engine/runtime/parallel.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "engine/stop.hpp"
#include "kernels/common/memory.hpp"
#include "kernels/cuda/runtime/scope.hpp"

namespace skyrank::exec {

void for_chunks(std::int64_t n, const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& work) {
  const std::int64_t chunks = num_chunks(n);
  const std::stop_token& stop = current_stop();
  check(stop);
  if (chunks == 1) return work(0, 0, n);
  std::atomic<std::int64_t> first_failed{chunks};
  std::exception_ptr error;
  std::mutex mutex;
  kernels::MemoryAccount* const account = kernels::current_account();
  const kernels::cuda::SelectedDevice device = kernels::cuda::selected_device();
  tbb::parallel_for(std::int64_t{0}, chunks, [&](std::int64_t chunk) {
    const StopScope stops(stop);
    const kernels::AccountScope counted(account);
    const kernels::cuda::DeviceScope on_device(device);
    if (chunk > first_failed.load(std::memory_order_relaxed)) return;
    try {
      check(stop);
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

}  // namespace skyrank::exec
