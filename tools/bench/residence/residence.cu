#include "tools/bench/residence/residence.hpp"

#include <cstdint>
#include <vector>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/launch.cuh"

namespace skyrank::bench {
namespace {

using namespace kernels::cuda;
using kernels::KeyColumn;

constexpr unsigned kLoads = 4;

/// A tile of kMapThreads * kLoads 16-byte words a block; the sum is written only so that the loads are not left out.
__global__ void read_words(const uint4* words, std::size_t count, unsigned* sum) {
  const std::size_t first = std::size_t{blockIdx.x} * kMapThreads * kLoads + threadIdx.x;
  unsigned mine = 0;
#pragma unroll
  for (unsigned i = 0; i < kLoads; ++i) {
    const std::size_t place = first + std::size_t{i} * kMapThreads;
    if (place >= count) break;
    const uint4 word = __ldcs(words + place);
    mine += word.x + word.y + word.z + word.w;
  }
  if (mine == 0x9e3779b9u) atomicAdd(sum, mine);
}

void read(const void* data, std::size_t bytes, unsigned* sum, cudaStream_t stream) {
  const std::size_t words = bytes / sizeof(uint4);
  if (words == 0) return;
  launch("read_words", read_words, {.blocks = blocks_for(words, kMapThreads * kLoads), .threads = kMapThreads}, stream,
         static_cast<const uint4*>(data), words, sum);
}

/// The process's own context has a pool of its own.
std::size_t in_use(DeviceContext& device) { return static_cast<PoolResource&>(device.memory()).in_use(); }

}  // namespace

struct Residence::State {
  DeviceContext& device = DeviceContext::of_process();
  std::size_t bytes = 0;
  std::vector<KeyColumn> columns;
  std::vector<Buffer<std::byte>> memory;
  Buffer<std::byte> evicting;
  Buffer<unsigned> sum;
};

Residence::Residence(std::span<const KeyColumn> columns, std::size_t n) : state_(std::make_unique<State>()) {
  DeviceContext& device = state_->device;
  const Lease lease(device);
  const std::size_t before = in_use(device);
  state_->columns.assign(columns.begin(), columns.end());
  state_->evicting = device.allocate<std::byte>(4 * device.properties().l2_bytes);
  state_->sum = device.allocate<unsigned>(1);
  for (KeyColumn& column : state_->columns) {
    const std::size_t bytes = n * static_cast<std::size_t>(column.width);
    state_->memory.push_back(device.allocate<std::byte>(bytes));
    device.synchronize();
    device.transfer().upload(state_->memory.back().data(), column.data, bytes);
    column.data = state_->memory.back().data();
  }
  SKYRANK_CUDA_CALL(cudaStreamSynchronize(device.transfer().stream()));
  SKYRANK_CUDA_CALL(cudaMemsetAsync(state_->evicting.data(), 1, state_->evicting.bytes(), device.stream()));
  device.synchronize();
  state_->bytes = in_use(device) - before;
}

Residence::~Residence() = default;

std::span<const KeyColumn> Residence::keys() const { return state_->columns; }

std::size_t Residence::bytes() const { return state_->bytes; }

double Residence::read_ms() const {
  DeviceContext& device = state_->device;
  const Lease lease(device);
  const Event begin;
  const Event end;
  begin.record(device.stream());
  for (const Buffer<std::byte>& column : state_->memory) {
    read(column.data(), column.bytes(), state_->sum.data(), device.stream());
  }
  end.record(device.stream());
  end.synchronize();
  return end.ms_since(begin);
}

// By reading: what is written would still have to be written back while the next thing is timed.
void Residence::evict() const {
  const Lease lease(state_->device);
  read(state_->evicting.data(), state_->evicting.bytes(), state_->sum.data(), state_->device.stream());
  state_->device.synchronize();
}

}  // namespace skyrank::bench
