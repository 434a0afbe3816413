#include <cub/device/device_radix_sort.cuh>

#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/block/tiles.cuh"
#include "kernels/cuda/topk/solve.cuh"
#include "kernels/papers/cuda/topk/block_sums.cuh"

// Sort all rows with CUB's radix sort and take the first k: the yardstick that a selection must beat (Shanbhag et al.,
// SIGMOD 2018, section 2.2, "sort and choose"). Where k is a small part of n only the keys are sorted, which takes two
// thirds of the time: the k-th of them tells, in one pass over the rows, which rows are chosen. Otherwise elements are
// sorted by their keys; the sort is stable, so that equal keys keep the order of ties.
namespace skyrank::kernels::cuda::topk {
namespace {

using Count = unsigned long long;

/// Row ids are looked for afterwards where k is at most this part of n: sorting the chosen ones costs more the more
/// they are.
constexpr std::size_t kSmallPart = 8;

template <class Value>
void sort_by_bits(Run& run, const Value* values, Value* sorted, std::size_t n, int begin, int end) {
  const auto sort = [&](void* temporary, std::size_t& bytes) {
    SKYRANK_CUDA_CALL(cub::DeviceRadixSort::SortKeys(temporary, bytes, values, sorted, n, begin, end, run.stream()));
  };
  std::size_t bytes = 0;
  sort(nullptr, bytes);
  auto temporary = run.allocate<std::byte>(bytes);
  sort(temporary.data(), bytes);
}

template <class E>
__global__ void elements_in_order_of_ties(E elements, std::size_t n, typename E::Element* all) {
  const std::size_t place = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (place < n) all[place] = elements.at(elements.complement == 0 ? place : n - 1 - place);
}

template <class E>
void sort_whole(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
  using Element = typename E::Element;
  auto all = run.allocate<Element>(2 * n);
  launch("elements_in_order_of_ties", elements_in_order_of_ties<E>, one_each(n), run.stream(), elements, n, all.data());
  sort_by_bits(run, all.data(), all.data() + n, n, E::kRowBits, E::kBits);
  SKYRANK_CUDA_CALL(
      cudaMemcpyAsync(chosen, all.data() + n, k * sizeof(Element), cudaMemcpyDeviceToDevice, run.stream()));
}

/// The results of the first pass over the rows, besides the elements before the k-th key.
struct Found {
  Count less;  ///< rows with lesser keys than the k-th
  Count ties;  ///< rows with that key
  unsigned arrived;
};

/// A block has a stretch of consecutive rows: so many tiles of the first pass, whose threads have several loads in
/// flight. The second pass has one, so that its threads' rows are in order.
constexpr unsigned kTilesOfBlock = 8;
constexpr unsigned kLoads = 4;

/// Takes the elements before the k-th key, and counts those that tie: `ties` gets how many lie before each block.
template <class E>
__global__ void __launch_bounds__(kMapThreads) take_lesser(E elements, std::size_t n, const typename E::Key* kth,
                                                           Found* found, Count* ties, typename E::Element* chosen) {
  __shared__ Count first;
  const KeyTiles<E, kMapThreads, kLoads> keys(elements, n);
  const typename E::Key bound = *kth;
  Count equal = 0;
  const std::size_t begin = std::size_t{blockIdx.x} * kTilesOfBlock;
  for (std::size_t tile = begin; tile < begin + kTilesOfBlock && tile < keys.count(); ++tile) {
    typename E::Key items[keys.kItems];
    const unsigned present = keys.load(tile, items);
    unsigned less = 0;
#pragma unroll
    for (unsigned i = 0; i < keys.kItems; ++i) {
      less |= (items[i] < bound ? 1u : 0u) << i;
      equal += items[i] == bound && (present >> i & 1) != 0 ? 1 : 0;
    }
    less &= present;
    if (__syncthreads_or(static_cast<int>(less)) == 0) continue;
    unsigned total = 0;
    const unsigned before = sum_before(static_cast<unsigned>(__popc(less)), total);
    if (threadIdx.x == 0) first = atomicAdd(&found->less, Count{total});
    __syncthreads();
    typename E::Element* to = chosen + first + before;
#pragma unroll
    for (unsigned i = 0; i < keys.kItems; ++i) {
      if ((less >> i & 1) != 0) *to++ = keys.element(items[i], keys.place(tile, i));
    }
  }
  Count of_block = 0;
  sum_before(equal, of_block);
  if (threadIdx.x == 0) ties[blockIdx.x] = of_block;
  if (!last_block(&found->arrived)) return;
  const Count total = sum_over_blocks(ties);
  if (threadIdx.x == 0) found->ties = total;
}

/// Takes of the elements that tie those that come first. Only blocks that have some of these read their rows again.
template <class E>
__global__ void __launch_bounds__(kMapThreads)
    take_ties(E elements, std::size_t n, std::size_t k, const typename E::Key* kth, const Found* found,
              const Count* ties, typename E::Element* chosen) {
  const Count wanted = k - found->less;
  const Count begin_taken = elements.complement == 0 ? 0 : found->ties - wanted;
  const Count end_taken = begin_taken + wanted;
  Count begin = ties[blockIdx.x];
  const Count end = blockIdx.x + 1 < gridDim.x ? ties[blockIdx.x + 1] : found->ties;
  if (begin == end || end <= begin_taken || begin >= end_taken) return;

  const KeyTiles<E, kMapThreads, 1> keys(elements, n);
  const typename E::Key bound = *kth;
  for (std::size_t tile = std::size_t{blockIdx.x} * kTilesOfBlock * kLoads; begin < end && begin < end_taken; ++tile) {
    typename E::Key items[keys.kItems];
    const unsigned present = keys.load(tile, items);
    unsigned equal = 0;
#pragma unroll
    for (unsigned i = 0; i < keys.kItems; ++i) equal |= (items[i] == bound ? 1u : 0u) << i;
    equal &= present;
    if (__syncthreads_or(static_cast<int>(equal)) == 0) continue;
    unsigned total = 0;
    Count place = begin + sum_before(static_cast<unsigned>(__popc(equal)), total);
#pragma unroll
    for (unsigned i = 0; i < keys.kItems; ++i) {
      if ((equal >> i & 1) == 0) continue;
      if (place >= begin_taken && place < end_taken) {
        chosen[found->less + place - begin_taken] = keys.element(items[i], keys.place(tile, i));
      }
      ++place;
    }
    begin += total;
  }
}

template <class E>
void sort_keys(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
  using Key = typename E::Key;
  auto sorted = run.allocate<Key>(n);
  sort_by_bits(run, elements.keys, sorted.data(), n, 0, 8 * static_cast<int>(sizeof(Key)));
  const Grid grid{.blocks = blocks_for(KeyTiles<E, kMapThreads, kLoads>(elements, n).count(), kTilesOfBlock),
                  .threads = kMapThreads};
  auto found = run.allocate<Found>(1);
  auto ties = run.allocate<Count>(grid.blocks);
  SKYRANK_CUDA_CALL(cudaMemsetAsync(found.data(), 0, found.bytes(), run.stream()));
  launch("take_lesser", take_lesser<E>, grid, run.stream(), elements, n, sorted.data() + k - 1, found.data(),
         ties.data(), chosen);
  launch("take_ties", take_ties<E>, grid, run.stream(), elements, n, k, sorted.data() + k - 1, found.data(),
         ties.data(), chosen);
}

constexpr Parameter kSortParameters[] = {kOrdered, kReturned};

struct Sort {
  static constexpr bool kMayBeUnordered = true;
  static constexpr bool kSelectsAll = true;

  template <class E>
  static bool select(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
    const bool whole = k > n / kSmallPart;
    if (whole)
      sort_whole(run, elements, n, k, chosen);
    else
      sort_keys(run, elements, n, k, chosen);
    if (run.context.count_work) {
      // Each digit of 8 bits reads and writes everything; one more pass counts digits, and one makes or finds elements.
      const std::size_t each = whole ? sizeof(typename E::Element) : sizeof(typename E::Key);
      const std::size_t digits = sizeof(typename E::Key);
      run.count((digits + 1) * each * n + sizeof(typename E::Key) * n, digits * each * n + (whole ? each * n : 0), n);
    }
    return whole;
  }
};

}  // namespace

extern const TopKAlgorithm sort;
const TopKAlgorithm sort{
    .name = "cuda-sort",
    .summary = "sorts all keys with CUB's radix sort and takes the rows of the first k",
    .source =
        "Shanbhag, Pirk, Madden: Efficient Top-K Query Processing on Massively Parallel Hardware, SIGMOD 2018, section "
        "2.2",
    .device = Device::cuda,
    .parameters = kSortParameters,
    .supports = needs_key_columns,
    .run = solve<Sort>,
};

}  // namespace skyrank::kernels::cuda::topk
