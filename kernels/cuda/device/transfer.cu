#include "kernels/cuda/device/transfer.hpp"

#include <algorithm>
#include <cstring>

namespace skyrank::kernels::cuda {
namespace {

constexpr std::size_t kPiece = Transfer::kStagingBytes;

}  // namespace

Transfer::Transfer() {
  try {
    for (Slot& slot : slots_) SKYRANK_CUDA_CALL(cudaMallocHost(&slot.pinned, kPiece));
  } catch (...) {
    release();
    throw;
  }
}

Transfer::~Transfer() {
  (void)cudaStreamSynchronize(stream_.get());
  release();
}

void Transfer::release() noexcept {
  for (Slot& slot : slots_) {
    if (slot.pinned != nullptr) (void)cudaFreeHost(slot.pinned);
  }
}

void Transfer::upload(void* to_device, const void* source, std::size_t bytes) {
  std::size_t turn = 0;
  for (std::size_t done = 0; done < bytes; done += kPiece, ++turn) {
    const Slot& slot = slots_[turn % slots_.size()];
    const std::size_t piece = std::min(kPiece, bytes - done);
    slot.free.synchronize();
    std::memcpy(slot.pinned, static_cast<const std::byte*>(source) + done, piece);
    SKYRANK_CUDA_CALL(cudaMemcpyAsync(static_cast<std::byte*>(to_device) + done, slot.pinned, piece,
                                      cudaMemcpyHostToDevice, stream()));
    slot.free.record(stream());
  }
}

void Transfer::download(void* target, const void* from_device, std::size_t bytes) {
  const std::size_t pieces = (bytes + kPiece - 1) / kPiece;
  const auto size_of = [&](std::size_t piece) { return std::min(kPiece, bytes - piece * kPiece); };
  const auto fetch = [&](std::size_t piece) {
    const Slot& slot = slots_[piece % slots_.size()];
    // A copy to the device may still read the buffer.
    slot.free.hold(stream());
    SKYRANK_CUDA_CALL(cudaMemcpyAsync(slot.pinned, static_cast<const std::byte*>(from_device) + piece * kPiece,
                                      size_of(piece), cudaMemcpyDeviceToHost, stream()));
    slot.free.record(stream());
  };
  if (pieces > 0) fetch(0);
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    if (piece + 1 < pieces) fetch(piece + 1);
    const Slot& slot = slots_[piece % slots_.size()];
    slot.free.synchronize();
    std::memcpy(static_cast<std::byte*>(target) + piece * kPiece, slot.pinned, size_of(piece));
  }
}

}  // namespace skyrank::kernels::cuda
