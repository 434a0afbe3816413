#pragma once

#include <cstdint>

#include <skyrank/select.hpp>

namespace skyrank::exec {

/// Matrices of one shape, each so many bytes behind the one before.
struct MatrixBatches {
  MatrixView matrix;        ///< the first one
  std::int64_t count = 1;   ///< >= 0
  std::int64_t stride = 0;  ///< bytes from a matrix to the next
};

/// Selects as `select_k` on the host in all rows of all matrices, which the output has one after the other.
void select_in_batches(const MatrixBatches& batches, std::int64_t k, const SelectOutput& output,
                       const SelectOptions& options);

}  // namespace skyrank::exec
