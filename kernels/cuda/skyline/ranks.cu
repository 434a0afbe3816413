#include "kernels/cuda/skyline/ranks.cuh"

#include "kernels/cuda/device/kernel/scan.cuh"
#include "kernels/cuda/device/launch.cuh"

namespace skyrank::kernels::cuda::skyline {
namespace {

constexpr unsigned kThreads = 1024;
constexpr unsigned kWords = 16;  ///< words of a thread at a time

__device__ std::uint32_t selected(const BitSelection& selection, std::uint32_t word, std::uint32_t first,
                                  std::uint32_t size) {
  const std::uint32_t begin = word * 32;
  if (begin >= size || begin + 32 <= first) return 0;
  std::uint32_t ones = selection.words[word];
  if (selection.zeros) ones = ~ones;
  if (begin < first) ones &= ~0u << (first - begin);
  if (size - begin < 32) ones &= (1u << (size - begin)) - 1;
  return ones;
}

/// One block, so that the sums need no other launch.
__global__ void __launch_bounds__(kThreads)
    rank_words(BitSelection selection, std::uint32_t* kept, std::uint32_t* before, std::uint32_t* total) {
  const std::uint32_t size = *selection.size;
  const std::uint32_t first = selection.first != nullptr ? *selection.first : 0;
  const std::uint32_t words = size / 32 + 2;
  std::uint32_t done = 0;
  for (std::uint32_t begin = 0; begin < words; begin += kThreads * kWords) {
    const std::uint32_t own = begin + threadIdx.x * kWords;
    std::uint32_t ones[kWords];
    std::uint32_t count = 0;
#pragma unroll
    for (unsigned i = 0; i < kWords; ++i) {
      ones[i] = own + i < words ? selected(selection, own + i, first, size) : 0;
      count += static_cast<std::uint32_t>(__popc(ones[i]));
    }
    std::uint32_t all = 0;
    std::uint32_t sum = done + sum_before<kThreads>(count, all);
    done += all;
#pragma unroll
    for (unsigned i = 0; i < kWords; ++i) {
      if (own + i >= words) break;
      kept[own + i] = ones[i];
      before[own + i] = sum;
      sum += static_cast<std::uint32_t>(__popc(ones[i]));
    }
  }
  if (threadIdx.x == 0) *total = done;
}

}  // namespace

void rank_bits(const BitSelection& selection, std::uint32_t* kept, std::uint32_t* before, std::uint32_t* total,
               DeviceContext& device) {
  launch("rank_words", rank_words, {.blocks = 1, .threads = kThreads}, device.stream(), selection, kept, before, total);
}

}  // namespace skyrank::kernels::cuda::skyline
