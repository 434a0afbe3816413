#include "kernels/cuda/groups/contenders.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cub/device/device_radix_sort.cuh>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/range.hpp"
#include "kernels/cuda/expression/columns.hpp"
#include "kernels/cuda/groups/calls.hpp"
#include "kernels/cuda/groups/policy.hpp"

// Contenders are found in one pass over codes and keys, against a bound for each code. Bounds come from a sample: the
// sampled rows of a code fall into buckets, and each bucket keeps its least key. These are keys of different rows, so
// the k-th least of them bounds the k-th least key of the code from above, whatever the sample is like; without k
// filled buckets there is no bound, and all rows stay. Few rows are at or below their bound, and only these are sorted.
namespace skyrank::kernels::cuda::groups {
namespace {

constexpr unsigned kThreads = RowPolicy::kThreads;
using Policy = ContenderPolicy;

constexpr std::uint32_t kNoPlace = std::numeric_limits<std::uint32_t>::max();
constexpr unsigned long long kNoBound = std::numeric_limits<unsigned long long>::max();

__device__ std::uint64_t key_at(const KeyColumn& keys, std::size_t place) {
  switch (keys.width) {
    case KeyWidth::bytes1: return static_cast<const std::uint8_t*>(keys.data)[place];
    case KeyWidth::bytes2: return static_cast<const std::uint16_t*>(keys.data)[place];
    case KeyWidth::bytes4: return static_cast<const std::uint32_t*>(keys.data)[place];
    case KeyWidth::bytes8: break;
  }
  return static_cast<const std::uint64_t*>(keys.data)[place];
}

template <class T>
__global__ void __launch_bounds__(kThreads) fill(T* values, std::size_t n, T value) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n) values[i] = value;
}

/// The bucket of a sampled row. Rows next to each other fall into different ones.
__device__ unsigned bucket_of(std::size_t place, unsigned buckets) {
  return (static_cast<unsigned>(place) * 2654435761u >> 8) & (buckets - 1);
}

/// Keeps the least key of each bucket of each code, of the rows of every `stride`-th tile.
__global__ void __launch_bounds__(kThreads)
    sample_tiles(KeyColumn codes, KeyColumn keys, std::size_t n, std::size_t stride, unsigned buckets,
                 unsigned long long* minima) {
  const std::size_t step = std::size_t{gridDim.x} * stride * kThreads;
  for (std::size_t first = std::size_t{blockIdx.x} * stride * kThreads; first < n; first += step) {
    const std::size_t place = first + threadIdx.x;
    if (place >= n) continue;
    const unsigned long long key = key_at(keys, place);
    unsigned long long* const least = minima + key_at(codes, place) * buckets + bucket_of(place, buckets);
    // Most keys are not less than what is there.
    if (key < *static_cast<volatile unsigned long long*>(least)) atomicMin(least, key);
  }
}

/// The k-th least of the buckets' keys of each code, which a block looks for by counting those below each.
__global__ void __launch_bounds__(kThreads)
    find_bounds(const unsigned long long* minima, unsigned buckets, unsigned k, unsigned long long* bounds) {
  const unsigned long long* const mine = minima + std::size_t{blockIdx.x} * buckets;
  for (unsigned i = threadIdx.x; i < buckets; i += kThreads) {
    unsigned before = 0;
    for (unsigned j = 0; j < buckets; ++j) before += mine[j] < mine[i] || (mine[j] == mine[i] && j < i) ? 1 : 0;
    if (before == k - 1) bounds[blockIdx.x] = mine[i];
  }
}

/// Lists the rows at or below the bounds of their codes, in any order, unless they are more than `room`; counts them in
/// any case. Finds the first place of each code.
__global__ void __launch_bounds__(kThreads)
    list_contenders(KeyColumn codes, KeyColumn keys, std::size_t n, const unsigned long long* bounds,
                    std::uint32_t* first_places, unsigned room, unsigned* count, std::uint32_t* places) {
  const std::size_t step = std::size_t{gridDim.x} * kThreads;
  for (std::size_t first = std::size_t{blockIdx.x} * kThreads; first < n; first += step) {
    const std::size_t place = first + threadIdx.x;
    bool stays = false;
    if (place < n) {
      const std::uint64_t code = key_at(codes, place);
      const auto mine = static_cast<std::uint32_t>(place);
      if (mine < *static_cast<volatile std::uint32_t*>(first_places + code)) atomicMin(first_places + code, mine);
      stays = key_at(keys, place) <= bounds[code];
    }
    const unsigned mask = __ballot_sync(kAllLanes, stays);
    if (mask == 0) continue;
    const unsigned lane = threadIdx.x % kLanes;
    unsigned at = 0;
    if (lane == 0) at = atomicAdd(count, static_cast<unsigned>(__popc(mask)));
    at = __shfl_sync(kAllLanes, at, 0) + static_cast<unsigned>(__popc(mask & ((1u << lane) - 1)));
    if (stays && at < room) places[at] = static_cast<std::uint32_t>(place);
  }
}

/// order[i] = places[order[i]]
__global__ void __launch_bounds__(kThreads) replace(const std::uint32_t* places, std::size_t n, std::uint32_t* order) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n) order[i] = places[order[i]];
}

__global__ void __launch_bounds__(kThreads)
    take_codes(KeyColumn codes, const std::uint32_t* places, std::size_t n, std::uint32_t* taken) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n) taken[i] = static_cast<std::uint32_t>(key_at(codes, places[i]));
}

/// The sizes of a search for contenders.
struct Search {
  std::size_t codes = 0;
  unsigned buckets = 0;  ///< buckets of one code, a power of two
  std::size_t stride = 1;
};

/// Nothing where looking for contenders would not pay.
std::optional<Search> plan_search(std::uint64_t greatest_code, std::size_t n, std::size_t k) {
  if (greatest_code >= Policy::kMaxCodes || k > Policy::kMaxK) return std::nullopt;
  Search search;
  search.codes = static_cast<std::size_t>(greatest_code) + 1;
  search.buckets = static_cast<unsigned>(std::max(std::bit_ceil(2 * k), Policy::kMinBuckets));
  if (search.codes * search.buckets > Policy::kMaxBuckets) return std::nullopt;
  const std::size_t sampled = search.codes * search.buckets * Policy::kSampledOfBucket;
  if (n / Policy::kMinStride < sampled) return std::nullopt;
  search.stride = std::min(n / sampled, Policy::kMaxStride);
  return search;
}

/// Contenders in ascending order, and the first place of each code.
struct Contenders {
  Buffer<std::uint32_t> places;
  Buffer<std::uint32_t> codes;
  std::size_t count = 0;
  std::vector<std::uint32_t> first_places;
};

std::optional<Contenders> find_contenders(const KeyColumn& codes, const KeyColumn& keys, std::size_t n, std::size_t k,
                                          const Search& search, DeviceContext& device) {
  const std::size_t size = search.codes * search.buckets;
  const auto one_each = [](std::size_t rows) {
    return Grid{.blocks = blocks_for(rows, kThreads), .threads = kThreads};
  };
  const auto minima = device.allocate<unsigned long long>(size);
  const auto bounds = device.allocate<unsigned long long>(search.codes);
  const auto first_places = device.allocate<std::uint32_t>(search.codes);
  launch("fill", fill<unsigned long long>, one_each(size), device.stream(), minima.data(), size, kNoBound);
  launch("fill", fill<std::uint32_t>, one_each(search.codes), device.stream(), first_places.data(), search.codes,
         kNoPlace);
  const std::size_t resident = RowPolicy::kBlocks * static_cast<std::size_t>(device.properties().multiprocessors);
  const Grid tiles{.blocks = std::min(blocks_for(n, search.stride * kThreads), resident), .threads = kThreads};
  launch("sample_tiles", sample_tiles, tiles, device.stream(), codes, keys, n, search.stride, search.buckets,
         minima.data());
  launch("find_bounds", find_bounds, {.blocks = search.codes, .threads = kThreads}, device.stream(), minima.data(),
         search.buckets, static_cast<unsigned>(k), bounds.data());
  const auto room = static_cast<unsigned>(n / Policy::kMinRowsOfContender);
  const auto unsorted = device.allocate<std::uint32_t>(room);
  const auto counter = device.allocate<unsigned>(1);
  SKYRANK_CUDA_CALL(cudaMemsetAsync(counter.data(), 0, counter.bytes(), device.stream()));
  const Grid all{.blocks = std::min(blocks_for(n, kThreads), resident), .threads = kThreads};
  launch("list_contenders", list_contenders, all, device.stream(), codes, keys, n, bounds.data(), first_places.data(),
         room, counter.data(), unsorted.data());
  Contenders found;
  found.count = to_host(counter.data(), 1, device).front();
  if (found.count > room) return std::nullopt;
  found.places = device.allocate<std::uint32_t>(found.count);
  with_temporary(device, [&](void* temporary, std::size_t& bytes) {
    SKYRANK_CUDA_CALL(cub::DeviceRadixSort::SortKeys(temporary, bytes, unsorted.data(), found.places.data(),
                                                     static_cast<std::uint32_t>(found.count), 0, 32, device.stream()));
  });
  found.codes = device.allocate<std::uint32_t>(found.count);
  launch("take_codes", take_codes, one_each(found.count), device.stream(), codes, found.places.data(), found.count,
         found.codes.data());
  found.first_places = to_host(first_places.data(), search.codes, device);
  return found;
}

/// Gives partitions the first places that they have among all rows: each code with rows has contenders.
void set_first_places(const std::vector<std::uint32_t>& of_codes, PartitionedRows& rows) {
  rows.first.clear();
  for (const std::uint32_t first : of_codes) {
    if (first != kNoPlace) rows.first.push_back(first);
  }
  std::iota(rows.by_first.begin(), rows.by_first.end(), 0);
  std::ranges::sort(rows.by_first, {}, [&](std::int64_t partition) { return rows.first[partition]; });
}

}  // namespace

PartitionedRows partition_contenders(const KeyColumn& codes, const KeyColumn& keys, std::size_t n, std::size_t k) {
  const auto search = plan_search(expression::greatest_key(codes, n), n, k);
  if (!search) return partition_rows(codes, n);
  const Range range("contenders of partitions");
  DeviceContext& device = DeviceContext::of_process();
  std::optional<Contenders> found;
  {
    const Lease lease(device);
    found = find_contenders(codes, keys, n, k, *search, device);
  }
  if (!found) return partition_rows(codes, n);
  PartitionedRows rows = partition_rows({found->codes.data(), KeyWidth::bytes4}, found->count);
  set_first_places(found->first_places, rows);
  const Lease lease(device);
  launch("replace", replace, {.blocks = blocks_for(found->count, kThreads), .threads = kThreads}, device.stream(),
         found->places.data(), found->count, static_cast<std::uint32_t*>(rows.order.data()));
  return rows;
}

}  // namespace skyrank::kernels::cuda::groups
