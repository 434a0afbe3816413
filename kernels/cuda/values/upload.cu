#include "kernels/cuda/values/upload.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "kernels/common/problem.hpp"
#include "kernels/common/transfers.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/runtime/scope.hpp"

namespace skyrank::kernels::cuda {
namespace {

/// Bytes that one thread stages at a time: enough to keep the copy engine busy, and few enough that what was staged is
/// still in a cache when the device reads it.
constexpr std::size_t kPieceBytes = std::size_t{2} << 20;

/// Fewer bytes are not worth waking other threads.
constexpr std::size_t kBytesPerThread = 2 * kPieceBytes;

/// One upload that several threads work at.
struct Job {
  HostValues values;
  std::byte* target = nullptr;
  std::stop_token stop;
  std::atomic<std::size_t> next_piece = 0;

  std::size_t values_of_piece() const { return std::max<std::size_t>(1, kPieceBytes / values.width); }
  std::size_t pieces() const { return (values.count + values_of_piece() - 1) / values_of_piece(); }
};

void pack(std::byte* target, const HostValues& values, std::size_t begin, std::size_t count) {
  const auto* const source =
      static_cast<const std::byte*>(values.first) + static_cast<std::ptrdiff_t>(begin) * values.stride;
  if (values.stride == static_cast<std::ptrdiff_t>(values.width)) {
    std::memcpy(target, source, count * values.width);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(target + i * values.width, source + static_cast<std::ptrdiff_t>(i) * values.stride, values.width);
  }
}

/// Two pinned buffers and a stream: while one buffer travels, the thread fills the other.
class Stager {
 public:
  Stager() = default;
  ~Stager() {
    (void)cudaStreamSynchronize(stream_.get());
    for (const Slot& slot : slots_) {
      if (slot.pinned != nullptr) (void)cudaFreeHost(slot.pinned);
    }
  }
  Stager(const Stager&) = delete;
  Stager& operator=(const Stager&) = delete;

  /// Copies pieces until none is left. What it copied is there when it returns.
  void work(Job& job) {
    try {
      copy(job);
    } catch (...) {
      job.next_piece = job.pieces();  // the others need not go on
      throw;
    }
  }

 private:
  struct Slot {
    void* pinned = nullptr;
    Event free;  ///< its last copy is done
  };

  void copy(Job& job) {
    const std::size_t each = job.values_of_piece();
    const std::size_t pieces = job.pieces();
    for (std::size_t piece = job.next_piece++; piece < pieces && !job.stop.stop_requested(); piece = job.next_piece++) {
      const Slot& slot = free_slot(std::max(kPieceBytes, job.values.width));
      const std::size_t begin = piece * each;
      const std::size_t count = std::min(each, job.values.count - begin);
      pack(static_cast<std::byte*>(slot.pinned), job.values, begin, count);
      SKYRANK_CUDA_CALL(cudaMemcpyAsync(job.target + begin * job.values.width, slot.pinned, count * job.values.width,
                                        cudaMemcpyHostToDevice, stream_.get()));
      slot.free.record(stream_.get());
    }
    stream_.synchronize();
  }

  const Slot& free_slot(std::size_t bytes) {
    Slot& slot = slots_[turn_++ % slots_.size()];
    if (slot.pinned == nullptr) SKYRANK_CUDA_CALL(cudaMallocHost(&slot.pinned, bytes));
    slot.free.synchronize();
    return slot;
  }

  Stream stream_;
  std::array<Slot, 2> slots_;
  std::size_t turn_ = 0;
};

/// Stages for one device.
class StagingTeam {
 public:
  /// Its device is current.
  explicit StagingTeam(int ordinal) : ordinal_(ordinal) {}

  /// A stream of the device for memory, and for copies that need no staging.
  cudaStream_t stream() const { return stream_.get(); }

  /// Copies with up to `threads` threads, the caller's among them; one upload at a time. Its device is current.
  void copy(Job& job, std::size_t threads) {
    const std::lock_guard one(one_at_a_time_);
    while (stagers_.size() < threads) stagers_.push_back(std::make_unique<Stager>());
    std::vector<std::future<void>> others;
    try {
      for (std::size_t i = 1; i < threads; ++i) {
        others.push_back(std::async(std::launch::async, [this, &job, i] {
          const CurrentDevice current(ordinal_);
          stagers_[i]->work(job);
        }));
      }
    } catch (const std::system_error&) {  // threads that cannot be started are done without
    }
    stagers_.front()->work(job);
    for (std::future<void>& other : others) other.get();
  }

 private:
  const int ordinal_;
  const Stream stream_;
  std::mutex one_at_a_time_;
  std::vector<std::unique_ptr<Stager>> stagers_;  // one for each thread
};

/// Returns the team of the current device, which is never destroyed: at the end of the process the driver may be gone
/// first.
StagingTeam& team_of(int ordinal) {
  static auto& mutex = *new std::mutex;
  static auto& teams = *new std::map<int, StagingTeam*>;
  const std::lock_guard lock(mutex);
  StagingTeam*& team = teams[ordinal];
  if (team == nullptr) team = new StagingTeam(ordinal);
  return *team;
}

/// Returns true if the device can read the values itself, without staging.
bool is_pinned(const HostValues& values) {
  if (values.stride != static_cast<std::ptrdiff_t>(values.width)) return false;
  const auto* const first = static_cast<const std::byte*>(values.first);
  for (const std::byte* const end : {first, first + values.bytes() - 1}) {
    cudaPointerAttributes attributes{};
    if (cudaPointerGetAttributes(&attributes, end) != cudaSuccess) {
      (void)cudaGetLastError();
      return false;
    }
    if (attributes.type != cudaMemoryTypeHost) return false;
  }
  return true;
}

/// Copies pinned memory in pieces that are large for the device and short for whoever waits for a stop.
void copy_pinned(std::byte* target, const HostValues& values, cudaStream_t stream, const std::stop_token& stop) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  const Event half[2];
  std::size_t piece = 0;
  for (std::size_t done = 0; done < values.bytes() && !stop.stop_requested(); done += kBytes, ++piece) {
    const Event& copied = half[piece % 2];
    if (piece >= 2) copied.synchronize();
    SKYRANK_CUDA_CALL(cudaMemcpyAsync(target + done, static_cast<const std::byte*>(values.first) + done,
                                      std::min(kBytes, values.bytes() - done), cudaMemcpyHostToDevice, stream));
    copied.record(stream);
  }
  SKYRANK_CUDA_CALL(cudaStreamSynchronize(stream));
}

/// Memory of the team's stream. What the compute stream still does with it comes before it is used again.
struct Uploaded {
  Uploaded(DeviceContext& context, cudaStream_t of, std::size_t bytes)
      : device(context), stream(of), buffer(bytes, context.memory(), of) {}
  ~Uploaded() {
    try {
      const CurrentDevice current(device.ordinal());
      order_streams(device.stream(), stream);
    } catch (const Failure&) {  // the driver is gone
    }
  }
  Uploaded(const Uploaded&) = delete;
  Uploaded& operator=(const Uploaded&) = delete;

  DeviceContext& device;
  cudaStream_t stream;
  Buffer<std::byte> buffer;
};

}  // namespace

std::shared_ptr<void> upload(const HostValues& values, const std::stop_token& stop) {
  if (values.count == 0) return nullptr;
  DeviceContext& device = DeviceContext::of_process();
  const CurrentDevice current(device.ordinal());
  StagingTeam& team = team_of(device.ordinal());
  auto memory = std::make_shared<Uploaded>(device, team.stream(), values.bytes());
  if (TransferTally* const tally = current_tally()) tally->sent(values.bytes());
  std::byte* const target = memory->buffer.data();
  if (is_pinned(values)) {
    copy_pinned(target, values, team.stream(), stop);
  } else {
    // The stagers' streams know nothing of the one that the memory belongs to.
    SKYRANK_CUDA_CALL(cudaStreamSynchronize(team.stream()));
    Job job;
    job.values = values;
    job.target = target;
    job.stop = stop;
    const auto allowed = static_cast<std::size_t>(std::max(1, selected_device().copy_threads));
    team.copy(job, std::clamp<std::size_t>(values.bytes() / kBytesPerThread, 1, allowed));
  }
  if (stop.stop_requested()) throw Cancelled{};
  return {memory, target};
}

}  // namespace skyrank::kernels::cuda
