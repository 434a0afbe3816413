#include "engine/runtime/admission.hpp"

#include <gtest/gtest.h>
#include <oneapi/tbb/parallel_for.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/runtime/timer.hpp"
#include "kernels/common/problem.hpp"

namespace skyrank::exec {
namespace {

using namespace std::chrono_literals;

/// Work that goes on until the test says so, on all threads of the arena.
class Busy {
 public:
  void operator()() {
    ++begun;
    tbb::parallel_for(0, tbb::this_task_arena::max_concurrency(), [this](int) {
      while (!end) std::this_thread::sleep_for(1ms);
    });
  }

  std::atomic<int> begun{0};
  std::atomic<bool> end{false};
};

template <class Condition>
bool wait_for(const Condition& condition) {
  const auto until = std::chrono::steady_clock::now() + 30s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

class AdmissionTo : public testing::TestWithParam<int> {
 protected:
  tbb::task_arena arena_{GetParam()};
  Admission admission_{arena_};
};

TEST_P(AdmissionTo, AllWorkIsDoneAndNoMoreAtATimeThanThereAreThreads) {
  constexpr int kCallers = 12;
  constexpr int kCalls = 50;
  std::atomic<int> done = 0;
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::vector<std::jthread> callers;
  for (int c = 0; c < kCallers; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < kCalls; ++i) {
        admission_.run({}, [&] {
          const int now = ++inside;
          for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) continue;
          std::this_thread::sleep_for(20us);
          --inside;
          ++done;
        });
      }
    });
  }
  callers.clear();
  EXPECT_EQ(done, kCallers * kCalls);
  EXPECT_LE(most, GetParam());
}

TEST_P(AdmissionTo, WhoWaitsHearsOfAStop) {
  const int callers = 2 * GetParam() + 1;
  Busy busy;
  std::stop_source source;
  std::atomic<int> cancelled = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < callers; ++i) {
    threads.emplace_back([&] {
      try {
        admission_.run(source.get_token(), std::ref(busy));
      } catch (const kernels::Cancelled&) {
        ++cancelled;
      }
    });
  }
  EXPECT_TRUE(wait_for([&] { return busy.begun > 0; }));
  std::this_thread::sleep_for(20ms);
  source.request_stop();
  // The scheduler decides which callers get a place, and whether a worker comes in time to take another's work.
  EXPECT_TRUE(wait_for([&] { return busy.begun + cancelled == callers; })) << "the engine's threads are still busy";
  EXPECT_LE(busy.begun, GetParam());
  busy.end = true;
  threads.clear();
}

TEST_P(AdmissionTo, ErrorsReachTheCallerWhoseWorkItWas) {
  std::atomic<int> caught = 0;
  std::vector<std::jthread> callers;
  for (int c = 0; c < 8; ++c) {
    callers.emplace_back([&, c] {
      for (int i = 0; i < 50; ++i) {
        try {
          admission_.run({}, [&] {
            std::this_thread::sleep_for(10us);
            throw std::runtime_error(std::to_string(c));
          });
        } catch (const std::runtime_error& error) {
          if (error.what() == std::to_string(c)) ++caught;
        }
      }
    });
  }
  callers.clear();
  EXPECT_EQ(caught, 8 * 50);
}

INSTANTIATE_TEST_SUITE_P(Threads, AdmissionTo, testing::Values(1, 2, 4));

TEST(Admission, AStopThatCameBeforeEndsACallAtOnce) {
  tbb::task_arena arena(2);
  Admission admission(arena);
  std::stop_source source;
  source.request_stop();
  bool begun = false;
  EXPECT_THROW(admission.run(source.get_token(), [&] { begun = true; }), kernels::Cancelled);
  EXPECT_FALSE(begun);
}

TEST(Timer, RequestsStopsInTheOrderOfTheirTimes) {
  Timer timer;
  const auto now = Timer::Clock::now();
  std::stop_source late;
  std::stop_source never;
  std::stop_source soon;
  const Timer::Alarm first(timer, now + 600ms, late);
  const Timer::Alarm third(timer, now + 20ms, soon);
  { const Timer::Alarm second(timer, now + 500ms, never); }
  EXPECT_TRUE(wait_for([&] { return soon.stop_requested(); }));
  EXPECT_GE(Timer::Clock::now(), now + 20ms);
  EXPECT_TRUE(wait_for([&] { return late.stop_requested(); }));
  EXPECT_GE(Timer::Clock::now(), now + 600ms);
  EXPECT_FALSE(never.stop_requested());
}

}  // namespace
}  // namespace skyrank::exec
