#include "kernels/cuda/select/select.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/map.cuh"
#include "kernels/cuda/select/by_sort.hpp"
#include "kernels/cuda/select/least_of_long_rows.hpp"
#include "kernels/cuda/select/least_of_rows.hpp"
#include "kernels/cuda/select/numbers.cuh"
#include "kernels/cuda/select/policy.hpp"
#include "kernels/cuda/select/rows.hpp"
#include "kernels/cuda/select/workspace.hpp"

// Rows are divided into parts, so that a few long ones fill the device as many short ones do, and those of more than
// 2^30 columns into stretches that several blocks read together. The k best of each part or stretch are the rows of a
// smaller matrix, from which the same kernels select again, until a row is one part. Parts follow each other in the
// order of columns and leave equal numbers in that order, so ties go to the lowest column at each level. Example: 1 row
// of 10^6 columns, k = 10: 122 parts of 8,196 or 8,197 columns leave a row of 1,220, whose 1 part leaves the answer.
namespace skyrank::kernels::cuda {
namespace select {
namespace {

template <class Stored>
__global__ void __launch_bounds__(kMapThreads)
    pack(const char* values, std::size_t rows, std::size_t columns, std::int64_t row_stride, std::int64_t column_stride,
         bool by_column, Stored* packed) {
  for_all(rows * columns, [&](std::size_t i) {
    const std::size_t row = by_column ? i % rows : i / columns;
    const std::size_t column = by_column ? i / rows : i % columns;
    const char* const from =
        values + static_cast<std::int64_t>(row) * row_stride + static_cast<std::int64_t>(column) * column_stride;
    packed[row * columns + column] = *reinterpret_cast<const Stored*>(from);
  });
}

/// Returns true if columns have gaps between them, or rows do not follow each other upwards by whole elements.
bool is_spread(const SelectProblem& problem) {
  const auto width = static_cast<std::int64_t>(bytes_of(problem.element));
  const bool columns_are = problem.columns > 1 && problem.column_stride != width;
  return columns_are || (problem.rows > 1 && (problem.row_stride < 0 || problem.row_stride % width != 0));
}

/// Returns the problem over a copy of its matrix without gaps.
template <class Stored>
SelectProblem packed(const SelectProblem& problem, Workspace& workspace, const DeviceStream& device) {
  const auto rows = static_cast<std::size_t>(problem.rows);
  const auto columns = static_cast<std::size_t>(problem.columns);
  auto* const copy = workspace.take<Stored>(rows * columns);
  SelectProblem same = problem;
  same.values = copy;
  same.column_stride = sizeof(Stored);
  same.row_stride = problem.columns * same.column_stride;
  if (workspace.counts()) return same;
  // Neighbouring threads read neighbours.
  const bool by_column = std::abs(problem.column_stride) > std::abs(problem.row_stride);
  launch("pack", pack<Stored>, few_each(rows * columns, device), device.stream,
         static_cast<const char*>(problem.values), rows, columns, problem.row_stride, problem.column_stride, by_column,
         copy);
  return same;
}

template <class Stored>
RowParts<Stored> rows_of(const SelectProblem& problem) {
  return {.numbers = static_cast<const Stored*>(problem.values),
          .rows = static_cast<std::size_t>(problem.rows),
          .columns = static_cast<std::size_t>(problem.columns),
          .stride = static_cast<std::size_t>(problem.row_stride) / sizeof(Stored)};
}

template <class Stored>
Selected<Stored> wanted_of(const SelectProblem& problem) {
  return {.values = static_cast<Stored*>(problem.selected_values),
          .columns = {problem.selected_positions, problem.wide_positions}};
}

/// Returns the blocks that read each row together; 0 where they do not.
template <class Stored>
std::size_t blocks_of(const RowParts<Stored>& rows, std::size_t k, const DeviceStream& device) {
  if (rows.columns > LongPolicy::kMaxColumns) return 0;
  return LongPolicy::blocks_of(rows.rows, rows.columns, k, sizeof(Stored), device.properties.multiprocessors);
}

/// The columns of rows of which each stretch is read by several blocks.
struct LongStretches {
  std::size_t count = 0;  ///< 0 where rows are not that long
  std::size_t columns = 0;

  template <class Stored>
  LongStretches(const RowParts<Stored>& rows, std::size_t k, const DeviceStream& device) {
    if (rows.columns <= LongPolicy::kMaxColumns) return;
    count = (rows.columns + LongPolicy::kMaxColumns - 1) / LongPolicy::kMaxColumns;
    columns = (rows.columns + count - 1) / count;
    const std::size_t last = rows.columns - (count - 1) * columns;
    for (const std::size_t size : {columns, last}) {
      if (blocks_of<Stored>({.rows = rows.rows, .columns = size}, k, device) == 0) count = 0;
    }
  }
};

/// Selects the k best of each stretch of each row. Returns these as rows, and their columns as the answer's `before`.
template <class N>
RowParts<typename N::Stored> best_of_stretches(const RowParts<typename N::Stored>& rows, const LongStretches& stretches,
                                               const KeyOrder<typename N::Key>& order, std::size_t k,
                                               RowAnswer<typename N::Stored>& answer, Workspace& workspace,
                                               const DeviceStream& device) {
  using Stored = typename N::Stored;
  const std::size_t stride = stretches.count * k;
  auto* const values = workspace.take<Stored>(rows.rows * stride);
  const Positions positions{workspace.take<std::int64_t>(rows.rows * stride), true};
  const Workspace free = workspace;
  for (std::size_t i = 0; i < stretches.count; ++i) {
    const std::size_t first = i * stretches.columns;
    const RowParts<Stored> stretch{.numbers = rows.numbers + first,
                                   .rows = rows.rows,
                                   .columns = std::min(stretches.columns, rows.columns - first),
                                   .stride = rows.stride};
    RowAnswer<Stored> best;
    best.stride = stride;
    best.first_column = static_cast<std::int64_t>(first);
    // Without memory there are no places to begin at.
    if (!workspace.counts()) best.selected = {values + i * k, positions.from(i * k)};
    Workspace own = free;
    least_of_long_rows<N>(stretch, blocks_of(stretch, k, device), order, k, best, own, device);
    workspace.cover(own);
  }
  answer.before = positions;
  return {.numbers = values, .rows = rows.rows, .columns = stride, .stride = stride};
}

template <class N>
void select_by_parts(const SelectProblem& problem, RowParts<typename N::Stored> rows,
                     RowAnswer<typename N::Stored> answer, const KeyOrder<typename N::Key>& order, Workspace& workspace,
                     const DeviceStream& device) {
  using Stored = typename N::Stored;
  const auto k = static_cast<std::size_t>(problem.k);
  const bool wide = problem.columns > std::numeric_limits<std::int32_t>::max();
  for (bool is_last = false; !is_last;) {
    const std::size_t blocks = blocks_of(rows, k, device);
    if (blocks > 0) {
      answer.selected = wanted_of<Stored>(problem);
      answer.stride = k;
      return least_of_long_rows<N>(rows, blocks, order, k, answer, workspace, device);
    }
    rows.parts = PartPolicy::parts_of(rows.rows, rows.columns, k, device.properties.multiprocessors);
    is_last = rows.parts == 1;
    answer.selected = wanted_of<Stored>(problem);
    answer.stride = k;
    if (!is_last) {
      const std::size_t size = rows.count() * k;
      answer.selected.values = workspace.take<Stored>(size);
      answer.selected.columns.wide = wide;
      answer.selected.columns.data =
          wide ? static_cast<void*>(workspace.take<std::int64_t>(size)) : workspace.take<std::int32_t>(size);
    }
    if (!workspace.counts()) least_of_rows<N>(rows, order, k, answer, device);
    answer.before = answer.selected.columns;
    rows = {.numbers = answer.selected.values, .rows = rows.rows, .columns = rows.parts * k, .stride = rows.parts * k};
  }
}

template <class N>
void select_numbers(const SelectProblem& problem, Workspace& workspace, const DeviceStream& device) {
  using Stored = typename N::Stored;
  const SelectProblem dense = is_spread(problem) ? packed<Stored>(problem, workspace, device) : problem;
  const auto k = static_cast<std::size_t>(problem.k);
  const auto order = make_key_order<typename N::Key>(problem.element, problem.largest, problem.nan_first);
  RowParts<Stored> rows = rows_of<Stored>(dense);
  RowAnswer<Stored> answer;
  if (k == 1) {
    rows.parts = OnePolicy::parts_of(rows.rows, rows.columns, sizeof(Stored), device.properties.multiprocessors);
    if (rows.parts > 1) {
      answer.selected = wanted_of<Stored>(problem);
      answer.stride = 1;
      return least_one<N>(rows, order, answer, workspace, device);
    }
  }
  if (const LongStretches stretches(rows, k, device); stretches.count > 0) {
    rows = best_of_stretches<N>(rows, stretches, order, k, answer, workspace, device);
  }
  if (k <= RowPolicy::kMaxWanted || blocks_of(rows, k, device) > 0) {
    return select_by_parts<N>(problem, rows, answer, order, workspace, device);
  }
  SelectProblem left = dense;
  left.values = rows.numbers;
  left.columns = static_cast<std::int64_t>(rows.columns);
  left.row_stride = static_cast<std::int64_t>(rows.stride * sizeof(Stored));
  select_by_sort<Stored>(left, answer.before, workspace, device);
}

void select_in(const SelectProblem& problem, Workspace& workspace, cudaStream_t stream) {
  int ordinal = 0;
  SKYRANK_CUDA_CALL(cudaGetDevice(&ordinal));
  const DeviceStream device(stream, properties_of(ordinal));
  switch (problem.element) {
    case Element::int8:
    case Element::uint8: return select_numbers<Numbers<std::uint8_t, Float::none>>(problem, workspace, device);
    case Element::int16:
    case Element::uint16: return select_numbers<Numbers<std::uint16_t, Float::none>>(problem, workspace, device);
    case Element::int32:
    case Element::uint32: return select_numbers<Numbers<std::uint32_t, Float::none>>(problem, workspace, device);
    case Element::int64:
    case Element::uint64: return select_numbers<Numbers<std::uint64_t, Float::none>>(problem, workspace, device);
    case Element::float16: return select_numbers<Numbers<std::uint16_t, Float::float16>>(problem, workspace, device);
    case Element::bfloat16: return select_numbers<Numbers<std::uint16_t, Float::bfloat16>>(problem, workspace, device);
    case Element::float32: return select_numbers<Numbers<std::uint32_t, Float::float32>>(problem, workspace, device);
    case Element::float64: return select_numbers<Numbers<std::uint64_t, Float::float64>>(problem, workspace, device);
  }
}

}  // namespace
}  // namespace select

std::size_t select_workspace_bytes(const SelectProblem& problem) {
  select::Workspace workspace;
  select::select_in(problem, workspace, nullptr);
  return workspace.bytes();
}

std::size_t select_rows(const SelectProblem& problem, void* workspace, std::size_t workspace_bytes, void* stream) {
  const std::size_t needed = select_workspace_bytes(problem);
  if (needed > workspace_bytes) return needed;
  // Without a need for memory there may be none, which must not count as asking for the need.
  std::byte none{};
  select::Workspace memory(needed == 0 ? &none : workspace);
  select::select_in(problem, memory, static_cast<cudaStream_t>(stream));
  return needed;
}

}  // namespace skyrank::kernels::cuda
