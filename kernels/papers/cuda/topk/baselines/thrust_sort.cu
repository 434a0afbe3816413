#include <thrust/sort.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/device/launch.cuh"
#include "kernels/papers/cuda/topk/baselines/thrust.cuh"

// Selection via sort (Monroe et al., HPG 2011, section 9.1): keys and row ids are sorted as pairs by Thrust, and the
// first k are the answer. The list itself stays as it is, as in section 8.3.1. The sort is stable, so that rows of
// equal keys stay in the order of ties.
namespace skyrank::kernels::cuda::topk {
namespace {

/// A row id, in as many bits as elements have for it.
template <class E>
using RowOf = std::conditional_t<E::kRowBits == 32, std::uint32_t, std::uint64_t>;

template <class E>
__global__ void pairs_in_order_of_ties(E elements, std::size_t n, typename E::Key* keys, RowOf<E>* rows) {
  const std::size_t place = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (place >= n) return;
  const std::size_t row = elements.complement == 0 ? place : n - 1 - place;
  keys[place] = elements.keys[row];
  rows[place] = static_cast<RowOf<E>>(row);
}

template <class E>
__global__ void take_first(E elements, std::size_t k, const typename E::Key* keys, const RowOf<E>* rows,
                           typename E::Element* chosen) {
  const std::size_t place = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (place < k) chosen[place] = elements.of(keys[place], rows[place]);
}

constexpr Parameter kThrustSortParameters[] = {kOrdered, kReturned};

struct ThrustSort {
  static constexpr bool kMayBeUnordered = true;
  static constexpr bool kSelectsAll = true;

  template <class E>
  static bool select(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
    using Key = typename E::Key;
    auto keys = run.allocate<Key>(n);
    auto rows = run.allocate<RowOf<E>>(n);
    launch("pairs_in_order_of_ties", pairs_in_order_of_ties<E>, one_each(n), run.stream(), elements, n, keys.data(),
           rows.data());
    with_thrust(run, [&](const auto& policy) {
      thrust::stable_sort_by_key(policy, keys.data(), keys.data() + n, rows.data());
    });
    launch("take_first", take_first<E>, one_each(k), run.stream(), elements, k, keys.data(), rows.data(), chosen);
    if (run.context.count_work) {
      // Each digit of 8 bits reads and writes all pairs; a pass counts digits, and one makes the pairs.
      const std::size_t digits = sizeof(Key);
      const std::size_t pair = sizeof(Key) + sizeof(RowOf<E>);
      run.count((digits * pair + 2 * sizeof(Key)) * n, (digits + 1) * pair * n, n);
    }
    return true;
  }
};

}  // namespace

extern const TopKAlgorithm thrust_sort;
const TopKAlgorithm thrust_sort{
    .name = "cuda-thrust-sort",
    .summary = "sorts pairs of keys and row ids with Thrust and takes the first k",
    .source = "Monroe, Wendelberger, Michalak: Randomized Selection on the GPU, HPG 2011, section 9.1",
    .device = Device::cuda,
    .parameters = kThrustSortParameters,
    .supports = needs_key_columns,
    .run = solve<ThrustSort>,
};

}  // namespace skyrank::kernels::cuda::topk
