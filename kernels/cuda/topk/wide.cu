#include "kernels/cuda/topk/wide.cuh"

#include <bit>
#include <cstdint>

#include "kernels/cuda/device/calls.hpp"
#include "kernels/cuda/device/kernel/search.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/select.cuh"
#include "kernels/cuda/device/sort_and_scan.hpp"
#include "kernels/cuda/topk/finish.hpp"

namespace skyrank::kernels::cuda::topk {
namespace {

/// The key at the k-th place, and how many of the chosen rows have lesser ones.
struct AtKth {
  std::uint64_t key;
  std::uint64_t before;
};

/// One thread: `chosen` are places in ascending order of keys.
template <class Key>
__global__ void find_kth(const Key* keys, const RowId* chosen, std::size_t wanted, AtKth* kth) {
  const Key key = keys[chosen[wanted - 1]];
  *kth = {.key = key,
          .before = first_where(std::size_t{0}, wanted - 1, [=](std::size_t i) { return keys[chosen[i]] >= key; })};
}

/// The row ids at some places of a list.
__global__ void ids_at(const RowId* ids, const RowId* places, std::size_t count, RowId* found) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) found[i] = ids != nullptr ? ids[places[i]] : places[i];
}

template <class Key>
TieCut cut_by(const Key* keys, const RowList& rows, const Buffer<RowId>& chosen, DeviceContext& device) {
  const auto kth = device.allocate<AtKth>(1);
  launch("find_kth", find_kth<Key>, {.blocks = 1, .threads = 1}, device.stream(), keys, chosen.data(), chosen.size(),
         kth.data());
  const AtKth found = value_at(kth.data(), device);
  const auto key = static_cast<Key>(found.key);
  const Selection ties(HasKey<Key>{keys, key}, rows.count, device);
  TieCut cut{.before = static_cast<std::size_t>(found.before), .ties = {}};
  const std::size_t count = ties.count();
  if (cut.before + count == chosen.size()) return cut;
  cut.ties = {.count = count, .ids = device.allocate<RowId>(count)};
  ties.list(IdAt{rows.ids.data()}, cut.ties.ids.data());
  return cut;
}

/// Sorts row ids by keys beside them; equal keys keep their order.
template <class Key>
Buffer<RowId> sorted_by(const Key* keys, Buffer<RowId> ids, DeviceContext& device) {
  auto keys_out = device.allocate<Key>(ids.size());
  auto sorted = device.allocate<RowId>(ids.size());
  sort_pairs(keys, keys_out.data(), ids.data(), sorted.data(), ids.size(), device);
  return sorted;
}

Buffer<RowId> sorted_by_id(Buffer<RowId> ids, std::size_t n, DeviceContext& device) {
  auto sorted = device.allocate<RowId>(ids.size());
  const auto* const in = reinterpret_cast<const std::uint64_t*>(ids.data());
  auto* const out = reinterpret_cast<std::uint64_t*>(sorted.data());
  sort_keys(in, out, ids.size(), device, static_cast<int>(std::bit_width(n)));
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
  launch("ids_at", ids_at, one_each(count), device_.stream(), rows.ids.data(), places.data(), count,
         all.data() + ids_.size());
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
