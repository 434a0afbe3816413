#include "kernels/cuda/select/by_sort.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "kernels/cuda/device/map.cuh"
#include "kernels/cuda/device/sort_and_scan.hpp"
#include "kernels/cuda/select/numbers.cuh"
#include "kernels/cuda/select/rows.hpp"

// Selection of many columns of each row: a stable radix sort of keys, with the elements' places beside them, then, of
// several rows, one by the row. Equal keys so stay in the order of their positions. Rows are taken as many at a time as
// have kMaxElements elements, which bounds the memory.
namespace skyrank::kernels::cuda::select {
namespace {

constexpr std::size_t kMaxElements = std::size_t{1} << 26;

/// Some rows of a matrix without gaps between columns.
template <class Stored>
struct SomeRows {
  Numbers<Stored, Float::none> numbers;  ///< from the first of them on
  std::size_t rows;
  std::size_t columns;
  std::size_t stride;

  SKYRANK_HD std::size_t place_of(std::size_t i) const { return i / columns * stride + i % columns; }
};

template <class Stored, class Key, class Place>
__global__ void __launch_bounds__(kMapThreads) make_keys(SomeRows<Stored> from, Key* keys, Place* places) {
  for_all(from.rows * from.columns, [&](std::size_t i) {
    keys[i] = from.numbers.key_of(from.numbers.stored[from.place_of(i)]);
    places[i] = static_cast<Place>(i);
  });
}

template <class Key, class Place>
__global__ void __launch_bounds__(kMapThreads)
    make_rows(std::size_t n, std::size_t columns, const Place* places, Key* rows) {
  for_all(n, [&](std::size_t i) { rows[i] = static_cast<Key>(static_cast<std::size_t>(places[i]) / columns); });
}

template <class Stored, class Place>
__global__ void __launch_bounds__(kMapThreads)
    write_selected(SomeRows<Stored> from, const Place* places, RowAnswer<Stored> answer) {
  const RowParts<Stored> rows{
      .numbers = from.numbers.stored, .rows = from.rows, .columns = from.columns, .stride = from.stride};
  for_all(from.rows * answer.stride, [&](std::size_t i) {
    const std::size_t row = i / answer.stride;
    const std::size_t rank = i % answer.stride;
    const auto place = static_cast<std::size_t>(places[row * from.columns + rank]);
    answer.put(rows, row, rank, place % from.columns);
  });
}

/// The arrays of a sort of up to `n` elements.
template <class Key, class Place>
struct SortArrays {
  Key* keys[2];
  Place* places[2];
  void* temporary = nullptr;
  std::size_t temporary_bytes = 0;

  SortArrays(std::size_t n, Workspace& workspace)
      : keys{workspace.take<Key>(n), workspace.take<Key>(n)},
        places{workspace.take<Place>(n), workspace.take<Place>(n)} {
    sort(n, 8 * sizeof(Key), nullptr);
    temporary = workspace.take<std::byte>(temporary_bytes);
  }

  /// Sorts the first arrays into the second ones, which then are the first.
  void sort(std::size_t n, int bits, cudaStream_t stream) {
    const bool runs = temporary != nullptr;
    sort_pairs(temporary, temporary_bytes, keys[0], keys[1], places[0], places[1], n, stream, bits);
    if (!runs) return;
    std::swap(keys[0], keys[1]);
    std::swap(places[0], places[1]);
  }
};

template <class Stored, class Place>
void select_with_places(const SelectProblem& problem, Positions before, Workspace& workspace,
                        const DeviceStream& device) {
  using Key = typename Numbers<Stored, Float::none>::Key;
  const auto rows = static_cast<std::size_t>(problem.rows);
  const auto columns = static_cast<std::size_t>(problem.columns);
  const auto k = static_cast<std::size_t>(problem.k);
  const std::size_t at_a_time = std::clamp<std::size_t>(kMaxElements / columns, 1, rows);
  SortArrays<Key, Place> arrays(at_a_time * columns, workspace);
  if (workspace.counts()) return;
  const auto order = make_key_order<Key>(problem.element, problem.largest, problem.nan_first);
  const auto* const numbers = static_cast<const Stored*>(problem.values);
  const std::size_t stride = static_cast<std::size_t>(problem.row_stride) / sizeof(Stored);
  const Positions positions{problem.selected_positions, problem.wide_positions};
  for (std::size_t first = 0; first < rows; first += at_a_time) {
    const SomeRows<Stored> some{.numbers = {numbers + first * stride, order},
                                .rows = std::min(at_a_time, rows - first),
                                .columns = columns,
                                .stride = stride};
    const std::size_t n = some.rows * columns;
    launch("make_keys", make_keys<Stored, Key, Place>, few_each(n, device), device.stream, some, arrays.keys[0],
           arrays.places[0]);
    arrays.sort(n, 8 * sizeof(Stored), device.stream);
    if (some.rows > 1) {
      launch("make_rows", make_rows<Key, Place>, few_each(n, device), device.stream, n, columns, arrays.places[0],
             arrays.keys[0]);
      arrays.sort(n, std::bit_width(some.rows - 1), device.stream);
    }
    RowAnswer<Stored> answer;
    answer.selected = {static_cast<Stored*>(problem.selected_values) + first * k, positions.from(first * k)};
    answer.stride = k;
    if (before.data != nullptr) answer.before = before.from(first * stride);
    launch("write_selected", write_selected<Stored, Place>, few_each(some.rows * k, device), device.stream, some,
           arrays.places[0], answer);
  }
}

}  // namespace

template <class Stored>
void select_by_sort(const SelectProblem& problem, Positions before, Workspace& workspace, const DeviceStream& device) {
  // The sort counts values of 32 bits with 32 bits.
  if (problem.columns > std::numeric_limits<std::int32_t>::max()) {
    return select_with_places<Stored, std::int64_t>(problem, before, workspace, device);
  }
  select_with_places<Stored, std::uint32_t>(problem, before, workspace, device);
}

template void select_by_sort<std::uint8_t>(const SelectProblem&, Positions, Workspace&, const DeviceStream&);
template void select_by_sort<std::uint16_t>(const SelectProblem&, Positions, Workspace&, const DeviceStream&);
template void select_by_sort<std::uint32_t>(const SelectProblem&, Positions, Workspace&, const DeviceStream&);
template void select_by_sort<std::uint64_t>(const SelectProblem&, Positions, Workspace&, const DeviceStream&);

}  // namespace skyrank::kernels::cuda::select
