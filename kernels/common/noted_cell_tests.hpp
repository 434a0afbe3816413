#pragma once

#include <atomic>
#include <cstdint>

namespace skyrank::kernels {

/// Tests of a cell's mask in skyline runs of this process that count their work. Such a test settles all rows of a cell
/// of a grid at once, for all rows that share it; it is no mask test, which is of two rows. Whoever wants the tests
/// sets the counter to 0 before a run; runs at the same time share it.
inline std::atomic<std::uint64_t>& noted_cell_tests() {
  static std::atomic<std::uint64_t> tests = 0;
  return tests;
}

}  // namespace skyrank::kernels
