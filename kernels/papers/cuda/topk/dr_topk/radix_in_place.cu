#include "kernels/cuda/topk/solve.cuh"
#include "kernels/papers/cuda/topk/dr_topk/in_place.cuh"

// In-place radix top-k (Gaihre et al., SC 2021, section 5.1) as an algorithm of its own, and that of GGKS (Alabi et
// al., JEA 2012), with which figure 12 compares it. Both read all elements in each pass. The first knows those in the
// range by a flag and writes nothing; the second overwrites the others, for which it needs a vector of its own.
namespace skyrank::kernels::cuda::topk {
namespace {

using namespace delegate;

constexpr Parameter kOverwrite{"overwrite", "1: elements out of the range are overwritten, as in GGKS", 0, 1, 0};
constexpr Parameter kInPlaceParameters[] = {kOverwrite, kOrdered, kReturned};

/// Writes the elements up to a bound.
template <class E>
void take(Run& run, const E& elements, std::size_t n, const typename E::Element* bound, typename E::Element* chosen) {
  auto taken = run.allocate<unsigned long long>(1);
  SKYRANK_CUDA_CALL(cudaMemsetAsync(taken.data(), 0, taken.bytes(), run.stream()));
  launch("take_up_to", take_up_to<E, typename E::Element>, in_place_grid(n, run.device), run.stream(), elements,
         static_cast<unsigned long long>(n), bound, taken.data(), chosen);
}

template <class E>
void count(Run& run, const E& /*elements*/, std::size_t n, std::size_t k, const int* passes_on_device,
           std::size_t bytes_written) {
  if (!run.context.count_work) return;
  int passes = 0;
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(&passes, passes_on_device, sizeof(passes), cudaMemcpyDeviceToHost, run.stream()));
  run.device.synchronize();
  const std::size_t read = bytes_written > 0 ? sizeof(typename E::Element) : sizeof(typename E::Key);
  run.count(static_cast<std::size_t>(passes) * n * read + n * sizeof(typename E::Key),
            bytes_written + k * sizeof(typename E::Element), n);
}

struct RadixInPlace {
  static constexpr bool kMayBeUnordered = true;

  template <class E>
  static bool select(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
    using Element = typename E::Element;
    auto state = run.allocate<InPlaceState<RadixBins<Element>>>(1);
    std::size_t written = 0;
    if (run.parameters[kOverwrite.name] != 0) {
      auto all = run.allocate<Element>(n);
      take_all(elements, n, all.data(), run.device);
      bound_in_place(run, OverwrittenVector<Element>{all.data()}, n, k, 0, E::kBits, state.data());
      written = 2 * all.bytes();
    } else {
      bound_in_place(run, elements, n, k, 0, E::kBits, state.data());
    }
    take(run, elements, n, &state.data()->bound, chosen);
    count(run, elements, n, k, &state.data()->passes, written);
    return false;
  }
};

}  // namespace

extern const TopKAlgorithm radix_in_place;
const TopKAlgorithm radix_in_place{
    .name = "cuda-radix-in-place",
    .summary = "narrows the keys down to the k-th digit by digit, reading all of them in every pass",
    .source = "Gaihre et al.: Dr. Top-k: Delegate-Centric Top-k on GPUs, SC 2021, section 5.1",
    .device = Device::cuda,
    .parameters = kInPlaceParameters,
    .supports = needs_key_columns,
    .run = solve<RadixInPlace>,
};

}  // namespace skyrank::kernels::cuda::topk
