#include "kernels/cuda/topk/radix_select.cuh"

// Radix select (Shanbhag et al., SIGMOD 2018, sections 2.3 and 4.2) with digits of any width. The algorithm itself is
// in kernels/cuda/topk, as the best path falls back on it.
namespace skyrank::kernels::cuda::topk {
namespace {

constexpr Parameter kDigitBits{"digit_bits", "bits of a digit; the paper has 8", 4, 11, RadixSelect::kDigitBits};

struct WithParameters {
  template <class E>
  static bool select(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
    select_by_digits(run, elements, n, k, chosen, static_cast<int>(run.parameters[kDigitBits.name]));
    return false;
  }
};

}  // namespace

extern const TopKAlgorithm radix_select;
const TopKAlgorithm radix_select{
    .name = "cuda-radix-select",
    .summary = "narrows the keys down to the k-th digit by digit, most significant first",
    .source =
        "Shanbhag, Pirk, Madden: Efficient Top-K Query Processing on Massively Parallel Hardware, SIGMOD 2018, "
        "sections 2.3 and 4.2",
    .device = Device::cuda,
    .parameters = {&kDigitBits, 1},
    .supports = needs_key_columns,
    .run = solve<WithParameters>,
};

}  // namespace skyrank::kernels::cuda::topk
