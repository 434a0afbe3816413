#pragma once

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <functional>
#include <limits>
#include <string>

// Counts operations, to tell work that grows with its input from work that grows with its square.
namespace skyrank::tests {

/// Counts the instructions that this thread executes in user mode, or the nanoseconds of the process where the kernel
/// lets nobody count instructions.
class OperationCounter {
 public:
  OperationCounter() {
    perf_event_attr wanted{};
    wanted.type = PERF_TYPE_HARDWARE;
    wanted.size = sizeof(wanted);
    wanted.config = PERF_COUNT_HW_INSTRUCTIONS;
    wanted.exclude_kernel = 1;
    wanted.exclude_hv = 1;
    descriptor_ = static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0));
  }
  ~OperationCounter() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OperationCounter(const OperationCounter&) = delete;
  OperationCounter& operator=(const OperationCounter&) = delete;

  bool counts_instructions() const { return descriptor_ >= 0; }

  std::int64_t now() const {
    std::int64_t count = 0;
    if (descriptor_ >= 0 && read(descriptor_, &count, sizeof(count)) == sizeof(count)) return count;
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }

 private:
  int descriptor_ = -1;
};

/// Doubles the size of some work four times, from `n` on, and expects that a doubling takes 2.5 times the operations
/// or less; linear work takes twice as many, and quadratic work four times. `work(n)` makes its input and returns what
/// is to be measured, which runs on this thread.
inline void expect_near_linear(const std::string& what, int n, const std::function<std::function<void()>(int)>& work) {
  constexpr int kDoublings = 4;
  constexpr double kMaxGrowth = 2.5;
  const OperationCounter counter;
  // Time is noisy: the least of several runs comes closest to the work. Of all doublings together the mean counts, as
  // a cache that becomes too small makes one of them dearer.
  const int runs = counter.counts_instructions() ? 1 : 3;
  const auto least = [&](int size) {
    const std::function<void()> measured = work(size);
    std::int64_t count = std::numeric_limits<std::int64_t>::max();
    for (int run = 0; run < runs; ++run) {
      const std::int64_t begin = counter.now();
      measured();
      count = std::min(count, counter.now() - begin);
    }
    return static_cast<double>(count);
  };
  const double first = least(n);
  const double last = least(n << kDoublings);
  const double growth = std::pow(last / first, 1.0 / kDoublings);
  EXPECT_LE(growth, kMaxGrowth) << what << ": " << first << (counter.counts_instructions() ? " instructions" : " ns")
                                << " for " << n << ", " << last << " for " << (n << kDoublings);
}

}  // namespace skyrank::tests
