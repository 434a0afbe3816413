#pragma once

#include <cstdint>
#include <functional>
#include <string>

// Counts operations, to tell work that grows with its input from work that grows with its square. The engine, the
// planner and the readers are compiled so that they report each comparison of integers to the fuzzer
// (skyrank_report_coverage), and here to a counter: a loop compares at least once a turn, whatever it does. Beside
// these the bytes that memcmp compares are counted, and the bytes that anything allocates, libraries too: a text that
// is put together by copies of itself asks for more and more. Not seen are memcpy and memmove, comparisons within
// yaml-cpp, Arrow and the C++ library's compiled part, and the kernels, which do not report.
namespace skyrank::tests {

/// Counts of the process so far, on all threads.
struct Operations {
  std::int64_t comparisons = 0;      ///< integers that were compared, and bytes that memcmp was asked for
  std::int64_t allocated_bytes = 0;  ///< freed ones count, too
};

Operations operations();

/// Doubles the size of some work four times, from `n` on, and expects that each doubling takes 2.5 times the operations
/// or less; linear work takes twice as many, and quadratic work four times. `work(n)` makes its input and returns what
/// is to be counted.
void expect_linear(const std::string& what, int n, const std::function<std::function<void()>(int)>& work);

/// Returns "piece(0), piece(1), ..." of n pieces.
std::string list(int n, const std::function<std::string(int)>& piece);

}  // namespace skyrank::tests
