#include "kernels/cuda/groups/list_rows.hpp"

#include <algorithm>
#include <type_traits>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/groups/policy.hpp"
#include "kernels/cuda/groups/read_keys.cuh"
#include "kernels/cuda/topk/sampled_threshold/collector.cuh"

// One pass over codes and keys. Bounds lie in shared memory where there is room for those of all codes. First places
// are found in the first rows already, for most codes; a block that knows those of all codes before it starts does not
// look for them. A warp gathers the rows that stay, and lists many of them at a time.
namespace skyrank::kernels::cuda::groups {
namespace {

constexpr unsigned kListThreads = ListPolicy::kThreads;
constexpr unsigned kWarps = kListThreads / kLanes;
constexpr unsigned kRowsOfThread = kRowsOfLoad * ListPolicy::kLoads;
constexpr std::size_t kTile = std::size_t{kListThreads} * kRowsOfThread;
static_assert(kRowsOfThread <= 32, "a bit for each row of a thread");

/// Bounds as they are compared with keys.
template <class Key>
using Bound = std::conditional_t<sizeof(Key) == sizeof(std::uint64_t), std::uint64_t, std::uint32_t>;

template <class Key>
__device__ Bound<Key> narrow(std::uint64_t bound) {
  constexpr auto kGreatest = static_cast<Bound<Key>>(~Bound<Key>{0});
  return bound < kGreatest ? static_cast<Bound<Key>>(bound) : kGreatest;
}

/// The table of codes as a block reads it.
template <class Key, bool kShared>
class BlockTable {
 public:
  /// For a pass over rows from `begin` on. All threads of the block make one.
  __device__ BlockTable(const CodeTable& table, std::size_t begin) : table_(table) {
    bool all_known = true;
    for (std::size_t code = threadIdx.x; code < table.count; code += kListThreads) {
      const std::uint32_t first = table.first_places[code];
      all_known = all_known && first < begin;
      if constexpr (kShared) {
        bounds()[code] = narrow<Key>(table.bounds[code]);
        first_places()[code] = first;
      }
    }
    all_known_ = __syncthreads_and(all_known ? 1 : 0) != 0;
  }

  __device__ bool stays(std::size_t code, Key key) const {
    if constexpr (kShared) {
      return key <= bounds()[code];
    } else {
      return key <= narrow<Key>(table_.bounds[code]);
    }
  }

  /// All codes have their first rows before the pass.
  __device__ bool all_known() const { return all_known_; }

  __device__ void see(std::size_t code, std::uint32_t place) const {
    if constexpr (kShared) {
      if (place < first_places()[code]) atomicMin(first_places() + code, place);
    } else {
      std::uint32_t* const first = table_.first_places + code;
      // The first look may be at an old place, which is never before the true one.
      if (place < *first && place < *static_cast<volatile std::uint32_t*>(first)) atomicMin(first, place);
    }
  }

  /// Puts first places together with those of other blocks. All threads of the block call.
  __device__ void merge() const {
    if constexpr (kShared) {
      if (all_known_) return;
      __syncthreads();
      for (std::size_t code = threadIdx.x; code < table_.count; code += kListThreads) {
        const std::uint32_t mine = first_places()[code];
        if (mine < *static_cast<volatile std::uint32_t*>(table_.first_places + code)) {
          atomicMin(table_.first_places + code, mine);
        }
      }
    }
  }

 private:
  __device__ static Bound<Key>* bounds() { return dynamic_shared<Bound<Key>>(); }
  __device__ std::uint32_t* first_places() const { return reinterpret_cast<std::uint32_t*>(bounds() + table_.count); }

  const CodeTable& table_;
  bool all_known_ = false;
};

template <class Code, class Key, bool kShared>
__global__ void __launch_bounds__(kListThreads)
    list_below(const KeyReader<Code> codes, const KeyReader<Key> keys, std::size_t begin, std::size_t n,
               const CodeTable codes_known, const RowList list) {
  __shared__ std::uint32_t pending_rows[kWarps][ListPolicy::kPending];
  const BlockTable<Key, kShared> table(codes_known, begin);
  topk::Collector<std::uint32_t, ListPolicy::kPending> pending(pending_rows[threadIdx.x / kLanes],
                                                               {list.places, list.room, list.count});
  for (std::size_t tile = begin + blockIdx.x * kTile; tile < n; tile += gridDim.x * kTile) {
    const std::size_t first = tile + std::size_t{threadIdx.x} * kRowsOfLoad;
    Neighbours<Code> loaded_codes[ListPolicy::kLoads];
    Neighbours<Key> loaded_keys[ListPolicy::kLoads];
#pragma unroll
    for (unsigned load = 0; load < ListPolicy::kLoads; ++load) {
      const std::size_t place = first + std::size_t{load} * kListThreads * kRowsOfLoad;
      loaded_codes[load] = codes.load(place, n);
      loaded_keys[load] = keys.load(place, n);
    }
    unsigned stays = 0;
#pragma unroll
    for (unsigned load = 0; load < ListPolicy::kLoads; ++load) {
      const std::size_t place = first + std::size_t{load} * kListThreads * kRowsOfLoad;
#pragma unroll
      for (unsigned i = 0; i < kRowsOfLoad; ++i) {
        if (place + i >= n) continue;
        const auto code = static_cast<std::size_t>(codes.key(loaded_codes[load].values[i]));
        if (!table.all_known()) table.see(code, static_cast<std::uint32_t>(place + i));
        if (table.stays(code, keys.key(loaded_keys[load].values[i]))) stays |= 1u << (load * kRowsOfLoad + i);
      }
    }
    pending.add<kRowsOfThread>(stays, [&](unsigned i) {
      return static_cast<std::uint32_t>(first + std::size_t{i / kRowsOfLoad} * kListThreads * kRowsOfLoad +
                                        i % kRowsOfLoad);
    });
  }
  pending.flush();
  table.merge();
}

template <class Code, class Key, bool kShared>
void launch_list(const KeyReader<Code>& codes, const KeyReader<Key>& keys, std::size_t n, const CodeTable& table,
                 const RowList& list, DeviceContext& device) {
  const std::size_t shared = kShared ? table.count * (sizeof(Bound<Key>) + sizeof(std::uint32_t)) : 0;
  const auto multiprocessors = device.properties().multiprocessors;
  const std::size_t resident = resident_blocks(list_below<Code, Key, kShared>, kListThreads, shared) * multiprocessors;
  const auto pass = [&](std::size_t begin, std::size_t end) {
    if (begin >= end) return;
    const Grid grid{
        .blocks = std::min(blocks_for(end - begin, kTile), resident), .threads = kListThreads, .shared_bytes = shared};
    launch("list_below", list_below<Code, Key, kShared>, grid, device.stream(), codes, keys, begin, end, table, list);
  };
  const std::size_t few = blocks_for(table.count * ListPolicy::kFirstRowsOfCode, kTile) * kTile;
  pass(0, std::min(few, n));
  pass(few, n);
}

}  // namespace

void list_rows(const ReadKeys& codes, const ReadKeys& keys, std::size_t n, const CodeTable& table, const RowList& list,
               DeviceContext& device) {
  with_readers(codes, keys,
               [&]<class Code, class Key>(const KeyReader<Code>& code_reader, const KeyReader<Key>& key_reader) {
                 const std::size_t shared = table.count * (sizeof(Bound<Key>) + sizeof(std::uint32_t));
                 if (shared + sizeof(std::uint32_t) * kWarps * ListPolicy::kPending <=
                     device.properties().shared_bytes_per_block) {
                   launch_list<Code, Key, true>(code_reader, key_reader, n, table, list, device);
                 } else {
                   launch_list<Code, Key, false>(code_reader, key_reader, n, table, list, device);
                 }
               });
}

}  // namespace skyrank::kernels::cuda::groups
