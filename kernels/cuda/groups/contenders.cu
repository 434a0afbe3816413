#include "kernels/cuda/groups/contenders.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cuda/device/calls.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/map.cuh"
#include "kernels/cuda/device/range.hpp"
#include "kernels/cuda/device/sort_and_scan.hpp"
#include "kernels/cuda/expression/columns.hpp"
#include "kernels/cuda/groups/list_rows.hpp"
#include "kernels/cuda/groups/policy.hpp"
#include "kernels/cuda/groups/read_keys.cuh"

// Contenders are found in one pass over codes and keys, against a bound for each code. Bounds come from a sample: the
// sampled rows of a code fall into buckets, and each bucket keeps its least key. These are keys of different rows, so
// the k-th least of them bounds the k-th least key of the code from above, whatever the sample is like; without k
// filled buckets there is no bound, and all rows stay. Few rows are at or below their bound, and only these are sorted.
namespace skyrank::kernels::cuda::groups {
namespace {

/// The bucket of a sampled row. Rows next to each other fall into different ones.
__device__ unsigned bucket_of(std::size_t place, unsigned buckets) {
  return (static_cast<unsigned>(place) * 2654435761u >> 8) & (buckets - 1);
}

/// Keeps the least key of each bucket of each code, of the rows of every `stride`-th tile.
template <class Code, class Key>
__global__ void __launch_bounds__(kMapThreads)
    sample_tiles(const KeyReader<Code> codes, const KeyReader<Key> keys, std::size_t n, std::size_t stride,
                 unsigned buckets, unsigned long long* minima) {
  const std::size_t step = std::size_t{gridDim.x} * stride * kMapThreads;
  for (std::size_t first = std::size_t{blockIdx.x} * stride * kMapThreads; first < n; first += step) {
    const std::size_t place = first + threadIdx.x;
    if (place >= n) continue;
    const unsigned long long key = keys.at(place);
    unsigned long long* const least = minima + std::size_t{codes.at(place)} * buckets + bucket_of(place, buckets);
    // Most keys are not less than what is there.
    if (key < *static_cast<volatile unsigned long long*>(least)) atomicMin(least, key);
  }
}

/// The k-th least of the buckets' keys of each code, which a block looks for by counting those below each.
__global__ void __launch_bounds__(kMapThreads)
    find_bounds(const unsigned long long* minima, unsigned buckets, unsigned k, std::uint64_t* bounds) {
  const unsigned long long* const mine = minima + std::size_t{blockIdx.x} * buckets;
  for (unsigned i = threadIdx.x; i < buckets; i += kMapThreads) {
    unsigned before = 0;
    for (unsigned j = 0; j < buckets; ++j) before += mine[j] < mine[i] || (mine[j] == mine[i] && j < i) ? 1 : 0;
    if (before == k - 1) bounds[blockIdx.x] = mine[i];
  }
}

/// order[i] = places[order[i]]
__global__ void __launch_bounds__(kMapThreads)
    replace(const std::uint32_t* places, std::size_t n, std::uint32_t* order) {
  const std::size_t i = std::size_t{blockIdx.x} * kMapThreads + threadIdx.x;
  if (i < n) order[i] = places[order[i]];
}

template <class Code>
__global__ void __launch_bounds__(kMapThreads)
    take_codes(const KeyReader<Code> codes, const std::uint32_t* places, std::size_t n, std::uint32_t* taken) {
  const std::size_t i = std::size_t{blockIdx.x} * kMapThreads + threadIdx.x;
  if (i < n) taken[i] = static_cast<std::uint32_t>(codes.at(places[i]));
}

/// The sizes of a search for contenders.
struct Search {
  std::size_t codes = 0;
  unsigned buckets = 0;  ///< buckets of one code, a power of two
  std::size_t stride = 1;
};

bool is_aligned(const ReadKeys& keys) { return reinterpret_cast<std::uintptr_t>(keys.column.data) % kReadBytes == 0; }

/// Nothing where looking for contenders would not pay.
std::optional<Search> plan_search(std::uint64_t greatest_code, std::size_t n, std::size_t k) {
  if (greatest_code >= ContenderPolicy::kMaxCodes || k > ContenderPolicy::kMaxK) return std::nullopt;
  Search search;
  search.codes = static_cast<std::size_t>(greatest_code) + 1;
  search.buckets = static_cast<unsigned>(std::max(std::bit_ceil(2 * k), ContenderPolicy::kMinBuckets));
  if (search.codes * search.buckets > ContenderPolicy::kMaxBuckets) return std::nullopt;
  const std::size_t sampled = search.codes * search.buckets * ContenderPolicy::kSampledOfBucket;
  if (n / ContenderPolicy::kMinStride < sampled) return std::nullopt;
  search.stride = std::min(n / sampled, ContenderPolicy::kMaxStride);
  return search;
}

/// Contenders in ascending order, and the first place of each code.
struct Found {
  Buffer<std::uint32_t> places;
  Buffer<std::uint32_t> codes;
  std::size_t count = 0;
  std::vector<std::uint32_t> first_places;
};

/// The greatest key of each code that stays.
Buffer<std::uint64_t> bounds_of(const ReadKeys& codes, const ReadKeys& keys, std::size_t n, std::size_t k,
                                const Search& search, DeviceContext& device) {
  const std::size_t size = search.codes * search.buckets;
  const auto minima = device.allocate<unsigned long long>(size);
  auto bounds = device.allocate<std::uint64_t>(search.codes);
  static_assert(kNoBound == ~std::uint64_t{0} && kNoPlace == ~std::uint32_t{0});
  SKYRANK_CUDA_CALL(cudaMemsetAsync(minima.data(), 0xff, minima.bytes(), device.stream()));
  const std::size_t resident = kMaxBlocksOfProcessor * device.properties().multiprocessors;
  const Grid tiles{.blocks = std::min(blocks_for(n, search.stride * kMapThreads), resident), .threads = kMapThreads};
  with_readers(codes, keys, [&]<class Code, class Key>(const KeyReader<Code>& of_codes, const KeyReader<Key>& of_keys) {
    launch("sample_tiles", sample_tiles<Code, Key>, tiles, device.stream(), of_codes, of_keys, n, search.stride,
           search.buckets, minima.data());
  });
  launch("find_bounds", find_bounds, {.blocks = search.codes, .threads = kMapThreads}, device.stream(), minima.data(),
         search.buckets, static_cast<unsigned>(k), bounds.data());
  return bounds;
}

std::optional<Found> find(const ReadKeys& codes, const ReadKeys& keys, std::size_t n, std::size_t k,
                          const Search& search, DeviceContext& device) {
  const auto bounds = bounds_of(codes, keys, n, k, search, device);
  const auto first_places = device.allocate<std::uint32_t>(search.codes);
  SKYRANK_CUDA_CALL(cudaMemsetAsync(first_places.data(), 0xff, first_places.bytes(), device.stream()));
  const std::size_t room = n / ContenderPolicy::kMinRowsOfContender;
  const auto unsorted = device.allocate<std::uint32_t>(room);
  const auto counter = device.allocate<unsigned long long>(1);
  SKYRANK_CUDA_CALL(cudaMemsetAsync(counter.data(), 0, counter.bytes(), device.stream()));
  list_rows(codes, keys, n, {search.codes, bounds.data(), first_places.data()}, {unsorted.data(), room, counter.data()},
            device);
  Found found;
  found.count = value_at(counter.data(), device);
  if (found.count > room) return std::nullopt;
  found.places = device.allocate<std::uint32_t>(found.count);
  sort_keys(unsorted.data(), found.places.data(), found.count, device);
  found.codes = device.allocate<std::uint32_t>(found.count);
  with_key(codes.column.width, [&]<class Code>(Code) {
    launch("take_codes", take_codes<Code>, one_each(found.count), device.stream(), KeyReader<Code>(codes),
           found.places.data(), found.count, found.codes.data());
  });
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

Contenders find_contenders(const ReadKeys& codes, std::uint64_t greatest_code, const ReadKeys& keys, std::size_t n,
                           std::size_t k) {
  const auto search = plan_search(greatest_code, n, k);
  if (!search || !is_aligned(codes) || !is_aligned(keys)) return {.rows = {}, .are_all = true};
  const Range range("contenders of partitions");
  DeviceContext& device = DeviceContext::of_process();
  std::optional<Found> found;
  {
    const Lease lease(device);
    found = find(codes, keys, n, k, *search, device);
  }
  if (!found) return {.rows = {}, .are_all = true};
  PartitionedRows rows = partition_rows({found->codes.data(), KeyWidth::bytes4}, found->count);
  set_first_places(found->first_places, rows);
  const Lease lease(device);
  launch("replace", replace, one_each(found->count), device.stream(), found->places.data(), found->count,
         static_cast<std::uint32_t*>(rows.order.data()));
  return {.rows = std::move(rows), .are_all = false};
}

PartitionedRows partition_contenders(const KeyColumn& codes, const KeyColumn& keys, std::size_t n, std::size_t k) {
  Contenders found = find_contenders({.column = codes}, expression::greatest_key(codes, n), {.column = keys}, n, k);
  return found.are_all ? partition_rows(codes, n) : std::move(found.rows);
}

}  // namespace skyrank::kernels::cuda::groups
