#include <bit>
#include <cstdint>

#include "kernels/papers/cuda/topk/narrow.cuh"

// Radix select (Shanbhag et al., SIGMOD 2018, sections 2.3 and 4.2): digits of the keys, and among equal keys of the
// row ids, most significant first. Only the bucket with the k-th element is written, better buckets go straight to the
// answer, no pass over all rows follows, and nothing is written while nothing much shrinks.
namespace skyrank::kernels::cuda::topk {
namespace {

/// Bins that are digits.
struct Digits {
  int shift;

  template <class Distance>
  __device__ unsigned of(Distance distance) const {
    return static_cast<unsigned>(distance >> shift);
  }
  __device__ std::uint64_t first(unsigned bin) const { return std::uint64_t{bin} << shift; }
  __device__ static Digits over(std::uint64_t range, unsigned bins) {
    return {max(0, 64 - __clzll(static_cast<long long>(range)) - __ffs(static_cast<int>(bins)) + 1)};
  }
  static int passes(int bits, unsigned bins) {
    const int digit = std::countr_zero(bins);
    return (bits + digit - 1) / digit;
  }
};

/// The first pass counts the leading digit of all keys, without making elements of them.
template <class E>
__global__ void __launch_bounds__(kNarrowThreads) count_leading_digit(Narrow<E, Digits> narrow) {
  using Key = typename E::Key;
  constexpr Key kGreatest = static_cast<Key>(~Key{0});
  unsigned* const histogram = empty_histogram(narrow.bin_count);
  const Digits digits = Digits::over(kGreatest, narrow.bin_count);
  const KeyTiles<E, kNarrowThreads> keys(narrow.elements, narrow.n);
  for (std::size_t tile = blockIdx.x; tile < keys.count(); tile += gridDim.x) {
    Key items[keys.kItems];
    const unsigned present = keys.load(tile, items);
#pragma unroll
    for (unsigned i = 0; i < keys.kItems; ++i) {
      if ((present >> i & 1) != 0) atomicAdd(&histogram[digits.of(items[i])], 1u);
    }
  }
  if (!add_histogram(narrow, histogram)) return;
  if (threadIdx.x == 0) narrow.begin(0, kGreatest);
  __syncthreads();
  choose_bin(narrow);
}

constexpr Parameter kDigitBits{"digit_bits", "bits of a digit; the paper has 8", 4, 11, 11};
constexpr Parameter kRadixParameters[] = {kDigitBits, kAlwaysWrites, kOrdered, kReturned};

struct RadixSelect {
  static constexpr bool kMayBeUnordered = true;

  template <class E>
  static bool select(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
    const auto bins = 1u << static_cast<unsigned>(run.parameters[kDigitBits.name]);
    Narrowing<E, Digits> narrowing(run, elements, n, k, chosen, bins);
    launch("count_leading_digit", count_leading_digit<E>, narrowing.grid(count_leading_digit<E>), run.stream(),
           narrowing.shared_by_kernels());
    narrowing.finish();
    narrowing.count_work();
    return false;
  }
};

}  // namespace

extern const TopKAlgorithm radix_select;
const TopKAlgorithm radix_select{
    .name = "cuda-radix-select",
    .summary = "narrows the keys down to the k-th digit by digit, most significant first",
    .source =
        "Shanbhag, Pirk, Madden: Efficient Top-K Query Processing on Massively Parallel Hardware, SIGMOD 2018, "
        "sections 2.3 and 4.2",
    .device = Device::cuda,
    .parameters = kRadixParameters,
    .supports = needs_key_columns,
    .run = solve<RadixSelect>,
};

}  // namespace skyrank::kernels::cuda::topk
