#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "kernels/common/problem.hpp"

// Work that runs which count their work note for the whole process, beside that of their solutions. Whoever wants it
// resets it before a run; runs at the same time share it.
namespace skyrank::kernels {

/// Tests of a row's mask with that of a cell in skyline runs, which settle all rows of the cell at once. Rows that
/// share such a test count one each, as they do where each has a thread of its own. It is no mask test, which is of two
/// rows.
inline std::atomic<std::uint64_t>& noted_cell_tests() {
  static std::atomic<std::uint64_t> tests = 0;
  return tests;
}

/// Stages of the last top-k run, of algorithms that tell them.
inline std::vector<StageWork>& noted_stages() {
  static std::vector<StageWork> stages;
  return stages;
}

}  // namespace skyrank::kernels
