#include <thrust/count.h>

#include <bit>

#include "kernels/papers/cuda/topk/baselines/thrust.cuh"

// Direct construction of the k-th element (Govindaraju et al., SIGMOD 2004, section 4.3.2, as Monroe et al. compare
// with it): the k-th key is built up from its most significant bit on. A bit is set if fewer than k keys are below the
// key that has it set, which a pass over all keys counts. Where rows tie at the k-th key, the bits of the last row's id
// follow.
namespace skyrank::kernels::cuda::topk {
namespace {

template <class Key>
struct KeyBelow {
  Key bound;

  SKYRANK_HD bool operator()(Key key) const { return key < bound; }
};

template <class Element>
struct NotAbove {
  Element bound;

  SKYRANK_HD bool operator()(Element element) const { return element <= bound; }
};

template <class E>
class Construction {
 public:
  using Key = typename E::Key;
  using Element = typename E::Element;

  Construction(Run& run, const E& elements, std::size_t n, std::size_t k)
      : run_(run), elements_(elements), n_(n), k_(k) {}

  void select(Element* chosen) {
    const Element kth = with_row(kth_key());
    copy_wanted(run_, elements_, n_, chosen, NotAbove<Element>{kth});
    if (run_.context.count_work) run_.count((passes_ + 1) * n_ * sizeof(Key), k_ * sizeof(Element), n_);
  }

 private:
  Key kth_key() {
    Key kth = 0;
    for (int bit = 8 * static_cast<int>(sizeof(Key)) - 1; bit >= 0; --bit) {
      const Key with_bit = kth | Key{1} << bit;
      const auto below = with_thrust(run_, [&](const auto& policy) {
        return thrust::count_if(policy, elements_.keys, elements_.keys + n_, KeyBelow<Key>{with_bit});
      });
      ++passes_;
      if (static_cast<std::size_t>(below) < k_) kth = with_bit;
    }
    return kth;
  }

  /// Returns the k-th element; or any above it, up to the last of its key, that no row lies between.
  Element with_row(Key key) {
    const Element last = (static_cast<Element>(key) << E::kRowBits) | E::kRowMask;
    if (count_up_to(last) == k_) return last;
    const Element ids = (Element{1} << std::bit_width(n_ - 1)) - 1;  // bits that differ between rows
    Element kth = (last & ~E::kRowMask) | (elements_.complement & ~ids);
    for (Element bit = (ids >> 1) + 1; bit > 0; bit >>= 1) {
      if (count_up_to((kth | bit) - 1) < k_) kth |= bit;
    }
    return kth;
  }

  std::size_t count_up_to(Element bound) {
    ++passes_;
    return static_cast<std::size_t>(with_thrust(run_, [&](const auto& policy) {
      const auto all = each_element(elements_);
      return thrust::count_if(policy, all, all + n_, NotAbove<Element>{bound});
    }));
  }

  Run& run_;
  E elements_;
  std::size_t n_;
  std::size_t k_;
  std::size_t passes_ = 0;
};

constexpr Parameter kBitByBitParameters[] = {kOrdered, kReturned};

struct BitByBit {
  static constexpr bool kMayBeUnordered = true;
  static constexpr bool kSelectsAll = true;

  template <class E>
  static bool select(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
    Construction<E>(run, elements, n, k).select(chosen);
    return false;
  }
};

}  // namespace

extern const TopKAlgorithm bit_by_bit;
const TopKAlgorithm bit_by_bit{
    .name = "cuda-bit-by-bit",
    .summary = "builds the k-th key bit by bit, each by a count over all keys",
    .source =
        "Govindaraju, Lloyd, Wang, Lin, Manocha: Fast Computation of Database Operations using Graphics Processors, "
        "SIGMOD 2004",
    .device = Device::cuda,
    .parameters = kBitByBitParameters,
    .supports = needs_key_columns,
    .run = solve<BitByBit>,
};

}  // namespace skyrank::kernels::cuda::topk
