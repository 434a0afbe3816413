#include "kernels/cuda/values/borrowed.hpp"

#include <atomic>

#include "kernels/common/transfers.hpp"
#include "kernels/cuda/device/array.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/map.cuh"
#include "kernels/cuda/runtime/scope.hpp"

namespace skyrank::kernels::cuda {
namespace {

/// Values at `places`, or all of them where that is null, one next to the other.
template <class T>
__global__ void __launch_bounds__(kMapThreads)
    collect(const char* first, std::ptrdiff_t stride, const std::int64_t* places, std::size_t n, T* collected) {
  for_all(n, [&](std::size_t i) {
    const std::int64_t place = places == nullptr ? static_cast<std::int64_t>(i) : places[i];
    collected[i] = *reinterpret_cast<const T*>(first + place * stride);
  });
}

template <class T>
void launch_collect(const BorrowedValues& values, const std::int64_t* places, std::size_t n, void* to) {
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  launch("collect", collect<T>, few_each(n, device), device.stream(), static_cast<const char*>(values.first),
         values.stride, places, n, static_cast<T*>(to));
}

/// Collects values in memory of the selected device, on which they lie.
DeviceArray collected(const BorrowedValues& values, const std::int64_t* places, std::size_t n) {
  DeviceArray to(n * values.width);
  if (n == 0) return to;
  switch (values.width) {
    case 1: launch_collect<std::uint8_t>(values, places, n, to.data()); break;
    case 2: launch_collect<std::uint16_t>(values, places, n, to.data()); break;
    case 4: launch_collect<std::uint32_t>(values, places, n, to.data()); break;
    default: launch_collect<std::uint64_t>(values, places, n, to.data()); break;
  }
  return to;
}

/// Returns the device that values lie on, with the limits of the thread's own where that is the one.
SelectedDevice device_with(const BorrowedValues& values) {
  const SelectedDevice& selected = selected_device();
  return selected.ordinal == values.ordinal ? selected : SelectedDevice{.ordinal = values.ordinal};
}

/// A recorded event, which may be the producer's or our own.
class RecordedEvent final : public ReadyPoint {
 public:
  explicit RecordedEvent(cudaEvent_t event) : event_(event), is_own_(false) {}
  /// Makes an event at the end of what is on a stream of the current device.
  static std::shared_ptr<ReadyPoint> at_end_of(cudaStream_t stream) {
    cudaEvent_t event = nullptr;
    SKYRANK_CUDA_CALL(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    auto point = std::make_shared<RecordedEvent>(event);
    point->is_own_ = true;
    SKYRANK_CUDA_CALL(cudaEventRecord(event, stream));
    return point;
  }
  ~RecordedEvent() override {
    if (is_own_) (void)cudaEventDestroy(event_);
  }
  RecordedEvent(const RecordedEvent&) = delete;
  RecordedEvent& operator=(const RecordedEvent&) = delete;

  void wait() override {
    if (happened_.load(std::memory_order_relaxed)) return;
    SKYRANK_CUDA_CALL(cudaEventSynchronize(event_));
    happened_.store(true, std::memory_order_relaxed);
  }

  void hold() override {
    if (happened_.load(std::memory_order_relaxed)) return;
    const DeviceContext& device = DeviceContext::of_process();
    const CurrentDevice current(device.ordinal());
    SKYRANK_CUDA_CALL(cudaStreamWaitEvent(device.stream(), event_, 0));
  }

 private:
  cudaEvent_t event_;
  bool is_own_;
  std::atomic<bool> happened_ = false;
};

/// Copies values that lie next to each other on one device to the selected one, which is another.
DeviceArray copied_from_peer(const void* source, std::size_t bytes) {
  DeviceArray to(bytes);
  if (bytes == 0) return to;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  if (TransferTally* const tally = current_tally()) tally->sent(bytes);
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(to.data(), source, bytes, cudaMemcpyDefault, device.stream()));
  device.synchronize();
  return to;
}

}  // namespace

std::optional<int> device_of(const void* memory) {
  cudaPointerAttributes attributes{};
  SKYRANK_CUDA_CALL(cudaPointerGetAttributes(&attributes, memory));
  const bool is_readable_there = attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  return is_readable_there ? std::optional(attributes.device) : std::nullopt;
}

std::shared_ptr<ReadyPoint> ReadyPoint::at_event(void* event) {
  return std::make_shared<RecordedEvent>(static_cast<cudaEvent_t>(event));
}

std::shared_ptr<ReadyPoint> ReadyPoint::after_stream(void* stream, int ordinal) {
  const CurrentDevice current(ordinal);
  // The runtime's own name for the default stream, which not every version of it takes for an event.
  constexpr std::uintptr_t kLegacyDefault = 1;
  const bool is_default = reinterpret_cast<std::uintptr_t>(stream) == kLegacyDefault;
  return RecordedEvent::at_end_of(is_default ? nullptr : static_cast<cudaStream_t>(stream));
}

std::shared_ptr<void> copy_borrowed(const BorrowedValues& values) {
  if (selected_device().ordinal == values.ordinal) return collected(values, nullptr, values.count).owner();
  if (values.is_contiguous()) return copied_from_peer(values.first, values.bytes()).owner();
  DeviceArray together;
  {
    const DeviceScope there(device_with(values));
    together = collected(values, nullptr, values.count);
  }
  finish_reading(values.ordinal);
  return copied_from_peer(together.data(), together.bytes()).owner();
}

void fetch_borrowed(void* target, const BorrowedValues& values) {
  const DeviceScope there(device_with(values));
  if (values.is_contiguous()) return read_array(target, values.first, values.bytes());
  const DeviceArray together = collected(values, nullptr, values.count);
  read_array(target, together.data(), together.bytes());
}

void fetch_borrowed(void* target, const BorrowedValues& values, std::span<const RowId> places) {
  const DeviceScope there(device_with(values));
  const DeviceArray ids(places.data(), places.size_bytes());
  const DeviceArray taken = collected(values, static_cast<const RowId*>(ids.data()), places.size());
  read_array(target, taken.data(), taken.bytes());
}

void finish_reading(int ordinal) noexcept {
  try {
    const DeviceScope there({.ordinal = ordinal});
    DeviceContext::of_process().synchronize();
  } catch (const Failure&) {  // the driver is gone, and all work with it
  }
}

}  // namespace skyrank::kernels::cuda
