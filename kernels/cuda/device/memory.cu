#include "kernels/cuda/device/memory.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/cuda/runtime/check.hpp"
#include "kernels/cuda/runtime/scope.hpp"

namespace skyrank::kernels::cuda {
namespace {

constexpr std::size_t kLargestKept = std::size_t{4} << 20;
constexpr std::size_t kAlignment = 256;

/// Small sizes have few values, so that kept blocks fit again.
std::size_t rounded(std::size_t bytes) {
  if (bytes <= kLargestKept) return std::max(kAlignment, std::bit_ceil(bytes));
  return bytes > std::numeric_limits<std::size_t>::max() - kAlignment
             ? bytes
             : (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Returns true if the environment says SKYRANK_POISON_DEVICE_MEMORY=1, as tests do. Blocks are then filled when they
/// are given out and when they come back, so that a kernel that reads what nobody wrote, or what was freed too early,
/// gives wrong answers every time.
bool poisons() {
  static const bool on = [] {
    const char* const value = std::getenv("SKYRANK_POISON_DEVICE_MEMORY");
    return value != nullptr && std::string_view(value) == "1";
  }();
  return on;
}

/// A pool's own limit, or the lower one of the device that the thread has selected.
std::size_t limit_of_thread(std::size_t limit) { return std::min(limit, selected_device().memory_limit); }

void poison(void* data, std::size_t bytes, cudaStream_t stream) noexcept {
  constexpr int kPoison = 0xa5;
  if (poisons()) (void)cudaMemsetAsync(data, kPoison, bytes, stream);
}

/// Makes the device of some memory the thread's current one while it lives: arrays may end on a thread that has
/// selected another one. Never throws.
class DeviceOf {
 public:
  explicit DeviceOf(const void* data) noexcept {
    cudaPointerAttributes attributes{};
    const bool known =
        cudaPointerGetAttributes(&attributes, data) == cudaSuccess && cudaGetDevice(&before_) == cudaSuccess;
    if (known && attributes.device != before_) changed_ = cudaSetDevice(attributes.device) == cudaSuccess;
    if (!known) (void)cudaGetLastError();
  }
  ~DeviceOf() {
    if (changed_) (void)cudaSetDevice(before_);
  }
  DeviceOf(const DeviceOf&) = delete;
  DeviceOf& operator=(const DeviceOf&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace

PoolResource::PoolResource(int ordinal, std::size_t limit) : ordinal_(ordinal), limit_(limit) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = ordinal;
  SKYRANK_CUDA_CALL(cudaMemPoolCreate(&pool_, &properties));
  // Memory once taken stays: giving it back to the driver at each synchronisation would cost as much as the queries.
  std::uint64_t keep = std::numeric_limits<std::uint64_t>::max();
  SKYRANK_CUDA_CALL(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep));
}

PoolResource::~PoolResource() {
  give_back_kept();
  (void)cudaMemPoolDestroy(pool_);
}

void PoolResource::let_access(int ordinal) {
  const std::lock_guard lock(mutex_);
  if (ordinal == ordinal_ || asked_.contains(ordinal)) return;
  int can_access = 0;
  SKYRANK_CUDA_CALL(cudaDeviceCanAccessPeer(&can_access, ordinal, ordinal_));
  if (can_access != 0) {
    cudaMemAccessDesc access{};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = ordinal;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    SKYRANK_CUDA_CALL(cudaMemPoolSetAccess(pool_, &access, 1));
  }
  asked_.insert(ordinal);
}

// Not in the order of their streams, which may be gone.
void PoolResource::give_back_kept() noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& [place, blocks] : kept_) {
    for (void* const block : blocks) (void)cudaFree(block);
  }
  kept_.clear();
}

void* PoolResource::allocate(std::size_t bytes, cudaStream_t stream) {
  const std::size_t size = rounded(bytes);
  reserve(size);
  if (void* const kept = take_kept(size, stream)) {
    poison(kept, size, stream);
    return kept;
  }
  void* data = nullptr;
  const cudaError_t status = cudaMallocFromPoolAsync(&data, size, pool_, stream);
  if (status == cudaSuccess) {
    poison(data, size, stream);
    return data;
  }
  give_back(size);
  (void)cudaGetLastError();
  throw OutOfMemory("cudaMallocFromPoolAsync",
                    std::string(cudaGetErrorString(status)) + ": " + std::to_string(size) +
                        " bytes of device memory are needed and " + std::to_string(available()) + " are available",
                    __FILE__, __LINE__);
}

void PoolResource::deallocate(void* data, std::size_t bytes, cudaStream_t stream) noexcept {
  const std::size_t size = rounded(bytes);
  std::optional<DeviceOf> on_device;
  if (size > kLargestKept || poisons()) on_device.emplace(data);
  poison(data, size, stream);
  give_back(size);
  if (size <= kLargestKept) {
    try {
      const std::lock_guard lock(mutex_);
      kept_[{stream, size}].push_back(data);
      return;
    } catch (const std::bad_alloc&) {
      // The driver takes it back instead.
    }
  }
  (void)cudaFreeAsync(data, stream);
}

void* PoolResource::take_kept(std::size_t bytes, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find({stream, bytes});
  if (found == kept_.end() || found->second.empty()) return nullptr;
  void* const data = found->second.back();
  found->second.pop_back();
  return data;
}

void PoolResource::reserve(std::size_t bytes) {
  const std::size_t most = limit_of_thread(limit_);
  const std::lock_guard lock(mutex_);
  if (in_use_ > most || bytes > most - in_use_) {
    throw OutOfMemory("PoolResource::allocate",
                      "the limit of " + std::to_string(most) + " bytes of device memory is reached: " +
                          std::to_string(in_use_) + " are in use, " + std::to_string(bytes) + " more are needed",
                      __FILE__, __LINE__);
  }
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
}

void PoolResource::give_back(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  in_use_ -= bytes;
}

std::size_t PoolResource::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

std::size_t PoolResource::available() const {
  std::size_t free = 0;
  std::size_t total = 0;
  std::uint64_t reserved = 0;
  SKYRANK_CUDA_CALL(cudaMemGetInfo(&free, &total));
  SKYRANK_CUDA_CALL(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved));
  const std::size_t used = in_use();
  const std::size_t idle = reserved > used ? static_cast<std::size_t>(reserved) - used : 0;
  const std::size_t most = limit_of_thread(limit_);
  return std::min(free + idle, most > used ? most - used : 0);
}

std::size_t PoolResource::peak() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

void PoolResource::forget_peak() {
  const std::lock_guard lock(mutex_);
  peak_ = in_use_;
}

}  // namespace skyrank::kernels::cuda
