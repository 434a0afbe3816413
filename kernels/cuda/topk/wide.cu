#include "kernels/cuda/topk/wide.hpp"

#include <cub/device/device_radix_sort.cuh>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/block_sums.cuh"

namespace skyrank::kernels::cuda::topk {
namespace {

using Count = unsigned long long;

constexpr unsigned kThreads = 256;

std::size_t grid_for(std::size_t n, const DeviceContext& device) {
  return std::min(blocks_for(n, kThreads), 8 * static_cast<std::size_t>(device.properties().multiprocessors));
}

/// The rows at the k-th place.
struct AtKth {
  Count key;     ///< its key
  Count before;  ///< chosen rows with lesser keys
  Count ties;    ///< rows with that key
  unsigned arrived;
};

/// One thread: `chosen` are places in ascending order of keys.
template <class Key>
__global__ void find_kth(const Key* keys, const RowId* chosen, std::size_t wanted, AtKth* kth) {
  const Key key = keys[chosen[wanted - 1]];
  std::size_t low = 0;
  std::size_t high = wanted - 1;  // the first place with that key is in [low, high]
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (keys[chosen[middle]] < key)
      low = middle + 1;
    else
      high = middle;
  }
  *kth = {.key = key, .before = low, .ties = 0, .arrived = 0};
}

/// The rows of one block, which are consecutive.
struct Stretch {
  std::size_t begin;
  std::size_t end;
};

__device__ Stretch stretch_of_block(std::size_t n) {
  const std::size_t tiles = (n + kThreads - 1) / kThreads;
  const std::size_t each = (tiles + gridDim.x - 1) / gridDim.x * kThreads;
  const std::size_t begin = min(n, blockIdx.x * each);
  return {begin, min(n, begin + each)};
}

/// Counts the rows that tie; `before_block` gets how many of them lie in the blocks before each block.
template <class Key>
__global__ void __launch_bounds__(kThreads)
    count_ties(const Key* keys, std::size_t n, AtKth* kth, Count* before_block) {
  const auto key = static_cast<Key>(kth->key);
  const Stretch stretch = stretch_of_block(n);
  Count mine = 0;
  for (std::size_t i = stretch.begin + threadIdx.x; i < stretch.end; i += kThreads) mine += keys[i] == key ? 1 : 0;
  Count of_block = 0;
  sum_before(mine, of_block);
  if (threadIdx.x == 0) before_block[blockIdx.x] = of_block;
  if (!last_block(&kth->arrived)) return;
  const Count total = sum_over_blocks(before_block);
  if (threadIdx.x == 0) kth->ties = total;
}

/// Writes the row ids of those that tie, in the order in which they are listed.
template <class Key>
__global__ void __launch_bounds__(kThreads) list_ties(const Key* keys, std::size_t n, const RowId* ids,
                                                      const AtKth* kth, const Count* before_block, RowId* ties) {
  const auto key = static_cast<Key>(kth->key);
  const Stretch stretch = stretch_of_block(n);
  Count place = before_block[blockIdx.x];
  for (std::size_t tile = stretch.begin; tile < stretch.end; tile += kThreads) {
    const std::size_t i = tile + threadIdx.x;
    const bool tie = i < stretch.end && keys[i] == key;
    unsigned total = 0;
    const unsigned before = sum_before(tie ? 1u : 0u, total);
    if (tie) ties[place + before] = ids != nullptr ? ids[i] : static_cast<RowId>(i);
    place += total;
  }
}

/// The row ids at some places of a list.
__global__ void ids_at(const RowId* ids, const RowId* places, std::size_t count, RowId* found) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) found[i] = ids != nullptr ? ids[places[i]] : places[i];
}

template <class Key>
TieCut cut_by(const Key* keys, const RowList& rows, const Buffer<RowId>& chosen, DeviceContext& device) {
  const Grid grid{.blocks = grid_for(rows.count, device), .threads = kThreads};
  auto kth = device.allocate<AtKth>(1);
  auto before_block = device.allocate<Count>(grid.blocks);
  launch("find_kth", find_kth<Key>, {.blocks = 1, .threads = 1}, device.stream(), keys, chosen.data(), chosen.size(),
         kth.data());
  launch("count_ties", count_ties<Key>, grid, device.stream(), keys, rows.count, kth.data(), before_block.data());
  AtKth found{};
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(&found, kth.data(), sizeof(found), cudaMemcpyDeviceToHost, device.stream()));
  device.synchronize();
  TieCut cut{.before = static_cast<std::size_t>(found.before), .ties = {}};
  if (found.before + found.ties == chosen.size()) return cut;
  cut.ties = {.count = static_cast<std::size_t>(found.ties), .ids = device.allocate<RowId>(found.ties)};
  launch("list_ties", list_ties<Key>, grid, device.stream(), keys, rows.count, rows.ids.data(), kth.data(),
         before_block.data(), cut.ties.ids.data());
  return cut;
}

/// Sorts row ids by keys beside them; equal keys keep their order.
template <class Key>
Buffer<RowId> sorted_by(const Key* keys, Buffer<RowId> ids, DeviceContext& device) {
  auto keys_out = device.allocate<Key>(ids.size());
  auto sorted = device.allocate<RowId>(ids.size());
  const auto sort = [&](void* temporary, std::size_t& bytes) {
    SKYRANK_CUDA_CALL(cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, keys_out.data(), ids.data(),
                                                      sorted.data(), ids.size(), 0, 8 * static_cast<int>(sizeof(Key)),
                                                      device.stream()));
  };
  std::size_t bytes = 0;
  sort(nullptr, bytes);
  auto temporary = device.allocate<std::byte>(bytes);
  sort(temporary.data(), bytes);
  return sorted;
}

Buffer<RowId> sorted_by_id(Buffer<RowId> ids, std::size_t n, DeviceContext& device) {
  auto sorted = device.allocate<RowId>(ids.size());
  const auto* const in = reinterpret_cast<const std::uint64_t*>(ids.data());
  auto* const out = reinterpret_cast<std::uint64_t*>(sorted.data());
  const auto sort = [&](void* temporary, std::size_t& bytes) {
    SKYRANK_CUDA_CALL(cub::DeviceRadixSort::SortKeys(temporary, bytes, in, out, ids.size(), 0,
                                                     static_cast<int>(std::bit_width(n)), device.stream()));
  };
  std::size_t bytes = 0;
  sort(nullptr, bytes);
  auto temporary = device.allocate<std::byte>(bytes);
  sort(temporary.data(), bytes);
  return sorted;
}

}  // namespace

std::vector<std::span<const KeyColumn>> parts_of(std::span<const KeyColumn> columns) {
  std::vector<std::span<const KeyColumn>> parts;
  while (!columns.empty()) {
    std::size_t count = 1;
    while (count < columns.size() && total_bits(columns.first(count + 1)) <= 64) ++count;
    parts.push_back(columns.first(count));
    columns = columns.subspan(count);
  }
  return parts;
}

ResidentKeys pack_listed(std::span<const KeyColumn> part, const RowList& rows, DeviceContext& device) {
  return pack(part, rows.count, device, rows.ids.data());
}

TieCut cut_at_kth(const RowList& rows, const ResidentKeys& keys, const Buffer<RowId>& chosen, DeviceContext& device) {
  if (keys.width == KeyWidth::bytes4) {
    return cut_by(static_cast<const std::uint32_t*>(keys.data), rows, chosen, device);
  }
  return cut_by(static_cast<const std::uint64_t*>(keys.data), rows, chosen, device);
}

void FoundRows::add(const RowList& rows, const Buffer<RowId>& places, std::size_t count) {
  if (count == 0) return;
  auto all = device_.allocate<RowId>(ids_.size() + count);
  if (ids_.size() > 0) {
    SKYRANK_CUDA_CALL(
        cudaMemcpyAsync(all.data(), ids_.data(), ids_.bytes(), cudaMemcpyDeviceToDevice, device_.stream()));
  }
  launch("ids_at", ids_at, {.blocks = blocks_for(count, kThreads), .threads = kThreads}, device_.stream(),
         rows.ids.data(), places.data(), count, all.data() + ids_.size());
  ids_ = std::move(all);
}

// A stable sort by row ids, then by each part's keys, the last part's first.
Buffer<RowId> FoundRows::in_order(std::span<const std::span<const KeyColumn>> parts, std::size_t n) && {
  if (ids_.size() < 2) return std::move(ids_);
  RowList rows{.count = ids_.size(), .ids = sorted_by_id(std::move(ids_), n, device_)};
  for (std::size_t i = parts.size(); i > 0; --i) {
    const ResidentKeys keys = pack_listed(parts[i - 1], rows, device_);
    rows.ids = keys.width == KeyWidth::bytes4
                   ? sorted_by(static_cast<const std::uint32_t*>(keys.data), std::move(rows.ids), device_)
                   : sorted_by(static_cast<const std::uint64_t*>(keys.data), std::move(rows.ids), device_);
  }
  return std::move(rows.ids);
}

}  // namespace skyrank::kernels::cuda::topk
