#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/common/algorithm.hpp"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/solve.cuh"
#include "kernels/papers/common/subrange.hpp"
#include "kernels/papers/cuda/stage_marks.hpp"
#include "kernels/papers/cuda/topk/dr_topk/append.cuh"
#include "kernels/papers/cuda/topk/dr_topk/assist.cuh"
#include "kernels/papers/cuda/topk/dr_topk/delegates.cuh"

// Dr. Top-k (Gaihre et al., SC 2021): the `beta` least elements of each subrange of rows are its delegates; the k-th
// least of all delegates is a bound on the k-th least element. Only subranges all of whose delegates are within the
// bound can hold other elements within it (rule 3). Those elements (rule 2) and the delegates within the bound are
// concatenated, and the k least of them are the answer. Where no subrange has all its delegates within the bound, the
// delegates are.
//
// Switches leave out what the paper adds step by step: without the filter of rule 2 the subranges are concatenated
// whole, and `construction` has all delegates found by warps and shuffles.
//
// The first selection ends as soon as its bound lets through few more than k delegates, as the paper's skips its last
// digit; `slack` says how many. Elements are distinct, so equal keys make no difference to any of this.
//
// Each of several parts of one problem (section 5.4) may take the least bound of all. The vector that it concatenates,
// and its answer, are then shorter.
namespace skyrank::kernels::cuda::topk {
namespace {

using namespace delegate;

/// The exchange of the run that this thread is in, which solve() does not hand on; null: the problem is whole.
thread_local const BoundExchange* exchange_of_thread = nullptr;

constexpr unsigned kThreads = kDelegateThreads;

/// The sizes that the device finds on the way.
struct Sizes {
  unsigned long long qualified;     ///< subranges all of whose delegates are within the bound
  unsigned long long within;        ///< elements of those within the bound
  unsigned long long concatenated;  ///< elements in the concatenated vector so far
};

/// Lists the subranges to be scanned, and appends to the concatenated vector those delegates within the bound that no
/// scan will find.
template <int kBeta, class Element>
__global__ void __launch_bounds__(kThreads)
    qualify(const Element* delegates, std::size_t subranges, const Element* up_to, Sizes* sizes, std::size_t* qualified,
            Element* concatenated) {
  const Element bound = *up_to;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t begin = std::size_t{blockIdx.x} * blockDim.x; begin < subranges; begin += step) {
    const std::size_t subrange[] = {begin + threadIdx.x};
    Element mine[kBeta];
    bool taken[kBeta];
    for (int i = 0; i < kBeta; ++i) {
      mine[i] =
          subrange[0] < subranges ? delegates[subrange[0] * kBeta + static_cast<std::size_t>(i)] : kNoElement<Element>;
    }
    const bool all[] = {subrange[0] < subranges && mine[kBeta - 1] <= bound};
    for (int i = 0; i < kBeta; ++i) taken[i] = subrange[0] < subranges && mine[i] <= bound && !all[0];
    append(subrange, all, &sizes->qualified, qualified);
    append(mine, taken, &sizes->concatenated, concatenated);
  }
}

/// The rows of `count` listed subranges, one after the other, a chunk for each thread of a block.
template <class E>
struct ListedRows {
  using Element = typename E::Element;
  using Key = typename E::Key;
  static constexpr int kKeys = Chunk<Key>::kKeys;
  static constexpr std::size_t kTile = std::size_t{kThreads} * kKeys;

  E elements;
  std::size_t n = 0;
  int exponent = 0;
  const std::size_t* qualified = nullptr;
  std::size_t count = 0;

  SKYRANK_HD std::size_t size() const { return count << exponent; }

  /// Reads this thread's chunk of the tile that starts at `begin`, and tests which elements are within the bound.
  __device__ void read(std::size_t begin, Element bound, Element (&loaded)[kKeys], bool (&within)[kKeys]) const {
    const std::size_t place = begin + threadIdx.x * kKeys;
    const std::size_t offset = place & ((std::size_t{1} << exponent) - 1);
    const std::size_t row = place < size() ? (qualified[place >> exponent] << exponent) + offset : n;
    const bool whole = in_chunks(elements.keys) && row + kKeys <= n;
    Chunk<Key> chunk{};
    if (whole) chunk = load_chunk(elements.keys, row);
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      const std::size_t here = row + static_cast<std::size_t>(i);
      const Key key = whole || here >= n ? chunk.keys[i] : elements.keys[here];
      loaded[i] = elements.of(key, here);
      within[i] = here < n && loaded[i] <= bound;
    }
  }
};

/// Counts the elements within the bound of the listed subranges, as many as the device says.
template <class E>
__global__ void __launch_bounds__(kThreads)
    count_within(ListedRows<E> rows, const typename E::Element* up_to, Sizes* sizes) {
  rows.count = sizes->qualified;
  __shared__ unsigned long long in_block;
  if (threadIdx.x == 0) in_block = 0;
  __syncthreads();
  const auto bound = *up_to;
  unsigned long long mine = 0;
  for (std::size_t begin = blockIdx.x * rows.kTile; begin < rows.size(); begin += gridDim.x * rows.kTile) {
    typename E::Element loaded[ListedRows<E>::kKeys];
    bool found[ListedRows<E>::kKeys];
    rows.read(begin, bound, loaded, found);
    for (const bool one : found) mine += one ? 1 : 0;
  }
  if (mine > 0) atomicAdd(&in_block, mine);
  __syncthreads();
  if (threadIdx.x == 0 && in_block > 0) atomicAdd(&sizes->within, in_block);
}

/// Appends the elements within the bound of the listed subranges; without a bound, all their elements.
template <class E>
__global__ void __launch_bounds__(kThreads) concatenate(ListedRows<E> rows, const typename E::Element* up_to,
                                                        unsigned long long* size, typename E::Element* concatenated) {
  const auto bound = up_to != nullptr ? *up_to : kNoElement<typename E::Element>;
  for (std::size_t begin = blockIdx.x * rows.kTile; begin < rows.size(); begin += gridDim.x * rows.kTile) {
    typename E::Element loaded[ListedRows<E>::kKeys];
    bool within[ListedRows<E>::kKeys];
    rows.read(begin, bound, loaded, within);
    append(loaded, within, size, concatenated);
  }
}

/// The least elements of the listed subranges.
template <class ElementT>
struct LeastOfListed {
  using Element = ElementT;

  const Element* delegates = nullptr;
  std::size_t beta = 1;
  const std::size_t* qualified = nullptr;

  __device__ Element at(std::size_t i) const { return delegates[qualified[i] * beta]; }
};

/// The greatest element, for each thread, of the listed subranges whose least is within a bound.
template <class E>
__global__ void __launch_bounds__(kThreads)
    greatest_of_best(ListedRows<E> rows, LeastOfListed<typename E::Element> least, const typename E::Element* up_to,
                     typename E::Element* greatest) {
  using Element = typename E::Element;
  const Element bound = *up_to;
  const unsigned lane = threadIdx.x % 32;
  const std::size_t warp = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  Element mine = 0;
  for (std::size_t first = warp * 32; first < rows.count; first += std::size_t{gridDim.x} * blockDim.x) {
    const bool is_best = first + lane < rows.count && least.at(first + lane) <= bound;
    for (unsigned left = __ballot_sync(0xffffffffu, is_best); left != 0; left &= left - 1) {
      const std::size_t begin = rows.qualified[first + static_cast<unsigned>(__ffs(static_cast<int>(left))) - 1]
                                << rows.exponent;
      const std::size_t length = std::size_t{1} << rows.exponent;
      const std::size_t end = begin + length < rows.n ? begin + length : rows.n;
      for (std::size_t row = begin + lane; row < end; row += 32) {
        const Element element = rows.elements.at(row);
        mine = mine < element ? element : mine;
      }
    }
  }
  greatest[std::size_t{blockIdx.x} * blockDim.x + threadIdx.x] = mine;
}

/// One block lowers a bound to the greatest of `count` elements, if that is less.
template <class Element>
__global__ void __launch_bounds__(kThreads) lower_bound_to(const Element* greatest, std::size_t count, Element* bound) {
  __shared__ Element of_threads[kThreads];
  Element mine = 0;
  for (std::size_t i = threadIdx.x; i < count; i += kThreads) mine = mine < greatest[i] ? greatest[i] : mine;
  of_threads[threadIdx.x] = mine;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half && of_threads[threadIdx.x] < of_threads[threadIdx.x + half]) {
      of_threads[threadIdx.x] = of_threads[threadIdx.x + half];
    }
  }
  if (threadIdx.x == 0 && of_threads[0] < *bound) *bound = of_threads[0];
}

/// One run, for elements of type E and so many delegates a subrange.
template <class E, int kBeta>
class DelegateSelection {
 public:
  using Element = typename E::Element;

  DelegateSelection(Run& run, const E& elements, std::size_t n, std::size_t k, const Subranges& subranges,
                    AssistKind assist)
      : run_(run),
        marks_(run),
        filter_(run.parameters["filter"] != 0),
        slack_(static_cast<std::size_t>(run.parameters["slack"])),
        by_warps_(subranges.exponent >= kWarpExponent || run.parameters["construction"] != 0),
        elements_(elements),
        n_(n),
        k_(k),
        subranges_(subranges),
        delegates_(run.allocate<Element>(subranges.count * kBeta)),
        first_(run, assist, E::kBits),
        second_(run, assist, E::kBits),
        sizes_(run.allocate<Sizes>(1)),
        qualified_(run.allocate<std::size_t>(most_taken() / kBeta)),
        concatenated_(run.allocate<Element>(most_taken())) {
    SKYRANK_CUDA_CALL(cudaMemsetAsync(sizes_.data(), 0, sizes_.bytes(), run.stream()));
  }

  void select(Element* chosen) {
    construct_delegates();
    marks_.end("delegates", delegates_.size());
    first_.find_bound(ElementVector<Element>{delegates_.data()}, delegates_.size(), k_, slack_of(k_));
    if (exchange_of_thread != nullptr) exchange_bound(*exchange_of_thread);
    marks_.end("first top-k", k_);
    qualify_subranges();
    const Sizes sizes = filter_ ? concatenate_filtered() : concatenate_whole();
    marks_.end("concatenation", sizes.concatenated + sizes.within);
    select_chosen(sizes.concatenated + sizes.within, chosen);
    marks_.end("second top-k", k_);
    marks_.note();
    if (run_.context.count_work) count(sizes);
  }

 private:
  /// Rule 2: only elements within the bound are concatenated. Returns the sizes.
  Sizes concatenate_filtered() {
    Sizes sizes = count_elements();
    if (sizes.concatenated + sizes.within > 4 * (k_ + length()) && best_subranges() <= sizes.qualified) {
      tighten_bound(sizes.qualified);
      sizes = count_elements();
    }
    if (sizes.qualified > 0) concatenate_rows(sizes, first_.bound());
    return sizes;
  }

  /// Concatenates all elements of the listed subranges. The last subrange may lack some of them, which only the device
  /// knows.
  Sizes concatenate_whole() {
    Sizes sizes = read_back(run_, sizes_.data());
    if (sizes.qualified == 0) return sizes;
    sizes.within = sizes.qualified << subranges_.exponent;
    concatenate_rows(sizes, nullptr);
    sizes.within = read_back(run_, &sizes_.data()->concatenated) - sizes.concatenated;
    return sizes;
  }

  std::size_t length() const { return std::size_t{1} << subranges_.exponent; }
  /// How many more than k delegates the bound may let through.
  std::size_t slack_of(std::size_t k) const { return slack_ > 0 ? k / slack_ : 0; }
  /// Delegates within the bound.
  std::size_t most_taken() const { return k_ + slack_of(k_); }
  /// Subranges that together have k rows, even if one is the last.
  std::size_t best_subranges() const { return (k_ >> subranges_.exponent) + 2; }

  Grid grid_for(std::size_t blocks, std::size_t resident = 8) const {
    return {.blocks = std::min(blocks, resident * run_.device.properties().multiprocessors), .threads = kThreads};
  }

  ListedRows<E> listed(std::size_t count) const {
    return {elements_, n_, subranges_.exponent, qualified_.data(), count};
  }

  void construct_delegates() {
    const auto kernel = by_warps_ ? delegates_by_warps<kBeta, E> : delegates_in_shared<kBeta, E>;
    const std::size_t blocks = by_warps_ ? blocks_for(subranges_.count, kDelegateWarps)
                                         : blocks_for(n_, std::size_t{kDelegateWarps} * kTileKeys);
    launch("delegates", kernel, grid_for(blocks, resident_blocks(kernel, kThreads)), run_.stream(), elements_, n_,
           subranges_.exponent, subranges_.count, delegates_.data());
  }

  /// Lowers the bound to the last element of the key that bounds all parts of the problem.
  void exchange_bound(const BoundExchange& exchange) {
    const Element mine = read_back(run_, first_.bound());
    const auto key = static_cast<typename E::Key>(exchange(E::key(mine)));
    if (key >= E::key(mine)) return;
    const Element bound = static_cast<Element>(key) << E::kRowBits | E::kRowMask;
    SKYRANK_CUDA_CALL(cudaMemcpyAsync(first_.bound(), &bound, sizeof(bound), cudaMemcpyHostToDevice, run_.stream()));
    run_.device.synchronize();
  }

  void qualify_subranges() {
    launch("qualify", qualify<kBeta, Element>, grid_for(blocks_for(subranges_.count, kThreads)), run_.stream(),
           delegates_.data(), subranges_.count, first_.bound(), sizes_.data(), qualified_.data(), concatenated_.data());
  }

  /// How much there is to concatenate. This waits for the device, which alone knows: room for as much as there could be
  /// would be k * 2^α / β elements, many times the k that are usual, and every later launch would have to be sized for
  /// them.
  Sizes count_elements() {
    SKYRANK_CUDA_CALL(cudaMemsetAsync(&sizes_.data()->within, 0, sizeof(Sizes::within), run_.stream()));
    const std::size_t most = qualified_.size() << subranges_.exponent;
    launch("count_within", count_within<E>, grid_for(blocks_for(most, ListedRows<E>::kTile)), run_.stream(), listed(0),
           first_.bound(), sizes_.data());
    return read_back(run_, sizes_.data());
  }

  /// Tightens the bound. If the best subranges are better than others throughout, as in keys that ascend or are all
  /// equal, the k-th least delegate is far behind the k-th least element. But the greatest element of any subranges
  /// with k rows together is a bound as well: that of the subranges with the least delegates.
  void tighten_bound(std::size_t qualified) {
    const LeastOfListed<Element> least{delegates_.data(), kBeta, qualified_.data()};
    Assist<Element> best(run_, AssistKind::radix, E::kBits);
    best.find_bound(least, qualified, best_subranges(), slack_of(best_subranges()));
    const Grid grid = grid_for(blocks_for(qualified, kThreads), 2);
    auto greatest = run_.allocate<Element>(grid.blocks * grid.threads);
    launch("greatest_of_best", greatest_of_best<E>, grid, run_.stream(), listed(qualified), least, best.bound(),
           greatest.data());
    launch("lower_bound_to", lower_bound_to<Element>, {.blocks = 1, .threads = kThreads}, run_.stream(),
           greatest.data(), greatest.size(), first_.bound());
  }

  /// Adds the elements up to a bound of the listed subranges, or all of them, to the delegates that are in the
  /// concatenated vector.
  void concatenate_rows(const Sizes& sizes, const Element* bound) {
    auto whole = run_.allocate<Element>(sizes.concatenated + sizes.within);
    if (sizes.concatenated > 0) {
      SKYRANK_CUDA_CALL(cudaMemcpyAsync(whole.data(), concatenated_.data(), sizes.concatenated * sizeof(Element),
                                        cudaMemcpyDeviceToDevice, run_.stream()));
    }
    concatenated_ = std::move(whole);
    const ListedRows<E> rows = listed(sizes.qualified);
    launch("concatenate", concatenate<E>, grid_for(blocks_for(rows.size(), ListedRows<E>::kTile)), run_.stream(), rows,
           bound, &sizes_.data()->concatenated, concatenated_.data());
  }

  void select_chosen(std::size_t size, Element* chosen) {
    if (size > k_) {
      second_.select(ElementVector<Element>{concatenated_.data()}, size, k_, chosen);
      return;
    }
    // With a bound of other parts there may be fewer.
    SKYRANK_CUDA_CALL(cudaMemsetAsync(chosen, 0xff, k_ * sizeof(Element), run_.stream()));
    if (size == 0) return;
    SKYRANK_CUDA_CALL(
        cudaMemcpyAsync(chosen, concatenated_.data(), size * sizeof(Element), cudaMemcpyDeviceToDevice, run_.stream()));
  }

  void count(const Sizes& sizes) {
    const std::size_t passes = first_.passes(k_) + 1;
    const std::size_t concatenated = sizes.concatenated + sizes.within;
    const std::size_t passes_of_second = (concatenated > k_ ? second_.passes(k_) : 0) + 1;
    const std::size_t scanned = (filter_ ? 2 : 1) * (sizes.qualified << subranges_.exponent);
    run_.count((n_ + scanned) * sizeof(typename E::Key) +
                   (passes * delegates_.size() + passes_of_second * concatenated) * sizeof(Element),
               (delegates_.size() + concatenated + k_) * sizeof(Element), concatenated);
  }

  Run& run_;
  StageMarks marks_;
  bool filter_;
  std::size_t slack_;
  bool by_warps_;
  E elements_;
  std::size_t n_;
  std::size_t k_;
  Subranges subranges_;
  Buffer<Element> delegates_;
  Assist<Element> first_;
  Assist<Element> second_;
  Buffer<Sizes> sizes_;
  Buffer<std::size_t> qualified_;
  Buffer<Element> concatenated_;  ///< delegates, and then the rows of listed subranges
};

/// Selects from the rows themselves with the assisting selection, if delegates do not pay.
template <class E>
void select_directly(Run& run, const E& elements, std::size_t n, std::size_t k, AssistKind kind,
                     typename E::Element* chosen) {
  Assist<typename E::Element> assist(run, kind, E::kBits);
  assist.select_rows(elements, n, k, chosen);
  if (run.context.count_work) {
    run.count((assist.passes(k) + 1) * n * sizeof(typename E::Key), k * sizeof(typename E::Element), n);
  }
}

struct DrTopK {
  static constexpr bool kMayBeUnordered = true;

  template <class E>
  static bool select(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
    const auto beta = static_cast<int>(run.parameters["beta"]);
    const auto assist = static_cast<AssistKind>(run.parameters["assist"]);
    const Subranges subranges = subranges_for(n, k, beta, static_cast<int>(run.parameters["alpha"]),
                                              static_cast<double>(run.parameters["constant"]));
    const auto select_with = [&]<int kBeta>(std::integral_constant<int, kBeta>) {
      DelegateSelection<E, kBeta>(run, elements, n, k, subranges, assist).select(chosen);
    };
    if (!subranges.useful) {
      select_directly(run, elements, n, k, assist, chosen);
    } else if (beta == 1) {
      select_with(std::integral_constant<int, 1>{});
    } else if (beta == 2) {
      select_with(std::integral_constant<int, 2>{});
    } else if (beta == 3) {
      select_with(std::integral_constant<int, 3>{});
    } else {
      select_with(std::integral_constant<int, 4>{});
    }
    return false;
  }
};

constexpr Parameter kParameters[] = {
    {.name = "alpha",
     .description = "subranges have 2^alpha rows; 0: as the paper's rule 4 says",
     .min = 0,
     .max = 16,
     .default_value = 0},
    {.name = "constant",
     .description = "the constant of rule 4, which the paper tuned to 3",
     .min = 0,
     .max = 12,
     .default_value = static_cast<std::int64_t>(kSubrangeConstant)},
    {.name = "slack",
     .description = "the first selection may end with k / slack delegates more than k; 0: with none",
     .min = 0,
     .max = 1024,
     .default_value = 16},
    {.name = "beta", .description = "delegates of a subrange", .min = 1, .max = 4, .default_value = 2},
    {.name = "assist",
     .description = "the selection that assists: 0 radix, 1 bucket, 2 bitonic",
     .min = 0,
     .max = 2,
     .default_value = 0},
    {.name = "filter",
     .description = "0: subranges are concatenated whole, without the paper's rule 2",
     .min = 0,
     .max = 1,
     .default_value = 1},
    {.name = "construction",
     .description = "0: delegates of short subranges are found in shared memory; 1: all by warps and shuffles",
     .min = 0,
     .max = 1,
     .default_value = 0},
    kOrdered,
    kReturned,
};

class ExchangeScope {
 public:
  explicit ExchangeScope(const BoundExchange& exchange) { exchange_of_thread = &exchange; }
  ~ExchangeScope() { exchange_of_thread = nullptr; }
  ExchangeScope(const ExchangeScope&) = delete;
  ExchangeScope& operator=(const ExchangeScope&) = delete;
};

TopKSolution run_part(const TopKProblem& problem, const ParameterValues& parameters, const Context& context,
                      const BoundExchange& exchange) {
  const ExchangeScope scope(exchange);
  TopKSolution solution = solve<DrTopK>(problem, parameters, context);
  // Some places may have no element.
  std::erase_if(solution.rows, [&](RowId row) { return row < 0 || static_cast<std::size_t>(row) >= problem.n; });
  return solution;
}

}  // namespace

extern const TopKAlgorithm dr_topk;
const TopKAlgorithm dr_topk{
    .name = "cuda-dr-topk",
    .summary = "lets delegates of subranges decide which of them are read again",
    .source = "Gaihre et al.: Dr. Top-k: Delegate-Centric Top-k on GPUs, SC 2021, sections 4 and 5",
    .device = Device::cuda,
    .parameters = kParameters,
    .supports = needs_key_columns,
    .run = solve<DrTopK>,
    .variants = {.part = run_part},
};

}  // namespace skyrank::kernels::cuda::topk
