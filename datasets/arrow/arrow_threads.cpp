#include "datasets/arrow/arrow_threads.hpp"

#include <arrow/io/interfaces.h>
#include <arrow/io/type_fwd.h>
#include <arrow/status.h>
#include <arrow/util/parallel.h>
#include <arrow/util/thread_pool.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <skyrank/error.hpp>
#include <system_error>
#include <thread>
#include <vector>

#include "engine/stop.hpp"
#include "engine/threads.hpp"

namespace skyrank::datasets {
namespace {

void check_pool(const arrow::Status& status) {
  if (!status.ok()) throw ResourceError("threads for reading files: " + status.message());
}

/// Has a pool start its threads, which happens when it has as many tasks at the same time.
void start(arrow::internal::Executor& pool, int threads) {
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  for (int i = 0; i < threads; ++i) check_pool(pool.Spawn([ended] { ended.wait(); }));
  end.set_value();
}

/// Starts the threads of both pools before a reader needs them; one that starts late may fail to.
void start_pools(int threads) {
  check_pool(arrow::SetCpuThreadPoolCapacity(threads));
  check_pool(arrow::io::SetIOThreadPoolCapacity(1));  // brings the bytes of CSV files; others have them in memory
  try {
    start(*arrow::internal::GetCpuThreadPool(), threads);
    start(*arrow::io::default_io_context().executor(), 1);
  } catch (const std::system_error& error) {
    throw ResourceError("threads for reading files cannot be started: " + error.code().message());
  }
}

}  // namespace

int prepare_arrow_threads(int threads) {
  static std::mutex mutex;
  static int started = 0;      // in Arrow's pool for the CPU
  static bool scarce = false;  // no more can be started
  static bool broken = false;  // Arrow counts a thread that did not start, and would wait for it
  if (threads == 1) return 1;
  const std::scoped_lock lock(mutex);
  if (broken) throw ResourceError("threads for reading files could not be started");
  const int wanted = threads > 0 ? threads : arrow::GetCpuThreadPoolCapacity();
  if (wanted > started && !scarce) {
    const StartableThreads startable = startable_threads(static_cast<std::size_t>(wanted) + 1);
    scarce = startable.scarce;
    const int possible = std::min(wanted, static_cast<int>(startable.count) - 1);
    if (possible < 2) return 1;
    broken = true;
    start_pools(possible);
    broken = false;
    started = possible;
  }
  if (started < 2) return 1;
  const int used = std::min(wanted, started);
  if (threads > 1) check_pool(arrow::SetCpuThreadPoolCapacity(used));
  return used;
}

bool arrow_tasks_have_ended() {
  constexpr std::chrono::milliseconds kPause{1};
  constexpr int kPauses = 100;
  for (int i = 0; i < kPauses; ++i) {
    if (arrow::internal::GetCpuThreadPool()->GetNumTasks() == 0) return true;
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

void run_each(bool threads, std::size_t count, const std::function<void(std::size_t)>& work) {
  const auto failures = std::make_shared<std::vector<std::exception_ptr>>(count);
  const auto guarded = [failures, work, stop = exec::current_stop()](int i) {
    const exec::StopScope heard(stop);
    try {
      work(static_cast<std::size_t>(i));
    } catch (...) {
      (*failures)[static_cast<std::size_t>(i)] = std::current_exception();
    }
    return arrow::Status::OK();
  };
  check_pool(arrow::internal::OptionalParallelFor(threads, static_cast<int>(count), guarded));
  for (const std::exception_ptr& failure : *failures) {
    if (failure != nullptr) std::rethrow_exception(failure);
  }
}

void require_reader_thread(const std::string& file) {
  if (startable_threads(1).count == 1) return;
  throw ResourceError(file + ": cannot be read: no thread can be started for it");
}

}  // namespace skyrank::datasets
