#include "datasets/arrow_threads.hpp"

#include <arrow/io/interfaces.h>
#include <arrow/io/type_fwd.h>
#include <arrow/status.h>
#include <arrow/util/thread_pool.h>

#include <algorithm>
#include <future>
#include <mutex>
#include <optional>
#include <skyrank/error.hpp>
#include <system_error>

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

/// Pools of at most `wanted` threads, and one that brings bytes; returns how many they are.
int prepare_scarce_threads(int wanted, std::size_t startable) {
  const int threads = static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(wanted) + 1, startable)) - 1;
  if (threads < 2) return 1;
  check_pool(arrow::SetCpuThreadPoolCapacity(threads));
  check_pool(arrow::io::SetIOThreadPoolCapacity(1));
  try {
    start(*arrow::internal::GetCpuThreadPool(), threads);
    start(*arrow::io::default_io_context().executor(), 1);
  } catch (const std::system_error& error) {
    throw ResourceError("threads for reading files cannot be started: " + error.code().message());
  }
  return threads;
}

}  // namespace

int prepare_arrow_threads(int threads) {
  static std::mutex mutex;
  static std::optional<int> scarce;  // once threads are, pools keep what they have
  if (threads == 1) return 1;
  const std::scoped_lock lock(mutex);
  const int wanted = threads > 0 ? threads : arrow::GetCpuThreadPoolCapacity();
  if (scarce) return std::min(wanted, *scarce);
  const auto all = static_cast<std::size_t>(wanted + arrow::io::GetIOThreadPoolCapacity());
  const StartableThreads startable = startable_threads(all);
  if (startable.scarce) {
    scarce = prepare_scarce_threads(wanted, startable.count);
    return *scarce;
  }
  if (threads > 1) check_pool(arrow::SetCpuThreadPoolCapacity(threads));
  return wanted;
}

void require_csv_thread(const std::string& file) {
  if (startable_threads(1).count == 1) return;
  throw ResourceError(file + ": cannot be read: no thread can be started for it");
}

}  // namespace skyrank::datasets
