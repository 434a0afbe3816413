#pragma once

#include <cstddef>

#include "kernels/cuda/topk/dr_in_place.cuh"

namespace skyrank::kernels::cuda::topk::delegate {

/// Copies a value from the device, for which it waits.
template <class T>
T read_back(Run& run, const T* value) {
  T copy;
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(&copy, value, sizeof(T), cudaMemcpyDeviceToHost, run.stream()));
  run.device.synchronize();
  run.context.check();
  return copy;
}

/// The selections that can assist.
enum class AssistKind { radix, bucket };

/// One selection of the k least of some elements by a smaller algorithm.
template <class Element>
class Assist {
 public:
  /// For elements of `bits` bits.
  Assist(Run& run, AssistKind kind, int bits)
      : run_(run),
        bits_(bits),
        radix_(run.allocate<InPlaceState<RadixBins<Element>>>(kind == AssistKind::radix ? 1 : 0)),
        bucket_(run.allocate<InPlaceState<BucketBins<Element>>>(kind == AssistKind::bucket ? 1 : 0)) {}

  /// Finds a bound that lets through the k least of `size` elements, and up to `slack` more. 0 < k <= size.
  template <class Source>
  void find_bound(const Source& source, std::size_t size, std::size_t k, std::size_t slack) {
    if (radix_.size() > 0) {
      bound_in_place(run_, source, size, k, slack, bits_, radix_.data());
    } else {
      bound_in_place(run_, source, size, k, slack, bits_, bucket_.data());
    }
  }

  /// The bound, in device memory.
  Element* bound() const { return radix_.size() > 0 ? &radix_.data()->bound : &bucket_.data()->bound; }

  /// Puts the k least of `size` elements into `chosen`, in the order of chance.
  template <class Source>
  void select(const Source& source, std::size_t size, std::size_t k, Element* chosen) {
    find_bound(source, size, k, 0);
    auto taken = run_.allocate<unsigned long long>(1);
    SKYRANK_CUDA_CALL(cudaMemsetAsync(taken.data(), 0, taken.bytes(), run_.stream()));
    launch("take_up_to", take_up_to<Source, Element>, in_place_grid(size, run_.device), run_.stream(), source, size,
           bound(), taken.data(), chosen);
  }

  /// How often all elements were read to find the bound. Waits for the device.
  std::size_t passes() const {
    return static_cast<std::size_t>(
        read_back(run_, radix_.size() > 0 ? &radix_.data()->passes : &bucket_.data()->passes));
  }

 private:
  Run& run_;
  int bits_;
  Buffer<InPlaceState<RadixBins<Element>>> radix_;
  Buffer<InPlaceState<BucketBins<Element>>> bucket_;
};

}  // namespace skyrank::kernels::cuda::topk::delegate
