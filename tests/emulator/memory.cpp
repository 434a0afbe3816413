#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <vector>

#include "emulator/testing.hpp"
#include "tests/build.hpp"
#include "tests/emulator/poison.hpp"
#include "tests/emulator/runtime.hpp"

/// Only accounts: its memory comes from the host's allocator as all does.
struct CUmemPoolHandle_st {
  int device = 0;
  std::size_t limit = 0;  ///< 0: none
  std::uint64_t release_threshold = 0;
  std::uint64_t used = 0;
  std::uint64_t used_high = 0;
  std::uint64_t reserved = 0;
  std::uint64_t reserved_high = 0;
  int reuse[3] = {1, 1, 1};
};

namespace skyrank::emulator {
namespace {

using Pool = CUmemPoolHandle_st;

constexpr std::uint64_t kPoolGranule = 2 << 20;
constexpr std::align_val_t kAlignment{256};

enum class Kind : std::uint8_t { device, pooled, host, registered };

struct Allocation {
  std::size_t bytes = 0;
  Kind kind = Kind::device;
  int device = 0;  ///< device of memory that is on one
  std::shared_ptr<Pool> pool;

  bool on_device() const { return kind == Kind::device || kind == Kind::pooled; }
};

/// Freed memory, which keeps its poison until much more has been freed: a read of it gives poison, and a write is found
/// out at the end. The address sanitizer sees both at once, so builds with it keep nothing.
class Quarantine {
 public:
  void add(void* pointer, std::size_t bytes) {
    std::memset(pointer, kPoison, bytes);
    freed_.push_back({static_cast<unsigned char*>(pointer), bytes});
    bytes_ += bytes;
    while (bytes_ > kKeptBytes) release_oldest();
  }

 private:
  struct Freed {
    unsigned char* data;
    std::size_t bytes;
  };

  static constexpr std::size_t kKeptBytes = tests::kSanitized ? 0 : std::size_t{32} << 20;

  void release_oldest() {
    const Freed oldest = freed_.front();
    freed_.pop_front();
    bytes_ -= oldest.bytes;
    const bool written =
        std::any_of(oldest.data, oldest.data + oldest.bytes, [](auto byte) { return byte != kPoison; });
    if (written) {
      std::fputs("emulator: device memory was written after it had been freed\n", stderr);
      std::abort();
    }
    ::operator delete(oldest.data, kAlignment);
  }

  std::deque<Freed> freed_;
  std::size_t bytes_ = 0;
};

std::vector<std::shared_ptr<Pool>> make_default_pools() {
  std::vector<std::shared_ptr<Pool>> pools;
  for (int device = 0; device < num_devices(); ++device) {
    pools.push_back(std::make_shared<Pool>());
    pools.back()->device = device;
  }
  return pools;
}

/// Everything the runtime gave out, by address.
class Memory {
 public:
  /// Nothing when there is not enough.
  std::optional<void*> allocate(std::size_t bytes, Kind kind, const std::shared_ptr<Pool>& pool = {});
  /// False: there is no such allocation of one of these kinds.
  bool release(void* pointer, std::initializer_list<Kind> kinds);

  bool add_registered(void* pointer, std::size_t bytes);

  struct Found {
    std::uintptr_t base = 0;
    Allocation allocation;
  };
  /// The allocation that the address lies in.
  std::optional<Found> find(const void* pointer) const;
  /// Returns true if the bytes lie in one allocation on the device.
  bool is_device_range(const void* pointer, std::size_t bytes) const;

  std::size_t free_bytes(int device) const;

  cudaMemPool_t add_pool(int device, std::size_t limit);
  bool remove_pool(cudaMemPool_t pool);
  std::shared_ptr<Pool> find_pool(cudaMemPool_t pool) const;
  std::shared_ptr<Pool> default_pool(int device) const { return default_pools_[static_cast<std::size_t>(device)]; }
  /// Pools hold at most `bytes_to_keep`, or what is in use.
  static void trim(Pool& pool, std::uint64_t bytes_to_keep);
  void trim_all();

  Live live() const;

  /// Recursive, so that a caller that looks at a pool's figures may hold it too.
  std::recursive_mutex& mutex() const { return mutex_; }

 private:
  mutable std::recursive_mutex mutex_;
  std::map<std::uintptr_t, Allocation> allocations_;
  Quarantine quarantine_;
  std::vector<std::size_t> device_bytes_ = std::vector<std::size_t>(static_cast<std::size_t>(num_devices()));
  std::vector<std::shared_ptr<Pool>> default_pools_ = make_default_pools();
  std::vector<std::shared_ptr<Pool>> pools_;
};

using Lock = std::lock_guard<std::recursive_mutex>;

/// Never destroyed: what lives as long as the program gives its memory back after everything here would be gone.
Memory& memory() {
  static Memory& only = *new Memory;
  return only;
}

/// The product's pool keeps small blocks without telling the runtime; it poisons them itself where it is told to.
const int pool_poisons = setenv("SKYRANK_POISON_DEVICE_MEMORY", "1", 0);

std::uintptr_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

std::uint64_t whole_granules(std::uint64_t bytes) { return (bytes + kPoolGranule - 1) / kPoolGranule * kPoolGranule; }

std::optional<void*> Memory::allocate(std::size_t bytes, Kind kind, const std::shared_ptr<Pool>& pool) {
  const Lock lock(mutex_);
  if (bytes == 0) return nullptr;
  const int device = pool != nullptr ? pool->device : current_device();
  Allocation allocation{.bytes = bytes, .kind = kind, .device = device, .pool = pool};
  if (allocation.on_device() && bytes > free_bytes(device)) return {};
  if (pool != nullptr && pool->limit > 0 && bytes > pool->limit - std::min<std::uint64_t>(pool->limit, pool->used)) {
    return {};
  }
  void* const pointer = ::operator new(bytes, kAlignment, std::nothrow);
  if (pointer == nullptr) return {};
  std::memset(pointer, kPoison, bytes);
  if (allocation.on_device()) device_bytes_[static_cast<std::size_t>(device)] += bytes;
  if (pool != nullptr) {
    pool->used += bytes;
    pool->used_high = std::max(pool->used_high, pool->used);
    pool->reserved = std::max(pool->reserved, whole_granules(pool->used));
    pool->reserved_high = std::max(pool->reserved_high, pool->reserved);
  }
  allocations_.emplace(address(pointer), std::move(allocation));
  return pointer;
}

bool Memory::release(void* pointer, std::initializer_list<Kind> kinds) {
  const Lock lock(mutex_);
  const auto found = allocations_.find(address(pointer));
  if (found == allocations_.end() || std::ranges::count(kinds, found->second.kind) == 0) return false;
  const Allocation allocation = std::move(found->second);
  allocations_.erase(found);
  if (allocation.on_device()) device_bytes_[static_cast<std::size_t>(allocation.device)] -= allocation.bytes;
  if (allocation.pool != nullptr) allocation.pool->used -= allocation.bytes;
  if (allocation.kind != Kind::registered) {
    quarantine_.add(pointer, allocation.bytes);
  }
  return true;
}

bool Memory::add_registered(void* pointer, std::size_t bytes) {
  const Lock lock(mutex_);
  const auto next = allocations_.lower_bound(address(pointer));
  if (find(pointer) || (next != allocations_.end() && next->first < address(pointer) + bytes)) return false;
  allocations_.emplace(address(pointer), Allocation{.bytes = bytes, .kind = Kind::registered, .device = 0, .pool = {}});
  return true;
}

std::optional<Memory::Found> Memory::find(const void* pointer) const {
  const Lock lock(mutex_);
  auto next = allocations_.upper_bound(address(pointer));
  if (next == allocations_.begin()) return {};
  const auto& [base, allocation] = *--next;
  if (address(pointer) - base >= allocation.bytes) return {};
  return Found{base, allocation};
}

bool Memory::is_device_range(const void* pointer, std::size_t bytes) const {
  const std::optional<Found> found = find(pointer);
  return found && found->allocation.on_device() && bytes <= found->allocation.bytes - (address(pointer) - found->base);
}

std::size_t Memory::free_bytes(int device) const {
  const Lock lock(mutex_);
  return kDeviceMemory - device_bytes_[static_cast<std::size_t>(device)];
}

cudaMemPool_t Memory::add_pool(int device, std::size_t limit) {
  const Lock lock(mutex_);
  pools_.push_back(std::make_shared<Pool>());
  pools_.back()->device = device;
  pools_.back()->limit = limit;
  return pools_.back().get();
}

bool Memory::remove_pool(cudaMemPool_t pool) {
  const Lock lock(mutex_);
  return std::erase_if(pools_, [=](const auto& known) { return known.get() == pool; }) > 0;
}

std::shared_ptr<Pool> Memory::find_pool(cudaMemPool_t pool) const {
  const Lock lock(mutex_);
  for (const auto* const pools : {&default_pools_, &pools_}) {
    const auto found = std::ranges::find(*pools, pool, &std::shared_ptr<Pool>::get);
    if (found != pools->end()) return *found;
  }
  return nullptr;
}

void Memory::trim(Pool& pool, std::uint64_t bytes_to_keep) {
  pool.reserved = std::min(pool.reserved, std::max(whole_granules(pool.used), bytes_to_keep));
}

void Memory::trim_all() {
  const Lock lock(mutex_);
  for (const auto* const pools : {&default_pools_, &pools_}) {
    for (const auto& pool : *pools) trim(*pool, pool->release_threshold);
  }
}

Live Memory::live() const {
  const Lock lock(mutex_);
  const auto on_device =
      std::ranges::count_if(allocations_, [](const auto& entry) { return entry.second.on_device(); });
  return {.device_allocations = static_cast<std::size_t>(on_device),
          .device_bytes = std::accumulate(device_bytes_.begin(), device_bytes_.end(), std::size_t{0}),
          .host_allocations = allocations_.size() - static_cast<std::size_t>(on_device),
          .pools = pools_.size(),
          .streams = live_streams(),
          .events = live_events()};
}

cudaError_t allocate(void** pointer, std::size_t bytes, Kind kind, const std::shared_ptr<Pool>& pool = {}) {
  if (pointer == nullptr) return keep(cudaErrorInvalidValue);
  const std::optional<void*> memory_of_it = memory().allocate(bytes, kind, pool);
  if (!memory_of_it) return keep(cudaErrorMemoryAllocation);
  *pointer = *memory_of_it;
  return cudaSuccess;
}

bool is_on_device(const void* pointer) {
  const auto found = memory().find(pointer);
  return found && found->allocation.on_device();
}

/// Returns true if a side of a copy is where it is said to be, all of it.
bool is_there(const void* pointer, std::size_t bytes, bool on_device) {
  return on_device ? memory().is_device_range(pointer, bytes) : !is_on_device(pointer);
}

cudaError_t check_copy(const void* to, std::size_t to_bytes, const void* from, std::size_t from_bytes,
                       cudaMemcpyKind kind) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  const bool any = kind == cudaMemcpyDefault;
  const bool to_device = any ? is_on_device(to) : kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device =
      any ? is_on_device(from) : kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool both = is_there(to, to_bytes, to_device) && is_there(from, from_bytes, from_device);
  return both ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

namespace {

std::atomic<std::size_t> bytes_to_device = 0;
std::atomic<std::size_t> bytes_from_device = 0;

void count_copy(const void* to, const void* from, std::size_t bytes) {
  if (is_on_device(to) == is_on_device(from)) return;
  (is_on_device(to) ? bytes_to_device : bytes_from_device) += bytes;
}

}  // namespace

Copied copied() { return {.to_device = bytes_to_device, .from_device = bytes_from_device}; }

void release_unused_memory() { memory().trim_all(); }

Live live() { return memory().live(); }

}  // namespace skyrank::emulator

using skyrank::emulator::is_stream;
using skyrank::emulator::keep;
using skyrank::emulator::Kind;
using skyrank::emulator::memory;

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  return skyrank::emulator::allocate(pointer, bytes, Kind::device);
}

cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  return keep(memory().release(pointer, {Kind::device, Kind::pooled}) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream) {
  const int device = is_stream(stream) ? skyrank::emulator::device_of(stream) : skyrank::emulator::current_device();
  return cudaMallocFromPoolAsync(pointer, bytes, memory().default_pool(device).get(), stream);
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  const auto known = memory().find_pool(pool);
  if (known == nullptr) return keep(cudaErrorInvalidValue);
  if (!is_stream(stream)) return keep(cudaErrorInvalidResourceHandle);
  return skyrank::emulator::allocate(pointer, bytes, Kind::pooled, known);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  if (!is_stream(stream)) return keep(cudaErrorInvalidResourceHandle);
  return keep(memory().release(pointer, {Kind::pooled}) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  if (flags > (cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined)) {
    return keep(cudaErrorInvalidValue);
  }
  return skyrank::emulator::allocate(pointer, bytes, Kind::host);
}

cudaError_t cudaFreeHost(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  return keep(memory().release(pointer, {Kind::host}) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned kFlags = cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterReadOnly;
  if (pointer == nullptr || bytes == 0 || (flags & ~kFlags) != 0) return keep(cudaErrorInvalidValue);
  return keep(memory().add_registered(pointer, bytes) ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered);
}

cudaError_t cudaHostUnregister(void* pointer) {
  if (pointer == nullptr) return keep(cudaErrorInvalidValue);
  return keep(memory().release(pointer, {Kind::registered}) ? cudaSuccess : cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr) return keep(cudaErrorInvalidValue);
  const auto found = memory().find(pointer);
  if (!found) {
    *attributes = {.type = cudaMemoryTypeUnregistered,
                   .device = -2,
                   .devicePointer = nullptr,
                   .hostPointer = const_cast<void*>(pointer)};
    return cudaSuccess;
  }
  const bool on_device = found->allocation.on_device();
  *attributes = {.type = on_device ? cudaMemoryTypeDevice : cudaMemoryTypeHost,
                 .device = on_device ? found->allocation.device : 0,
                 .devicePointer = const_cast<void*>(pointer),
                 .hostPointer = on_device ? nullptr : const_cast<void*>(pointer)};
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  *free_bytes = memory().free_bytes(skyrank::emulator::current_device());
  *total_bytes = skyrank::emulator::kDeviceMemory;
  return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  if (pool == nullptr || properties == nullptr || properties->allocType != cudaMemAllocationTypePinned ||
      properties->handleTypes != cudaMemHandleTypeNone || properties->location.type != cudaMemLocationTypeDevice) {
    return keep(cudaErrorInvalidValue);
  }
  if (!skyrank::emulator::is_device(properties->location.id)) return keep(cudaErrorInvalidDevice);
  *pool = memory().add_pool(properties->location.id, properties->maxSize);
  return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return keep(memory().remove_pool(pool) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  const skyrank::emulator::Lock lock(memory().mutex());
  const auto known = memory().find_pool(pool);
  if (known == nullptr || value == nullptr) return keep(cudaErrorInvalidValue);
  // A high-water mark can only be set back.
  const auto set_back = [&](std::uint64_t& high, std::uint64_t current) {
    if (*static_cast<const std::uint64_t*>(value) != 0) return keep(cudaErrorInvalidValue);
    high = current;
    return cudaSuccess;
  };
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
      known->reuse[attribute - cudaMemPoolReuseFollowEventDependencies] = *static_cast<const int*>(value);
      return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
      known->release_threshold = *static_cast<const std::uint64_t*>(value);
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh: return set_back(known->reserved_high, known->reserved);
    case cudaMemPoolAttrUsedMemHigh: return set_back(known->used_high, known->used);
    default: return keep(cudaErrorInvalidValue);
  }
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  const skyrank::emulator::Lock lock(memory().mutex());
  const auto known = memory().find_pool(pool);
  if (known == nullptr || value == nullptr) return keep(cudaErrorInvalidValue);
  const auto give = [&](std::uint64_t figure) {
    *static_cast<std::uint64_t*>(value) = figure;
    return cudaSuccess;
  };
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
      *static_cast<int*>(value) = known->reuse[attribute - cudaMemPoolReuseFollowEventDependencies];
      return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold: return give(known->release_threshold);
    case cudaMemPoolAttrReservedMemCurrent: return give(known->reserved);
    case cudaMemPoolAttrReservedMemHigh: return give(known->reserved_high);
    case cudaMemPoolAttrUsedMemCurrent: return give(known->used);
    case cudaMemPoolAttrUsedMemHigh: return give(known->used_high);
    default: return keep(cudaErrorInvalidValue);
  }
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* accesses, std::size_t count) {
  const skyrank::emulator::Lock lock(memory().mutex());
  if (memory().find_pool(pool) == nullptr || (accesses == nullptr && count > 0)) return keep(cudaErrorInvalidValue);
  for (std::size_t i = 0; i < count; ++i) {
    if (accesses[i].location.type != cudaMemLocationTypeDevice) return keep(cudaErrorInvalidValue);
    if (!skyrank::emulator::is_device(accesses[i].location.id)) return keep(cudaErrorInvalidDevice);
  }
  return cudaSuccess;  // all devices' memory is the host's
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t bytes_to_keep) {
  const skyrank::emulator::Lock lock(memory().mutex());
  const auto known = memory().find_pool(pool);
  if (known == nullptr) return keep(cudaErrorInvalidValue);
  skyrank::emulator::Memory::trim(*known, bytes_to_keep);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (!skyrank::emulator::is_device(device)) return keep(cudaErrorInvalidDevice);
  *pool = memory().default_pool(device).get();
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}

cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind) {
  return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, nullptr);
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  if (!is_stream(stream)) return keep(cudaErrorInvalidResourceHandle);
  if (width > to_pitch || width > from_pitch) return keep(cudaErrorInvalidPitchValue);
  if (width == 0 || height == 0) return cudaSuccess;
  const cudaError_t status =
      skyrank::emulator::check_copy(to, to_pitch * (height - 1) + width, from, from_pitch * (height - 1) + width, kind);
  for (std::size_t row = 0; status == cudaSuccess && row < height; ++row) {
    std::memmove(static_cast<std::byte*>(to) + row * to_pitch, static_cast<const std::byte*>(from) + row * from_pitch,
                 width);
  }
  if (status == cudaSuccess) skyrank::emulator::count_copy(to, from, width * height);
  return keep(status);
}

cudaError_t cudaMemset(void* to, int byte, std::size_t bytes) { return cudaMemsetAsync(to, byte, bytes, nullptr); }

cudaError_t cudaMemsetAsync(void* to, int byte, std::size_t bytes, cudaStream_t stream) {
  if (!is_stream(stream)) return keep(cudaErrorInvalidResourceHandle);
  if (bytes == 0) return cudaSuccess;
  if (!memory().is_device_range(to, bytes)) return keep(cudaErrorInvalidValue);
  std::memset(to, byte, bytes);
  return cudaSuccess;
}
