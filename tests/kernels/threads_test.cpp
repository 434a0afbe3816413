#include "kernels/cpu/threads.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/build.hpp"

namespace skyrank::kernels {
namespace {

using skyrank::tests::kSanitized;

/// Leaves room for the stacks of a few threads only, as a limit of a container does.
void limit_address_space(rlim_t more_bytes) {
  std::size_t pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%zu", &pages) != 1) std::abort();
  std::fclose(file);
  const rlim_t bytes = pages * 4096 + more_bytes;
  const rlimit limit{bytes, bytes};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::abort();
}

/// All of a loop in an arena of many threads; a few of them run.
bool loop_runs(int threads) {
  const WorkerThreads workers(threads);
  std::atomic<int> sum{0};
  tbb::task_arena(workers.count()).execute([&] { tbb::parallel_for(0, 100'000, [&](int) { ++sum; }); });
  return sum == 100'000;
}

TEST(Threads, AllThatAreWantedCanBeStartedHere) {
  const StartableThreads startable = startable_threads(3);
  EXPECT_EQ(startable.count, 3U);
  EXPECT_EQ(WorkerThreads(1).count(), 1);
  EXPECT_EQ(WorkerThreads(0).count(), tbb::info::default_concurrency());
  EXPECT_EQ(WorkerThreads(7).count(), 7);
}

TEST(ThreadsDeathTest, NoMoreRunThanCanBeStarted) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer needs memory of its own for each thread";
  const auto in_little_room = [] {
    limit_address_space(64 << 20);  // TBB's stacks have 4 MB, those of std::thread 8
    const StartableThreads startable = startable_threads(200);
    if (!startable.scarce || startable.count >= 200) std::exit(2);
    if (WorkerThreads(200).count() >= 200) std::exit(3);
    std::exit(loop_runs(200) ? 0 : 4);
  };
  EXPECT_EXIT(in_little_room(), testing::ExitedWithCode(0), "");
}

TEST(ThreadsDeathTest, WithoutAnyThreadTheCallerDoesAll) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer needs memory of its own for each thread";
  const auto in_no_room = [] {
    limit_address_space(6 << 20);
    if (WorkerThreads(8).count() != 1) std::exit(2);
    std::exit(loop_runs(8) ? 0 : 3);
  };
  EXPECT_EXIT(in_no_room(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace skyrank::kernels
