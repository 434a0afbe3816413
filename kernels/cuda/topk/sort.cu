#include "kernels/cuda/topk/sort.cuh"

#include <cub/device/device_radix_sort.cuh>

#include "kernels/cuda/device/launch.cuh"

// Sort all rows by key with CUB's radix sort, row ids as payload, and take the first k: the yardstick that a selection
// must beat (bitonic-topk-sigmod18, section 2.2, "sort and choose"). The sort is stable, so equal keys keep the order
// in which the row ids go in, which is the tie rule's.
namespace skyrank::kernels::cuda::topk {
namespace {

constexpr unsigned kThreads = 256;

template <class E>
__global__ void rows_in_order_of_ties(E elements, std::size_t n, typename E::Key* keys, std::size_t* rows) {
  const std::size_t place = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (place >= n) return;
  const std::size_t row = elements.complement == 0 ? place : n - 1 - place;
  keys[place] = elements.keys[row];
  rows[place] = row;
}

template <class E>
__global__ void first_elements(E elements, const typename E::Key* keys, const std::size_t* rows, std::size_t k,
                               typename E::Element* chosen) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < k) chosen[i] = elements.of(keys[i], rows[i]);
}

}  // namespace

template <class E>
bool Sort::select(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
  using Key = typename E::Key;
  auto keys = run.allocate<Key>(2 * n);
  auto rows = run.allocate<std::size_t>(2 * n);
  launch("rows_in_order_of_ties", rows_in_order_of_ties<E>, {.blocks = blocks_for(n, kThreads), .threads = kThreads},
         run.stream(), elements, n, keys.data(), rows.data());
  const auto sort = [&](void* temporary, std::size_t& bytes) {
    SKYRANK_CUDA_CALL(cub::DeviceRadixSort::SortPairs(temporary, bytes, keys.data(), keys.data() + n, rows.data(),
                                                      rows.data() + n, n, 0, 8 * static_cast<int>(sizeof(Key)),
                                                      run.stream()));
  };
  std::size_t bytes = 0;
  sort(nullptr, bytes);
  auto temporary = run.allocate<std::byte>(bytes);
  sort(temporary.data(), bytes);
  launch("first_elements", first_elements<E>, {.blocks = blocks_for(k, kThreads), .threads = kThreads}, run.stream(),
         elements, keys.data() + n, rows.data() + n, k, chosen);
  if (run.context.count_work) {
    const std::size_t moved = (sizeof(Key) + sizeof(std::size_t)) * n * (sizeof(Key) + 1);
    run.count(moved, moved, n);
  }
  return true;
}

template bool Sort::select(Run&, const ShortElements&, std::size_t, std::size_t, ShortElements::Element*);
template bool Sort::select(Run&, const LongElements&, std::size_t, std::size_t, LongElements::Element*);
template bool Sort::select(Run&, const ManyElements&, std::size_t, std::size_t, ManyElements::Element*);

extern const TopKAlgorithm sort;
const TopKAlgorithm sort{
    .name = "cuda-sort",
    .summary = "sorts all rows with CUB's radix sort and takes the first k",
    .source = "bitonic-topk-sigmod18, section 2.2",
    .device = Device::cuda,
    .parameters = {},
    .supports = needs_key_columns,
    .run = solve<Sort>,
};

}  // namespace skyrank::kernels::cuda::topk
