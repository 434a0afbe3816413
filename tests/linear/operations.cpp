#include "tests/linear/operations.hpp"

#include <gtest/gtest.h>
#include <sanitizer/allocator_interface.h>
#include <sanitizer/common_interface_defs.h>

#include <atomic>
#include <cstddef>

namespace {

std::atomic<std::int64_t> comparisons{0};
std::atomic<std::int64_t> allocated_bytes{0};

void add(std::atomic<std::int64_t>& counter, std::int64_t count) {
  counter.fetch_add(count, std::memory_order_relaxed);
}

}  // namespace

// The compiler calls these before comparisons of two variables, of a constant and a variable, and of the cases of a
// switch, by the bytes of an operand. The runtime of the sanitizers, which calls the hooks below, has empty ones to
// replace.
extern "C" {
void __sanitizer_cov_trace_cmp1(std::uint8_t, std::uint8_t) { add(comparisons, 1); }
void __sanitizer_cov_trace_cmp2(std::uint16_t, std::uint16_t) { add(comparisons, 1); }
void __sanitizer_cov_trace_cmp4(std::uint32_t, std::uint32_t) { add(comparisons, 1); }
void __sanitizer_cov_trace_cmp8(std::uint64_t, std::uint64_t) { add(comparisons, 1); }
void __sanitizer_cov_trace_const_cmp1(std::uint8_t, std::uint8_t) { add(comparisons, 1); }
void __sanitizer_cov_trace_const_cmp2(std::uint16_t, std::uint16_t) { add(comparisons, 1); }
void __sanitizer_cov_trace_const_cmp4(std::uint32_t, std::uint32_t) { add(comparisons, 1); }
void __sanitizer_cov_trace_const_cmp8(std::uint64_t, std::uint64_t) { add(comparisons, 1); }
void __sanitizer_cov_trace_switch(std::uint64_t, std::uint64_t*) { add(comparisons, 1); }

void __sanitizer_weak_hook_memcmp(void*, const void*, const void*, std::size_t bytes, int) {
  add(comparisons, static_cast<std::int64_t>(bytes));
}
void __sanitizer_malloc_hook(const volatile void*, std::size_t bytes) {
  add(allocated_bytes, static_cast<std::int64_t>(bytes));
}
void __sanitizer_free_hook(const volatile void*) {}
}

namespace skyrank::tests {

Operations operations() { return {.comparisons = comparisons, .allocated_bytes = allocated_bytes}; }

void expect_linear(const std::string& what, int n, const std::function<std::function<void()>(int)>& work) {
  constexpr int kDoublings = 4;
  constexpr double kMaxGrowth = 2.5;
  const auto count = [&](int size) {
    const std::function<void()> counted = work(size);
    const Operations before = operations();
    counted();
    const Operations after = operations();
    return Operations{.comparisons = after.comparisons - before.comparisons,
                      .allocated_bytes = after.allocated_bytes - before.allocated_bytes};
  };
  count(n);  // what happens once in a process
  Operations half = count(n);
  // Fewer would mean that the code at work does not report.
  EXPECT_GE(half.comparisons, n) << what;
  for (int size = 2 * n; size <= n << kDoublings; size *= 2) {
    const Operations whole = count(size);
    EXPECT_LE(static_cast<double>(whole.comparisons), kMaxGrowth * static_cast<double>(half.comparisons))
        << what << ": comparisons for " << size / 2 << " and " << size;
    EXPECT_LE(static_cast<double>(whole.allocated_bytes), kMaxGrowth * static_cast<double>(half.allocated_bytes))
        << what << ": allocated bytes for " << size / 2 << " and " << size;
    half = whole;
  }
}

std::string list(int n, const std::function<std::string(int)>& piece) {
  std::string text;
  for (int i = 0; i < n; ++i) text += (i == 0 ? "" : ",") + piece(i);
  return text;
}

}  // namespace skyrank::tests
