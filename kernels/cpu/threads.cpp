#include "kernels/cpu/threads.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <tbb/cache_aligned_allocator.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace skyrank::kernels {
namespace {

using Clock = std::chrono::steady_clock;

bool address_space_is_limited() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/// Threads that do nothing but exist.
class IdleThreads {
 public:
  explicit IdleThreads(std::size_t wanted) : ids_(wanted) {
    threads_.reserve(wanted);
    try {
      for (std::atomic<pid_t>& id : ids_) threads_.emplace_back([this, &id] { idle(id); });
    } catch (const std::system_error&) {  // no more can be started, which is what was asked
    } catch (const std::bad_alloc&) {
    }
  }
  ~IdleThreads() {
    end_ = true;
    end_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    for (std::size_t i = 0; i < threads_.size(); ++i) wait_until_gone(ids_[i]);
  }
  IdleThreads(const IdleThreads&) = delete;
  IdleThreads& operator=(const IdleThreads&) = delete;

  std::size_t count() const { return threads_.size(); }

 private:
  void idle(std::atomic<pid_t>& id) {
    id = static_cast<pid_t>(syscall(SYS_gettid));
    end_.wait(false);
  }

  /// A joined thread counts against limits until the kernel has let go of it, a little later.
  static void wait_until_gone(pid_t id) {
    constexpr auto kPatience = std::chrono::milliseconds(100);
    const auto begin = Clock::now();
    while (syscall(SYS_tgkill, getpid(), id, 0) == 0 && Clock::now() - begin < kPatience) std::this_thread::yield();
  }

  std::vector<std::atomic<pid_t>> ids_;
  std::vector<std::thread> threads_;
  std::atomic<bool> end_{false};
};

/// Keeps all threads that TBB may use busy at the same time, so that it has to start its workers.
void start_workers() {
  constexpr auto kPatience = std::chrono::seconds(1);
  const auto begin = Clock::now();
  const auto threads =
      static_cast<int>(tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
  std::atomic<int> come{0};
  tbb::task_arena(threads).execute([&] {
    const auto wait_for_all = [&](int) {
      ++come;
      while (come < threads && Clock::now() - begin < kPatience) std::this_thread::yield();
    };
    tbb::parallel_for(0, threads, wait_for_all, tbb::simple_partitioner{});
  });
}

/// Makes TBB's allocator get its memory from the system, and throws where there is none. TBB 2022 allocates what arenas
/// share while it holds locks that throwing an exception waits for, so it must not be the first to find none.
void start_allocator() {
  constexpr std::size_t kMoreThanAnArenaTakes = 64 << 10;
  tbb::cache_aligned_allocator<char> allocator;
  allocator.deallocate(allocator.allocate(kMoreThanAnArenaTakes), kMoreThanAnArenaTakes);
}

}  // namespace

StartableThreads startable_threads(std::size_t wanted) {
  static std::atomic<std::size_t> known{0};
  const bool limited = address_space_is_limited();
  if (wanted <= known && !limited) return {wanted, false};
  const std::size_t count = IdleThreads(wanted).count();
  if (count > known) known = count;
  return {count, limited || count < wanted};
}

WorkerThreads::WorkerThreads(int threads) : count_(threads > 0 ? threads : tbb::info::default_concurrency()) {
  start_allocator();
  if (count_ == 1) return;
  const auto workers = static_cast<std::size_t>(count_ - 1);
  // File readers that run at the same time start as many threads again, so twice the number has to be startable.
  const StartableThreads startable = startable_threads(2 * workers + 2);
  if (startable.scarce) count_ = 1 + static_cast<int>(std::min(workers, startable.count / 2));
  // TBB starts no more threads than there are cores, unless told to.
  if (startable.scarce || count_ > tbb::info::default_concurrency()) {
    limit_.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(count_));
  }
  if (startable.scarce) start_workers();
}

}  // namespace skyrank::kernels
