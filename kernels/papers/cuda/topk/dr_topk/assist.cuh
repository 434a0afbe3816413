#pragma once

#include <cstddef>

#include "kernels/papers/cuda/topk/bitonic/bitonic.cuh"
#include "kernels/papers/cuda/topk/dr_topk/in_place.cuh"

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

/// The selections that can assist. Bitonic top-k does up to kLargestBitonicK elements, and radix the others.
enum class AssistKind { radix, bucket, bitonic };

/// One selection of the k least of some elements by a smaller algorithm.
template <class Element>
class Assist {
 public:
  /// For elements of `bits` bits.
  Assist(Run& run, AssistKind kind, int bits)
      : run_(run),
        kind_(kind),
        bits_(bits),
        radix_(run.allocate<InPlaceState<RadixBins<Element>>>(1)),
        bucket_(run.allocate<InPlaceState<BucketBins<Element>>>(kind == AssistKind::bucket ? 1 : 0)) {}

  /// Finds a bound that lets through the k least of `size` elements, and up to `slack` more. 0 < k < size.
  template <class Source>
  void find_bound(const Source& source, std::size_t size, std::size_t k, std::size_t slack) {
    if (kind_ == AssistKind::bucket) {
      bound_in_place(run_, source, size, k, slack, bits_, bucket_.data());
    } else {
      bound_in_place(run_, source, size, k, slack, bits_, radix_.data());
    }
  }

  /// Likewise, by bitonic top-k if it is to assist.
  void find_bound(const ElementVector<Element>& source, std::size_t size, std::size_t k, std::size_t slack) {
    if (!by_bitonic(k)) return find_bound<ElementVector<Element>>(source, size, k, slack);
    auto least = run_.allocate<Element>(k);
    bitonic_least(run_, source.data, size, k, least.data());
    SKYRANK_CUDA_CALL(
        cudaMemcpyAsync(bound(), least.data() + k - 1, sizeof(Element), cudaMemcpyDeviceToDevice, run_.stream()));
  }

  /// The bound, in device memory.
  Element* bound() const { return kind_ == AssistKind::bucket ? &bucket_.data()->bound : &radix_.data()->bound; }

  /// Puts the k least of `size` elements into `chosen`, in any order. 0 < k < size.
  void select(const ElementVector<Element>& source, std::size_t size, std::size_t k, Element* chosen) {
    if (by_bitonic(k)) return bitonic_least(run_, source.data, size, k, chosen);
    select_in_place(source, size, k, chosen);
  }

  /// Likewise from all rows of a problem.
  template <class E>
  void select_rows(const E& elements, std::size_t n, std::size_t k, Element* chosen) {
    if (!by_bitonic(k)) return select_in_place(elements, n, k, chosen);
    auto all = run_.allocate<Element>(n);
    take_all(elements, n, all.data(), run_.device);
    bitonic_least(run_, all.data(), n, k, chosen);
  }

  /// How often all elements were read to find the bound for k. Waits for the device.
  std::size_t passes(std::size_t k) const {
    if (by_bitonic(k)) return 1;
    const int* const passes = kind_ == AssistKind::bucket ? &bucket_.data()->passes : &radix_.data()->passes;
    return static_cast<std::size_t>(read_back(run_, passes));
  }

 private:
  bool by_bitonic(std::size_t k) const { return kind_ == AssistKind::bitonic && k <= kLargestBitonicK; }

  template <class Source>
  void select_in_place(const Source& source, std::size_t size, std::size_t k, Element* chosen) {
    find_bound<Source>(source, size, k, 0);
    auto taken = run_.allocate<unsigned long long>(1);
    SKYRANK_CUDA_CALL(cudaMemsetAsync(taken.data(), 0, taken.bytes(), run_.stream()));
    launch("take_up_to", take_up_to<Source, Element>, in_place_grid(size, run_.device), run_.stream(), source, size,
           bound(), taken.data(), chosen);
  }

  Run& run_;
  AssistKind kind_;
  int bits_;
  Buffer<InPlaceState<RadixBins<Element>>> radix_;
  Buffer<InPlaceState<BucketBins<Element>>> bucket_;
};

}  // namespace skyrank::kernels::cuda::topk::delegate
