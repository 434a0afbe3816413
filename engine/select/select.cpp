#include <skyrank/select.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <string>

#include <skyrank/error.hpp>

#include "engine/select/select_batches.hpp"
#include "kernels/common/select/problem.hpp"
#include "kernels/cpu/caller_threads.hpp"
#include "kernels/cpu/select/select.hpp"
#include "kernels/cuda/runtime/failure.hpp"
#include "kernels/cuda/select/select.hpp"

namespace skyrank {
namespace {

using kernels::Element;
using kernels::SelectProblem;

static_assert(static_cast<int>(ElementType::int8) == static_cast<int>(Element::int8));
static_assert(static_cast<int>(ElementType::uint64) == static_cast<int>(Element::uint64));
static_assert(static_cast<int>(ElementType::float64) == static_cast<int>(Element::float64));

void check_size(std::int64_t size, const char* of) {
  if (size < 0) throw DataError(std::string("a matrix has 0 or more ") + of + ", not " + std::to_string(size));
}

void check_selection(const MatrixView& matrix, std::int64_t k, PositionType positions) {
  constexpr std::int64_t kMaxNarrow = std::int64_t{1} << 31;
  check_size(matrix.rows, "rows");
  check_size(matrix.columns, "columns");
  if (matrix.type > ElementType::float64) {
    throw DataError("there is no element type " + std::to_string(static_cast<int>(matrix.type)));
  }
  if (k < 0 || k > matrix.columns) {
    throw DataError("k is 0 to the number of elements of a row, which is " + std::to_string(matrix.columns) +
                    "; it is " + std::to_string(k));
  }
  if (positions == PositionType::int32 && matrix.columns > kMaxNarrow) {
    throw DataError("int32 positions count up to 2^31 columns, not " + std::to_string(matrix.columns) +
                    "; int64 ones count all");
  }
}

/// Returns true if there is nothing to select.
bool is_empty(const MatrixView& matrix, std::int64_t k) { return matrix.rows == 0 || k == 0; }

void check_pointers(const MatrixView& matrix, const SelectOutput& output) {
  if (matrix.values == nullptr) throw DataError("the matrix has elements, and its values are a null pointer");
  if (output.values == nullptr || output.positions == nullptr) {
    throw DataError("the output of a selection is a null pointer");
  }
}

SelectProblem problem_of(const MatrixView& matrix, std::int64_t k, const SelectOutput& output,
                         const SelectOptions& options) {
  SelectProblem problem;
  problem.values = matrix.values;
  problem.element = static_cast<Element>(matrix.type);
  problem.rows = matrix.rows;
  problem.columns = matrix.columns;
  problem.row_stride = matrix.row_stride;
  problem.column_stride = matrix.column_stride;
  problem.k = k;
  problem.largest = options.largest;
  problem.nan_first = options.nan == NanOrder::first;
  problem.sorted = options.sorted;
  problem.selected_values = output.values;
  problem.selected_positions = output.positions;
  problem.wide_positions = output.position_type == PositionType::int64;
  return problem;
}

}  // namespace

namespace exec {

void select_in_batches(const MatrixBatches& batches, std::int64_t k, const SelectOutput& output,
                       const SelectOptions& options) {
  check_selection(batches.matrix, k, output.position_type);
  if (is_empty(batches.matrix, k) || batches.count == 0) return;
  check_pointers(batches.matrix, output);
  const SelectProblem problem = problem_of(batches.matrix, k, output, options);
  kernels::Context context;
  context.stop = options.stop;
  try {
    const auto select = [&] { kernels::select_rows(problem, {batches.count, batches.stride}, context); };
    kernels::is_small(problem, batches.count) ? select() : kernels::on_caller_threads(options.threads, select);
  } catch (const kernels::Cancelled&) {
    throw CancelledError("the selection was cancelled");
  } catch (const std::bad_alloc&) {
    throw ResourceError("out of memory while selecting " + std::to_string(k) + " elements of each row");
  }
}

}  // namespace exec

inline namespace v0 {

std::string to_string(ElementType type) {
  switch (type) {
    case ElementType::int8: return "int8";
    case ElementType::int16: return "int16";
    case ElementType::int32: return "int32";
    case ElementType::int64: return "int64";
    case ElementType::uint8: return "uint8";
    case ElementType::uint16: return "uint16";
    case ElementType::uint32: return "uint32";
    case ElementType::uint64: return "uint64";
    case ElementType::float16: return "float16";
    case ElementType::bfloat16: return "bfloat16";
    case ElementType::float32: return "float32";
    case ElementType::float64: break;
  }
  return "float64";
}

void select_k(const MatrixView& matrix, std::int64_t k, const SelectOutput& output, const SelectOptions& options) {
  exec::select_in_batches({matrix, 1, 0}, k, output, options);
}

std::size_t select_k_workspace_bytes(const MatrixView& matrix, std::int64_t k, PositionType positions,
                                     const SelectOptions& options) {
  check_selection(matrix, k, positions);
  SelectOutput output;
  output.position_type = positions;
  try {
    return is_empty(matrix, k) ? 0 : kernels::cuda::select_workspace_bytes(problem_of(matrix, k, output, options));
  } catch (const kernels::cuda::Failure& failure) {
    throw DeviceError(failure.what());
  }
}

void select_k(const MatrixView& matrix, std::int64_t k, const SelectOutput& output, const SelectOptions& options,
              void* workspace, std::size_t workspace_bytes, void* stream) {
  check_selection(matrix, k, output.position_type);
  if (is_empty(matrix, k)) return;
  check_pointers(matrix, output);
  const SelectProblem problem = problem_of(matrix, k, output, options);
  try {
    const std::size_t given = workspace == nullptr ? 0 : workspace_bytes;
    const std::size_t needed = kernels::cuda::select_rows(problem, workspace, given, stream);
    if (given < needed) {
      throw DataError("this selection needs a workspace of " + std::to_string(needed) + " bytes, not " +
                      std::to_string(given));
    }
  } catch (const kernels::cuda::Failure& failure) {
    throw DeviceError(failure.what());
  }
}

}  // namespace v0
}  // namespace skyrank
