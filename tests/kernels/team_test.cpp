#include "kernels/cpu/team.hpp"

#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "kernels/common/problem.hpp"
#include "kernels/cpu/parallel.hpp"

namespace skyrank::kernels {
namespace {

constexpr int kThreads = 14;  // more than small machines have cores, and enough for several lanes

/// Calls body() in an arena of so many threads.
template <class Body>
void in_arena(int threads, const Body& body) {
  const tbb::global_control more(tbb::global_control::max_allowed_parallelism, kThreads);
  tbb::task_arena arena(threads);
  arena.execute(body);
}

/// How often parallel_for covers each of [0, n).
std::vector<int> coverage(std::size_t n, std::size_t grain) {
  std::vector<int> times(n);
  parallel_for(n, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) ++times[i];
  });
  return times;
}

TEST(Team, CoversEachRangeOnceInManyShortSteps) {
  for (const int threads : {1, 2, 6, kThreads}) {
    in_arena(threads, [] {
      const Team team;
      for (std::size_t step = 0; step < 3000; ++step) {
        const std::size_t n = step % 97;
        ASSERT_EQ(coverage(n, 1 + step % 5), std::vector<int>(n, 1));
      }
    });
  }
}

TEST(Team, EachStepSeesWhatTheOneBeforeWrote) {
  in_arena(kThreads, [] {
    const Team team;
    std::vector<std::size_t> values(500);
    for (std::size_t step = 0; step < 300; ++step) {
      const std::vector<std::size_t> before = values;
      parallel_for(values.size(), 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) values[i] = before[(i + 1) % before.size()] + 1;
      });
    }
    EXPECT_EQ(std::accumulate(values.begin(), values.end(), std::size_t{0}), 300 * values.size());
  });
}

TEST(Team, ThreadsThatWentAwayComeBack) {
  in_arena(kThreads, [] {
    const Team team;
    for (int step = 0; step < 20; ++step) {
      EXPECT_EQ(coverage(64, 1), std::vector<int>(64, 1));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
}

TEST(Team, ThrowsWhatABodyThrewAndGoesOn) {
  in_arena(kThreads, [] {
    const Team team;
    for (int step = 0; step < 50; ++step) {
      const auto fail = [](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          if (i % 10 == 3) throw std::runtime_error("a range");
        }
      };
      EXPECT_THROW(parallel_for(100, 1, fail), std::runtime_error);
      EXPECT_EQ(coverage(100, 1), std::vector<int>(100, 1));
    }
  });
}

TEST(Team, LoopsWithinARangeAreNotItsSteps) {
  in_arena(kThreads, [] {
    const Team team;
    std::atomic<std::size_t> sum{0};
    parallel_for(20, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        parallel_for(50, 1, [&](std::size_t first, std::size_t last) { sum += last - first; });
      }
    });
    EXPECT_EQ(sum, 1000u);
  });
}

TEST(Team, OneInAnother) {
  in_arena(kThreads, [] {
    const Team outer;
    {
      const Team inner;
      EXPECT_EQ(Team::current(), &inner);
      EXPECT_EQ(coverage(40, 1), std::vector<int>(40, 1));
    }
    EXPECT_EQ(Team::current(), &outer);
    EXPECT_EQ(coverage(40, 1), std::vector<int>(40, 1));
  });
  EXPECT_EQ(Team::current(), nullptr);
}

TEST(Team, ManyAtTheSameTimeInOneArena) {
  in_arena(kThreads, [] {
    tbb::parallel_for(0, 24, [](int) {
      const Team team;
      for (int step = 0; step < 40; ++step) EXPECT_EQ(coverage(30, 1), std::vector<int>(30, 1));
    });
  });
}

TEST(Team, SaysWhenItsGroupWasCancelled) {
  in_arena(kThreads, [] {
    tbb::task_group_context context;
    tbb::task_group group(context);
    std::atomic<bool> cancelled{false};
    group.run_and_wait([&] {
      const Team team;
      EXPECT_EQ(coverage(100, 1), std::vector<int>(100, 1));
      context.cancel_group_execution();
      try {
        (void)coverage(100, 1);
      } catch (const Cancelled&) {
        cancelled = true;
      }
    });
    EXPECT_TRUE(cancelled);
  });
}

TEST(Team, CountsOnTheCallersAccount) {
  in_arena(kThreads, [] {
    const auto account = std::make_shared<MemoryAccount>(std::size_t{1} << 30);
    const AccountScope counted(account.get());
    const Team team;
    std::vector<Vector<std::uint64_t>> kept(64);
    parallel_for(kept.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) kept[i] = Vector<std::uint64_t>(1000);
    });
    EXPECT_EQ(account->used(), 64 * 8000u);
    EXPECT_THROW(
        parallel_for(64, 1, [](std::size_t, std::size_t) { Vector<std::uint64_t> too_large(std::size_t{1} << 28); }),
        OverLimit);
  });
}

}  // namespace
}  // namespace skyrank::kernels
