#include "kernels/cuda/topk/finish.hpp"

#include <cub/device/device_radix_sort.cuh>

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/block_merge_sort.cuh"

namespace skyrank::kernels::cuda::topk {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kSortThreads = 512;
constexpr unsigned kSortItems = 9;

/// One block sorts `count` elements.
template <class Element>
__global__ void __launch_bounds__(kSortThreads) block_sort(Element* elements, unsigned count) {
  Element* const shared = dynamic_shared<Element>();
  for (unsigned i = threadIdx.x; i < count; i += kSortThreads) shared[i] = elements[i];
  __syncthreads();
  BlockMergeSort<Element, kSortThreads, kSortItems>::sort(shared, count);
  for (unsigned i = threadIdx.x; i < count; i += kSortThreads) elements[i] = shared[i];
}

template <class Element>
void radix_sort(Element* elements, std::size_t count, DeviceContext& device) {
  auto other = device.allocate<Element>(count);
  std::size_t bytes = 0;
  SKYRANK_CUDA_CALL(cub::DeviceRadixSort::SortKeys(nullptr, bytes, elements, other.data(), count, 0,
                                                   8 * static_cast<int>(sizeof(Element)), device.stream()));
  auto temporary = device.allocate<std::byte>(bytes);
  SKYRANK_CUDA_CALL(cub::DeviceRadixSort::SortKeys(temporary.data(), bytes, elements, other.data(), count, 0,
                                                   8 * static_cast<int>(sizeof(Element)), device.stream()));
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(elements, other.data(), other.bytes(), cudaMemcpyDeviceToDevice, device.stream()));
}

template <class E>
__global__ void all_elements(E elements, std::size_t n, typename E::Element* taken) {
  const std::size_t row = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row < n) taken[row] = elements.at(row);
}

template <class Element>
__global__ void row_ids(const Element* chosen, std::size_t count, Element row_mask, RowId* rows) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) rows[i] = static_cast<RowId>(chosen[i] & row_mask);
}

/// How many of the sorted elements a condition holds for that holds for the first ones only.
template <class Element, class Condition>
__device__ std::size_t count_first(const Element* sorted, std::size_t count, Condition holds) {
  std::size_t low = 0;
  std::size_t high = count;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (holds(sorted[middle]))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Reverses each run of equal keys of elements with complemented row ids, which are in the wrong order. There are no
/// such elements where `*failed` is set.
template <class E>
__global__ void row_ids_reversed(E elements, const typename E::Element* sorted, std::size_t count,
                                 const unsigned* failed, RowId* rows) {
  using Element = typename E::Element;
  if (failed != nullptr && *failed != 0) return;
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const auto key = E::key(sorted[i]);
  const std::size_t first = count_first(sorted, count, [=](Element other) { return E::key(other) < key; });
  const std::size_t end = count_first(sorted, count, [=](Element other) { return E::key(other) <= key; });
  rows[first + end - 1 - i] = static_cast<RowId>(elements.row(sorted[i]));
}

template <class E>
Buffer<RowId> written_rows(const E& elements, const typename E::Element* sorted, std::size_t count,
                           DeviceContext& device, const unsigned* failed = nullptr) {
  auto rows = device.allocate<RowId>(count);
  const Grid grid{.blocks = blocks_for(count, kThreads), .threads = kThreads};
  if (elements.complement == 0)
    launch("row_ids", row_ids<typename E::Element>, grid, device.stream(), sorted, count, E::kRowMask, rows.data());
  else
    launch("row_ids_reversed", row_ids_reversed<E>, grid, device.stream(), elements, sorted, count, failed,
           rows.data());
  return rows;
}

}  // namespace

template <class Element>
void sort_elements(Element* elements, std::size_t count, DeviceContext& device) {
  if (count < 2) return;
  if (count > kSortThreads * kSortItems) return radix_sort(elements, count, device);
  launch("block_sort", block_sort<Element>,
         {.blocks = 1, .threads = kSortThreads, .shared_bytes = count * sizeof(Element)}, device.stream(), elements,
         static_cast<unsigned>(count));
}

template <class E>
void take_all(const E& elements, std::size_t n, typename E::Element* taken, DeviceContext& device) {
  launch("all_elements", all_elements<E>, {.blocks = blocks_for(n, kThreads), .threads = kThreads}, device.stream(),
         elements, n, taken);
}

template <class E>
Buffer<RowId> rows_of(const E& elements, typename E::Element* chosen, std::size_t count, bool sorted,
                      DeviceContext& device) {
  if (!sorted) sort_elements(chosen, count, device);
  return written_rows(elements, chosen, count, device);
}

template <class E>
Buffer<RowId> rows_of_guess(const E& elements, const typename E::Element* chosen, std::size_t count,
                            const unsigned* failed, DeviceContext& device) {
  return written_rows(elements, chosen, count, device, failed);
}

#define SKYRANK_INSTANTIATE(E)                                                              \
  template void take_all(const E&, std::size_t, E::Element*, DeviceContext&);               \
  template Buffer<RowId> rows_of(const E&, E::Element*, std::size_t, bool, DeviceContext&); \
  template Buffer<RowId> rows_of_guess(const E&, const E::Element*, std::size_t, const unsigned*, DeviceContext&);
SKYRANK_INSTANTIATE(ShortElements)
SKYRANK_INSTANTIATE(LongElements)
SKYRANK_INSTANTIATE(ManyElements)
#undef SKYRANK_INSTANTIATE
template Buffer<RowId> rows_of_guess(const ByteElements&, const ByteElements::Element*, std::size_t, const unsigned*,
                                     DeviceContext&);
template Buffer<RowId> rows_of_guess(const HalfElements&, const HalfElements::Element*, std::size_t, const unsigned*,
                                     DeviceContext&);
template void sort_elements(std::uint64_t*, std::size_t, DeviceContext&);
template void sort_elements(Uint128*, std::size_t, DeviceContext&);

}  // namespace skyrank::kernels::cuda::topk
