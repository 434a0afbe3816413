#include "kernels/cuda/topk/finish.hpp"

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/device/kernel/block_sort.cuh"
#include "kernels/cuda/device/kernel/search.cuh"
#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/select.cuh"
#include "kernels/cuda/device/sort_and_scan.hpp"

namespace skyrank::kernels::cuda::topk {
namespace {

constexpr unsigned kSortThreads = 512;
constexpr unsigned kMaxSorted = 9 * kSortThreads;

/// One block sorts `count` elements.
template <class Element>
__global__ void __launch_bounds__(kSortThreads) block_sort(Element* elements, unsigned count) {
  Element* const shared = dynamic_shared<Element>();
  for (unsigned i = threadIdx.x; i < count; i += kSortThreads) shared[i] = elements[i];
  __syncthreads();
  sort_in_block<kSortThreads>(shared, count);
  for (unsigned i = threadIdx.x; i < count; i += kSortThreads) elements[i] = shared[i];
}

template <class Element>
void radix_sort(Element* elements, std::size_t count, DeviceContext& device) {
  auto other = device.allocate<Element>(count);
  sort_keys(elements, other.data(), count, device);
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

/// Reverses each run of equal keys of elements with complemented row ids, which are in the wrong order. There are no
/// such elements where `*failed` is set.
template <class E>
__global__ void row_ids_reversed(E elements, const typename E::Element* sorted, std::size_t count,
                                 const unsigned* failed, RowId* rows) {
  if (failed != nullptr && *failed != 0) return;
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const auto key = E::key(sorted[i]);
  const std::size_t first =
      first_where(std::size_t{0}, i, [=](std::size_t other) { return E::key(sorted[other]) >= key; });
  const std::size_t end = first_where(i + 1, count, [=](std::size_t other) { return E::key(sorted[other]) > key; });
  rows[first + end - 1 - i] = static_cast<RowId>(elements.row(sorted[i]));
}

}  // namespace

template <class Element>
void sort_elements(Element* elements, std::size_t count, DeviceContext& device) {
  if (count < 2) return;
  if (count > kMaxSorted) return radix_sort(elements, count, device);
  launch("block_sort", block_sort<Element>,
         {.blocks = 1, .threads = kSortThreads, .shared_bytes = count * sizeof(Element)}, device.stream(), elements,
         static_cast<unsigned>(count));
}

template <class E>
void take_all(const E& elements, std::size_t n, typename E::Element* taken, DeviceContext& device) {
  launch("all_elements", all_elements<E>, one_each(n), device.stream(), elements, n, taken);
}

template <class E>
Buffer<RowId> rows_of(const E& elements, const typename E::Element* sorted, std::size_t count, DeviceContext& device,
                      const unsigned* failed) {
  auto rows = device.allocate<RowId>(count);
  const Grid grid = one_each(count);
  if (elements.complement == 0)
    launch("row_ids", row_ids<typename E::Element>, grid, device.stream(), sorted, count, E::kRowMask, rows.data());
  else
    launch("row_ids_reversed", row_ids_reversed<E>, grid, device.stream(), elements, sorted, count, failed,
           rows.data());
  return rows;
}

// Elements have the lowest row ids of their key, so what is missing are the rows behind the last one's that have the
// same key, in the order of the rows: nothing has to be sorted. Floor: one read of the keys behind the last row, and,
// if there are ties, a second one.
template <class E>
Buffer<RowId> rows_with_ties(const E& elements, std::size_t n, const typename E::Element* least, std::size_t k,
                             DeviceContext& device) {
  const typename E::Element last = value_at(least + k - 1, device);
  const std::size_t begin = elements.row(last) + 1;
  const Selection ties(HasKey<typename E::Key>{elements.keys + begin, E::key(last)}, n - begin, device);
  auto rows = device.allocate<RowId>(k + ties.count());
  launch("row_ids", row_ids<typename E::Element>, one_each(k), device.stream(), least, k, E::kRowMask, rows.data());
  if (rows.size() > k) ties.list(IdAt{.first = begin}, rows.data() + k);
  return rows;
}

#define SKYRANK_INSTANTIATE(E)                                                                               \
  template void take_all(const E&, std::size_t, E::Element*, DeviceContext&);                                \
  template Buffer<RowId> rows_of(const E&, const E::Element*, std::size_t, DeviceContext&, const unsigned*); \
  template Buffer<RowId> rows_with_ties(const E&, std::size_t, const E::Element*, std::size_t, DeviceContext&);
SKYRANK_INSTANTIATE(ByteElements)
SKYRANK_INSTANTIATE(HalfElements)
SKYRANK_INSTANTIATE(ShortElements)
SKYRANK_INSTANTIATE(LongElements)
SKYRANK_INSTANTIATE(ManyElements)
#undef SKYRANK_INSTANTIATE
template void sort_elements(std::uint64_t*, std::size_t, DeviceContext&);
template void sort_elements(Uint128*, std::size_t, DeviceContext&);

}  // namespace skyrank::kernels::cuda::topk
