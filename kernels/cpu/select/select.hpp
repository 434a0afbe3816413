#pragma once

#include <cstdint>

#include "kernels/common/problem.hpp"
#include "kernels/common/select/problem.hpp"

namespace skyrank::kernels {

/// Matrices of one shape, each so many bytes behind the one before.
struct SelectBatches {
  std::int64_t count = 1;
  std::int64_t stride = 0;
};

/// Returns true if `select_rows` takes so little time that it uses the calling thread alone.
bool is_small(const SelectProblem& problem, std::int64_t batches);

/// Selects in host memory, in all rows of all matrices: those of the first one, then those of the next. Answers are the
/// same for any number of threads, but for the order of those that need no order. Throws Cancelled.
void select_rows(const SelectProblem& problem, const SelectBatches& batches, const Context& context);

}  // namespace skyrank::kernels
