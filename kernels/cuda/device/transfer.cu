#include "kernels/cuda/device/transfer.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/common/transfers.hpp"

namespace skyrank::kernels::cuda {
namespace {

constexpr std::size_t kPiece = Transfer::kStagingBytes;

}  // namespace

void Transfer::give_back_staging() noexcept {
  (void)cudaStreamSynchronize(stream_.get());
  for (Slot& slot : slots_) {
    if (slot.pinned != nullptr) (void)cudaFreeHost(slot.pinned);
    slot.pinned = nullptr;
  }
}

Transfer::Slot& Transfer::slot(std::size_t piece) {
  Slot& slot = slots_[piece % slots_.size()];
  if (slot.pinned == nullptr) SKYRANK_CUDA_CALL(cudaMallocHost(&slot.pinned, kPiece));
  return slot;
}

void Transfer::upload(void* to_device, const void* source, std::size_t bytes) {
  if (TransferTally* const tally = current_tally()) tally->sent(bytes);
  std::size_t index = 0;
  for (std::size_t done = 0; done < bytes; done += kPiece, ++index) {
    const Slot& buffer = slot(index);
    const std::size_t piece = std::min(kPiece, bytes - done);
    buffer.free.synchronize();
    std::memcpy(buffer.pinned, static_cast<const std::byte*>(source) + done, piece);
    SKYRANK_CUDA_CALL(cudaMemcpyAsync(static_cast<std::byte*>(to_device) + done, buffer.pinned, piece,
                                      cudaMemcpyHostToDevice, stream()));
    buffer.free.record(stream());
  }
}

void Transfer::download(void* target, const void* from_device, std::size_t bytes) {
  if (TransferTally* const tally = current_tally()) tally->fetched(bytes);
  const std::size_t pieces = (bytes + kPiece - 1) / kPiece;
  const auto size_of = [&](std::size_t piece) { return std::min(kPiece, bytes - piece * kPiece); };
  const auto fetch = [&](std::size_t piece) {
    const Slot& buffer = slot(piece);
    // A copy to the device may still read the buffer.
    buffer.free.hold(stream());
    SKYRANK_CUDA_CALL(cudaMemcpyAsync(buffer.pinned, static_cast<const std::byte*>(from_device) + piece * kPiece,
                                      size_of(piece), cudaMemcpyDeviceToHost, stream()));
    buffer.free.record(stream());
  };
  if (pieces > 0) fetch(0);
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    if (piece + 1 < pieces) fetch(piece + 1);
    const Slot& buffer = slot(piece);
    buffer.free.synchronize();
    std::memcpy(static_cast<std::byte*>(target) + piece * kPiece, buffer.pinned, size_of(piece));
  }
}

}  // namespace skyrank::kernels::cuda
