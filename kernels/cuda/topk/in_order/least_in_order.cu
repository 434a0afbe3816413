#include "kernels/cuda/topk/in_order/least_in_order.hpp"

#include <algorithm>

#include "kernels/cuda/topk/in_order/bucket_sort.cuh"
#include "kernels/cuda/topk/in_order/rank.cuh"

namespace skyrank::kernels::cuda::topk {
namespace {

/// How a list is distributed.
struct BucketPlan {
  std::size_t count = 0;
  std::size_t samples = 0;  ///< for each splitter
};

/// Small lists get small buckets.
template <class Element>
BucketPlan buckets_for(std::size_t size) {
  using Policy = BucketPolicy<sizeof(Element)>;
  constexpr std::size_t kLarge = kBucketRoom<Element> / 3;
  const std::size_t small = (size + Policy::kSmall - 1) / Policy::kSmall;
  if (small <= Policy::kMaxSmallBuckets) return {.count = small, .samples = Policy::kSamplesOfSmall};
  return {.count = std::max(Policy::kMaxSmallBuckets, (size + kLarge - 1) / kLarge),
          .samples = Policy::kSamplesOfLarge};
}

/// Buckets of the first of two steps.
constexpr unsigned kMaxCoarse = PartitionPolicy::kMaxCoarse;

/// Launches the kernels that put a part in order.
template <class Element>
class Ordering {
 public:
  Ordering(const DeviceStream& device, MemoryResource& memory, bool starts = true)
      : device_(device), memory_(memory), starts_(starts), overlaps_(device.properties.overlaps_launches) {}

  /// Expects a part to have `size` elements in the mean. `guesses`: there is a guess.
  void order(const Part<Element>& part, std::size_t size, const Ranked<Element>& ranked, bool guesses) const {
    if (guesses && is_distributed(size))
      distribute(part, size, ranked);
    else
      count(part, size, ranked, {});
  }

  /// Puts a part in order that could not be put in order by a guess.
  void order_if_failed(const Part<Element>& part, const Ranked<Element>& ranked) const {
    start("rank_if_failed", rank_if_failed<Element>, device_.properties.multiprocessors, kCountThreads, 0, part,
          ranked);
  }

 private:
  void count(const Part<Element>& part, std::size_t size, const Ranked<Element>& ranked, Zeros zeros) const {
    start("rank_by_counting", rank_by_counting<Element>, blocks_for(size, kLanes), kCountThreads, 0, part, ranked,
          zeros);
  }

  void distribute(const Part<Element>& part, std::size_t size, const Ranked<Element>& ranked) const {
    const BucketPlan plan = buckets_for<Element>(size);
    const auto count = static_cast<unsigned>(plan.count);
    const auto splitters = allocate<Element>(count);
    const auto sizes = allocate<unsigned>(count + kMaxCoarse);
    const auto elements = allocate<Element>(std::size_t{count} * kBucketRoom<Element>);
    const Buckets<Element> buckets{.splitters = splitters.data(),
                                   .count = count,
                                   .sizes = sizes.data(),
                                   .elements = elements.data(),
                                   .room = kBucketRoom<Element>,
                                   .every = 1};
    choose_splitters(part, plan, splitters.data(), {.words = sizes.data(), .count = count + kMaxCoarse});
    if (count > kPartitionThreads)
      distribute_twice(part, size, buckets);
    else
      distribute_once(part, size, buckets);
    start("sort_buckets", sort_buckets<Element>, count, kBucketThreads, kBucketRoom<Element> * sizeof(Element), part,
          buckets, ranked, ranked.answer.k * ranked.every);
  }

  /// In small tiles where there would not be large ones for all multiprocessors.
  void distribute_once(const Part<Element>& part, std::size_t size, const Buckets<Element>& buckets) const {
    if (size < device_.properties.multiprocessors * kPartitionTile<PartitionPolicy::kItems>)
      distribute_tiles<PartitionPolicy::kFewItems>(part, size, buckets);
    else
      distribute_tiles<PartitionPolicy::kItems>(part, size, buckets);
  }

  template <unsigned kItems>
  void distribute_tiles(const Part<Element>& part, std::size_t size, const Buckets<Element>& buckets) const {
    const std::size_t shared_bytes = Partition<Element, kItems>::shared_bytes(buckets.count);
    const std::size_t resident = resident_blocks(partition<kItems, Element>, kPartitionThreads, shared_bytes) *
                                 device_.properties.multiprocessors;
    start("partition", partition<kItems, Element>, std::min(blocks_for(size, kPartitionTile<kItems>), resident),
          kPartitionThreads, shared_bytes, part, buckets);
  }

  /// First to as few buckets as a tile has many elements for, so that what goes to one of them lies together and is one
  /// request for room; then each of these. Their many samples make them even.
  void distribute_twice(const Part<Element>& part, std::size_t size, const Buckets<Element>& buckets) const {
    constexpr unsigned kItems = PartitionPolicy::kItems;
    constexpr std::size_t kTile = kPartitionTile<kItems>;
    Buckets<Element> coarse = buckets;
    coarse.every = (buckets.count + kMaxCoarse - 1) / kMaxCoarse;
    coarse.count = (buckets.count + coarse.every - 1) / coarse.every;
    coarse.sizes = buckets.sizes + buckets.count;
    const std::size_t most = std::max(size, part.most_size);
    coarse.room = static_cast<unsigned>(blocks_for(most * coarse.every / buckets.count * 5 / 4, kTile) * kTile);
    const auto elements = allocate<Element>(std::size_t{coarse.count} * coarse.room);
    coarse.elements = elements.data();
    distribute_once(part, size, coarse);
    start("partition_again", partition_again<Element>, coarse.count * (coarse.room / kTile), kPartitionThreads,
          Partition<Element, kItems>::shared_bytes(coarse.every), part, coarse, buckets);
  }

  /// Chooses the splitters of a sample; those of a large sample in the same way.
  void choose_splitters(const Part<Element>& part, const BucketPlan& plan, Element* splitters, Zeros zeros) const {
    Part<Element> sample = part;
    sample.sampled = plan.count * plan.samples;
    sample.least_size = std::max(part.least_size, sample.sampled);
    const Ranked<Element> every{.answer = {.elements = splitters, .rows = nullptr, .k = plan.count - 1},
                                .every = plan.samples};
    if (sample.sampled <= kMaxCounted) return count(sample, sample.sampled, every, zeros);
    const auto taken = allocate<Element>(sample.sampled);
    constexpr unsigned kThreads = 256;
    start("take_sample", take_sample<Element>, blocks_for(sample.sampled, kThreads), kThreads, 0, sample, taken.data(),
          zeros);
    Part<Element> list = part;
    list.elements = taken.data();
    list.fixed_size = sample.sampled;
    distribute(list, sample.sampled, every);
  }

  template <class... Parameters>
  void start(const char* name, void (*kernel)(Parameters...), std::size_t blocks, unsigned threads,
             std::size_t shared_bytes, std::type_identity_t<Parameters>... arguments) const {
    if (!starts_) return;
    launch(name, kernel, {.blocks = blocks, .threads = threads, .shared_bytes = shared_bytes, .overlaps = overlaps_},
           device_.stream, arguments...);
  }

  template <class T>
  Buffer<T> allocate(std::size_t size) const {
    return Buffer<T>(size, memory_, device_.stream);
  }

  DeviceStream device_;
  MemoryResource& memory_;
  bool starts_;
  bool overlaps_;
};

template <class Element>
Part<Element> part_of(const ElementList<Element>& list, const InOrder<Element>& answer) {
  return {.elements = list.elements,
          .fixed_size = list.guess == nullptr ? list.size : 0,
          .sampled = 0,
          .guess = list.guess,
          .least_size = answer.k,
          .most_size = list.capacity};
}

}  // namespace

template <class Element>
void least_in_order(const ElementList<Element>& list, const InOrder<Element>& answer, DeviceContext& device) {
  Ordering<Element>(device, device.memory())
      .order(part_of(list, answer), list.size, {.answer = answer}, list.guess != nullptr);
}

template <class Element>
void least_in_order_at_last(const ElementList<Element>& list, const InOrder<Element>& answer,
                            const DeviceStream& device, MemoryResource& memory, bool starts) {
  const Ordering<Element> ordering(device, memory, starts);
  const Part<Element> part = part_of(list, answer);
  ordering.order(part, list.size, {.answer = answer}, true);
  ordering.order_if_failed(part, {.answer = answer});
}

template void least_in_order(const ElementList<std::uint64_t>&, const InOrder<std::uint64_t>&, DeviceContext&);
template void least_in_order(const ElementList<Uint128>&, const InOrder<Uint128>&, DeviceContext&);
template void least_in_order_at_last(const ElementList<std::uint64_t>&, const InOrder<std::uint64_t>&,
                                     const DeviceStream&, MemoryResource&, bool);
template void least_in_order_at_last(const ElementList<Uint128>&, const InOrder<Uint128>&, const DeviceStream&,
                                     MemoryResource&, bool);

}  // namespace skyrank::kernels::cuda::topk
