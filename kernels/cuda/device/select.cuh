#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.hpp"
#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/calls.hpp"
#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/sort_and_scan.hpp"

// Compaction in order, for conditions that are cheap to ask twice: once to count, once to list. A condition is a
// function of a place, in [0, n).
namespace skyrank::kernels::cuda {

/// Holds for the places whose bit is `wanted`, 1 or 0.
struct BitIs {
  const std::uint32_t* words;
  std::uint32_t wanted = 1;

  SKYRANK_HD bool operator()(std::size_t i) const { return (words[i / 32] >> i % 32 & 1u) == wanted; }
};

/// The ids of rows from place `first` on: their places, unless there is a list of ids.
struct IdAt {
  const RowId* ids = nullptr;
  std::size_t first = 0;

  SKYRANK_HD RowId operator()(std::size_t i) const {
    return ids != nullptr ? ids[first + i] : static_cast<RowId>(first + i);
  }
};

/// Items of an array, by their places.
template <class T>
struct ItemAt {
  const T* items;

  SKYRANK_HD T operator()(std::size_t i) const { return items[i]; }
};

inline constexpr unsigned kSelectRounds = 32;                    ///< places of a lane
inline constexpr unsigned kSelectTile = kSelectRounds * kLanes;  ///< places of a warp

/// Counts the selected places of each tile. The last tile is behind all places, so that the sum before it is of all.
template <class Condition>
__global__ void __launch_bounds__(kMapThreads)
    count_selected(Condition holds, std::size_t n, std::size_t tiles, std::uint64_t* counts) {
  const std::size_t tile = (std::size_t{blockIdx.x} * kMapThreads + threadIdx.x) / kLanes;
  if (tile >= tiles) return;
  const std::size_t first = tile * kSelectTile + threadIdx.x % kLanes;
  unsigned count = 0;
#pragma unroll 8
  for (unsigned round = 0; round < kSelectRounds; ++round) {
    const std::size_t place = first + round * kLanes;
    if (place < n && holds(place)) ++count;
  }
  count = __reduce_add_sync(kAllLanes, count);
  if (threadIdx.x % kLanes == 0) counts[tile] = count;
}

/// Lists the items of the selected places; a tile's begin where `before` says.
template <class Condition, class Item, class T>
__global__ void __launch_bounds__(kMapThreads)
    list_selected(Condition holds, std::size_t n, const std::uint64_t* before, Item item, T* listed) {
  const std::size_t tile = (std::size_t{blockIdx.x} * kMapThreads + threadIdx.x) / kLanes;
  if (tile * kSelectTile >= n) return;
  const unsigned lanes_before = (1u << threadIdx.x % kLanes) - 1;
  const std::size_t first = tile * kSelectTile + threadIdx.x % kLanes;
  T* next = listed + before[tile];
#pragma unroll 8
  for (unsigned round = 0; round < kSelectRounds; ++round) {
    const std::size_t place = first + round * kLanes;
    const bool selected = place < n && holds(place);
    const unsigned selected_lanes = __ballot_sync(kAllLanes, selected);
    if (selected) next[__popc(selected_lanes & lanes_before)] = static_cast<T>(item(place));
    next += __popc(selected_lanes);
  }
}

/// The places in [0, n) for which a condition holds.
template <class Condition>
class Selection {
 public:
  Selection(const Condition& condition, std::size_t n, DeviceContext& device)
      : holds_(condition),
        n_(n),
        device_(device),
        before_(device.allocate<std::uint64_t>((n + kSelectTile - 1) / kSelectTile + 1)) {
    launch("count_selected", count_selected<Condition>, grid(), device.stream(), holds_, n_, before_.size(),
           before_.data());
    exclusive_sum(before_.data(), before_.size(), device);
  }

  /// Returns how many there are. Waits for the device.
  std::size_t count() const { return value_at(before_.data() + before_.size() - 1, device_); }

  /// Writes item(place) of each to `listed`, in their order.
  template <class Item, class T>
  void list(const Item& item, T* listed) const {
    launch("list_selected", list_selected<Condition, Item, T>, grid(), device_.stream(), holds_, n_, before_.data(),
           item, listed);
  }

 private:
  Grid grid() const { return one_each(before_.size() * kLanes); }

  Condition holds_;
  std::size_t n_;
  DeviceContext& device_;
  Buffer<std::uint64_t> before_;  // selected places before each tile
};

}  // namespace skyrank::kernels::cuda
