#include "kernels/cuda/devices/upload.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/common/problem.hpp"
#include "kernels/common/transfers.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/devices/scope.hpp"

namespace skyrank::kernels::cuda {
namespace {

/// Bytes that one thread stages at a time: enough to keep the copy engine busy, and few enough that what was staged is
/// still in a cache when the device reads it.
constexpr std::size_t kPieceBytes = std::size_t{2} << 20;

/// Fewer bytes are not worth waking other threads.
constexpr std::size_t kBytesPerThread = 4 * kPieceBytes;

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

 private:
  struct Slot {
    void* pinned = nullptr;
    Event free;  ///< its last copy is done
  };

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

/// The threads that stage for one device, beside the one that asks for an upload.
class StagingTeam {
 public:
  /// Its device is current.
  explicit StagingTeam(int ordinal) : ordinal_(ordinal) {}

  /// A stream of the device for memory, and for copies that need no staging.
  cudaStream_t stream() const { return stream_.get(); }

  /// Copies with up to `threads` threads, the caller's among them; one upload at a time. Its device is current.
  void copy(Job& job, std::size_t threads) {
    const std::lock_guard one(one_at_a_time_);
    grow(threads - 1);
    const std::size_t helpers = std::min(threads - 1, threads_.size());
    {
      const std::lock_guard lock(mutex_);
      job_ = &job;
      wanted_ = busy_ = helpers;
      ++round_;
    }
    changed_.notify_all();
    std::exception_ptr error = attempt(own_, job);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return busy_ == 0; });
    job_ = nullptr;
    if (error == nullptr) error = std::exchange(error_, nullptr);
    error_ = nullptr;
    if (error != nullptr) std::rethrow_exception(error);
  }

 private:
  /// Threads that cannot be started are done without.
  void grow(std::size_t helpers) {
    while (threads_.size() < helpers) {
      try {
        threads_.emplace_back([this, number = threads_.size()] { serve(number); }).detach();
      } catch (const std::system_error&) {
        return;
      }
    }
  }

  /// The process may end while it waits: it is never joined, and the team is never destroyed.
  void serve(std::size_t number) {
    std::unique_ptr<Stager> stager;
    std::size_t round = 0;
    for (;;) {
      Job* job = nullptr;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return job_ != nullptr && round_ != round && number < wanted_; });
        round = round_;
        job = job_;
      }
      std::exception_ptr error;
      try {
        const CurrentDevice current(ordinal_);
        error = attempt(stager, *job);
      } catch (...) {
        error = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      if (error_ == nullptr) error_ = error;
      if (--busy_ == 0) changed_.notify_all();
    }
  }

  static std::exception_ptr attempt(std::unique_ptr<Stager>& stager, Job& job) {
    try {
      if (stager == nullptr) stager = std::make_unique<Stager>();
      stager->work(job);
    } catch (...) {
      job.next_piece = job.pieces();  // the others need not go on
      return std::current_exception();
    }
    return nullptr;
  }

  const int ordinal_;
  const Stream stream_;
  std::mutex one_at_a_time_;
  std::unique_ptr<Stager> own_;  // of whoever asks
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Job* job_ = nullptr;
  std::size_t wanted_ = 0;  // helpers that the job is for
  std::size_t busy_ = 0;    // of these, those that have not finished
  std::size_t round_ = 0;   // number of the job
  std::exception_ptr error_;
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
      const Event done;
      done.record(device.stream());
      done.hold(stream);
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
