#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/device/block.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/shared.cuh"
#include "kernels/cuda/topk/block_merge_sort.cuh"
#include "kernels/cuda/topk/block_spread_sort.cuh"
#include "kernels/cuda/topk/guess.cuh"
#include "kernels/cuda/topk/list_part.cuh"
#include "kernels/cuda/topk/threshold_plan.hpp"

// Candidates that a scan puts where they will be ordered, so that one launch after it is enough. The sample that gave
// the threshold tells where between zero and the threshold the candidates lie: its elements below the threshold, the
// knots, bound intervals with about as many candidates each. An interval is divided into bins of equal width, as finely
// as if the keys were spread evenly within it, which makes most bins so small that each of their elements is ranked by
// counting those below it. Where keys are not spread so, bins are larger, and a block sorts them; the answer is the
// same.
namespace skyrank::kernels::cuda {

/// A rule's knots, where the threads of a block read them.
template <class Element>
struct KnotsOfBlock {
  Element sorted[kMostKnots];
  /// Bins below all knots for a unit of distance from the least one, near it; where the rule asks for it.
  float low_scale;

  __device__ Element threshold(unsigned count) const { return sorted[count - 1]; }
};

/// The same of keys of 1 or 2 bytes, and what it tells of the intervals that end at the knots.
template <class Element>
struct NarrowKnotsOfBlock {
  /// Where rows of a key seem to lie close together, or one of many keys to have many: by distance from the knots.
  static constexpr float kByDistance = 0;
  /// The same where keys and rows seem to rise or fall together: of keys between by distance from a diagonal.
  static constexpr float kByDiagonal = -1;

  std::uint64_t places[kMostKnots];  ///< among all elements of as many rows of each key
  unsigned keys[kMostKnots];
  /// Bins for a unit of place; kByDistance or kByDiagonal where these are not equal. The first one is that below all
  /// knots.
  float scales[kMostKnots];
  /// So many rows lie from one knot to the next, in the mean of a few that have the key of the knot before; and of such
  /// that have that of the knot. 0 where none has. With kByDiagonal half of the most rows that a key seems to have.
  float below[kMostKnots];
  float above[kMostKnots];
  Element last;

  __device__ Element threshold(unsigned /*count*/) const { return last; }
};

/// Divides elements up to a threshold into bins, in ascending order.
template <class Element>
struct BinRule {
  static constexpr int kRowBits = sizeof(Element) == 8 ? 32 : 64;
  /// Of narrow keys the first ones, for rows of key zero.
  static constexpr unsigned kBinsOfZero = kLowBins / 4;
  /// Of keys of 4 and 8 bytes the first ones, for rows of key zero.
  static constexpr unsigned kBinsOfWideZero = kLowBins / 8;
  /// Between the least knots, that tell how close together the elements below all knots may be.
  static constexpr unsigned kLowIntervals = 8;

  Element* knots = nullptr;      ///< in device memory: ascending, the last one is the threshold
  unsigned count = 0;            ///< of knots, at most kMostKnots
  unsigned width = 0;            ///< bins of the interval that ends at a knot
  unsigned low_bins = kLowBins;  ///< bins below the least knot, at least kLowBins: of narrow keys only so many are used
  std::uint64_t first = 0;       ///< the least bits of a row id in an element,
  std::uint64_t rows = 0;        ///< and how many different ones there are

  /// Elements of 64 bits have bins below all knots whose widths double from the least one on: more cost their scan more
  /// than it saves, up to 2 us where rows are sorted.
  static constexpr bool kDoubling = sizeof(Element) == 8;

  /// Brings the knots to shared memory. All threads of a block call it.
  __device__ void load_knots(KnotsOfBlock<Element>& of_block) const {
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) of_block.sorted[i] = knots[i];
    if constexpr (!kDoubling) {
      if (threadIdx.x == 0) of_block.low_scale = low_scale();
    }
    __syncthreads();
  }
  __device__ void load_knots(NarrowKnotsOfBlock<Element>& of_block) const {
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) set_knot(of_block, i);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) set_interval(of_block, i);
    __syncthreads();
  }
  __device__ void set_knot(NarrowKnotsOfBlock<Element>& of_block, unsigned i) const {
    const Element knot = knots[i];
    of_block.places[i] = place_of(knot);
    of_block.keys[i] = static_cast<unsigned>(key(knot));
    if (i == count - 1) of_block.last = knot;
  }
  /// Once all knots are set.
  __device__ void set_interval(NarrowKnotsOfBlock<Element>& of_block, unsigned i) const {
    if (i == 0) {
      of_block.scales[0] = low_scale(of_block);
      return;
    }
    const std::uint64_t extent = of_block.places[i] - of_block.places[i - 1];
    of_block.scales[i] = quotient(static_cast<float>(width), static_cast<float>(extent) + 1);
    if (of_block.keys[i] != of_block.keys[i - 1]) set_interval_of_keys(of_block, i);
  }
  /// Of an interval whose knots have different keys, whether its bins are not to be equal.
  __device__ void set_interval_of_keys(NarrowKnotsOfBlock<Element>& of_block, unsigned i) const {
    using Knots = NarrowKnotsOfBlock<Element>;
    constexpr unsigned kFewKeys = 8;
    constexpr float kFewRows = 64;         // may have one bin
    constexpr float kClose = 1.0f / 1024;  // of all rows
    float below = rows_apart(of_block, count, i - 1, -1);
    float above = rows_apart(of_block, count, i, 1);
    const bool none = below == 0 && above == 0;
    // A key of several knots has more rows than each of many between two knots, of which one bin would have all. So may
    // the least key there is.
    const bool many = of_block.keys[i] - of_block.keys[i - 1] > kFewKeys;
    const float of_key = rows_of_diagonal(of_block, i);
    if (of_key > kFewRows && (none || rows_between(of_block, i - 1, i) > 0)) {
      below = above = of_key / 2;
      of_block.scales[i] = Knots::kByDiagonal;
    } else {
      if (none && many && of_block.keys[i - 1] == 0) below = above = static_cast<float>(rows) / 2;
      const float least = below == 0 || (above > 0 && above < below) ? above : below;
      const bool close = least < kClose * static_cast<float>(rows);
      if (least > 0 && (many || close)) of_block.scales[i] = Knots::kByDistance;
    }
    of_block.below[i] = below;
    of_block.above[i] = above;
  }

  /// From the knots that bound the low intervals. Twice as wide as the bins of these are in the mean: chance may put
  /// several intervals' elements below all knots.
  __device__ float low_scale() const {
    const unsigned intervals = min(kLowIntervals, count - 1);
    return low_scale_of(intervals, key(knots[intervals]) - key(knots[0]));
  }
  /// Only from the knots of the least one's key, if there are others. At least so that half of the bins reach the first
  /// element there may be, or the first zero where keys and rows rise or fall together.
  __device__ float low_scale(const NarrowKnotsOfBlock<Element>& of_block) const {
    unsigned same = 0;
    for (unsigned i = 1; i <= kLowIntervals; ++i) same += i < count && of_block.keys[i] == of_block.keys[0] ? 1 : 0;
    const unsigned intervals = same > 0 ? same : min(kLowIntervals, count - 1);
    float extent = static_cast<float>(of_block.places[0]);
    const bool only_zeros = of_block.keys[0] == 0 && same == 0 && count > 1;
    if (const float of_key = only_zeros ? rows_of_diagonal(of_block, 1) : 0; of_key > 0) extent = fminf(extent, of_key);
    const float even = fminf(quotient(static_cast<float>(kLowBins / 2), extent + 1), 1);
    return fmaxf(low_scale_of(intervals, of_block.places[intervals] - of_block.places[0]), even);
  }

  __device__ static std::uint64_t key(Element element) { return static_cast<std::uint64_t>(element >> kRowBits); }
  __device__ std::uint64_t row(Element element) const {
    constexpr std::uint64_t kMask = ~std::uint64_t{0} >> (64 - kRowBits);
    return (static_cast<std::uint64_t>(element) & kMask) - first;
  }

  /// The bin of an element not above the threshold.
  __device__ unsigned bin_of(Element element, const KnotsOfBlock<Element>& of_block) const {
    const Element* const sorted = of_block.sorted;
    const unsigned interval = interval_of(element, sorted);
    const Element high = sorted[interval];
    const Element low = interval == 0 ? high : sorted[interval - 1];
    const bool below_all = interval == 0 && key(element) != key(high);
    const float part = part_of_interval(element, low, high, interval == 0);
    // The least first: the part of one that is below all knots means nothing, and may be too large for an integer.
    const auto in_interval =
        static_cast<unsigned>(fminf(part * static_cast<float>(width), static_cast<float>(width - 1)));
    const auto distance = static_cast<float>(key(high) - key(element));
    const unsigned steps =
        kDoubling ? doublings_of(distance, 1, fraction_bits()) : steps_below(distance * of_block.low_scale, low_bins);
    const unsigned below = key(element) == 0 ? bin_of_zero<kBinsOfWideZero>(row(element))
                                             : low_bins - 1 - min(steps, low_bins - 1 - kBinsOfWideZero);
    return below_all ? below : low_bins + interval * width + in_interval;
  }

  /// The same where keys have 1 or 2 bytes: those between two knots may all occur, and their rows, so that keys and
  /// rows together are spread evenly where either are. Of the keys of two knots themselves, the rows may lie close
  /// together.
  __device__ unsigned bin_of(Element element, const NarrowKnotsOfBlock<Element>& of_block) const {
    const std::uint64_t* const places = of_block.places;
    const std::uint64_t own = place_of(element);
    const unsigned interval = interval_of(own, places);
    const float scale = of_block.scales[interval];
    if (interval == 0) {
      if (own < rows && of_block.keys[0] != 0) return bin_of_zero<kBinsOfZero>(own);
      const unsigned steps = steps_below(static_cast<float>(places[0] - own) * scale);
      return kLowBins - 1 - min(steps, kLowBins - 1 - kBinsOfZero);
    }
    const float bin = scale > 0 ? static_cast<float>(own - places[interval - 1]) * scale
                                : part_of_close(element, interval, of_block) * static_cast<float>(width);
    return kLowBins + interval * width + static_cast<unsigned>(fminf(bin, static_cast<float>(width - 1)));
  }

 private:
  /// How many knots are below one.
  template <class Knot>
  __device__ unsigned interval_of(Knot knot, const Knot* sorted) const {
    unsigned interval = 0;
    for (unsigned step = (kMostKnots + 1) / 2; step > 0; step /= 2) {
      if (interval + step < count && sorted[interval + step - 1] < knot) interval += step;
    }
    return interval;
  }

  /// Among all elements of as many rows of each key. Of keys of 1 or 2 bytes and rows of 32 bits.
  __device__ std::uint64_t place_of(Element element) const { return key(element) * rows + row(element); }

  /// Most rows of a key in an interval, if keys and rows rise or fall together, by a few intervals around it; 0 where
  /// they do not seem to, or that cannot be told. Rising ones lie between the interval's knots.
  __device__ float rows_of_diagonal(const NarrowKnotsOfBlock<Element>& of_block, unsigned interval) const {
    constexpr unsigned kAround = 2;
    constexpr float kClose = 1.0f / 128;  // of all rows
    const unsigned before = interval - 1 - min(interval - 1, kAround);
    const unsigned after = min(interval + kAround, count - 1);
    const float extent = rows_between(of_block, before, after);
    if (fabsf(extent) > kClose * static_cast<float>(rows)) return 0;
    const unsigned whole = of_block.keys[after] - of_block.keys[before] - 1;  // keys, all of whose rows are among these
    const float own = rows_between(of_block, interval - 1, interval);
    const float most = whole == 0 ? 0 : quotient(fabsf(extent), static_cast<float>(whole));
    return own > 0 && (own < most || whole == 0) ? own : most;
  }

  __device__ float rows_between(const NarrowKnotsOfBlock<Element>& of_block, unsigned from, unsigned to) const {
    return static_cast<float>(static_cast<std::int64_t>(row_of(of_block, to) - row_of(of_block, from)));
  }

  __device__ std::uint64_t row_of(const NarrowKnotsOfBlock<Element>& of_block, unsigned knot) const {
    return of_block.places[knot] - of_block.keys[knot] * rows;
  }

  /// From one knot to the next in a direction, in the mean of up to three with the first one's key.
  __device__ static float rows_apart(const NarrowKnotsOfBlock<Element>& of_block, unsigned count, unsigned knot,
                                     int step) {
    constexpr int kMost = 3;
    std::uint64_t extent = 0;
    int same = 0;
    for (int i = 1; i <= kMost; ++i) {
      const unsigned other = knot + static_cast<unsigned>(i * step);  // below the first one more than any
      if (other >= count || of_block.keys[other] != of_block.keys[knot]) break;
      const std::uint64_t from = of_block.places[knot];
      const std::uint64_t to = of_block.places[other];
      extent = step > 0 ? to - from : from - to;
      same = i;
    }
    return same == 0 ? 0 : quotient(static_cast<float>(extent), static_cast<float>(same));
  }

  /// Rows of key zero, which may be that of all values below a limit: where all knots have others, bins of their own.
  template <unsigned kBinsOfIt>
  __device__ unsigned bin_of_zero(std::uint64_t row_of_zero) const {
    const float bin = quotient(static_cast<float>(row_of_zero) * kBinsOfIt, static_cast<float>(rows));
    return min(static_cast<unsigned>(bin), kBinsOfIt - 1);
  }

  __device__ float low_scale_of(unsigned intervals, std::uint64_t extent) const {
    return fminf(quotient(static_cast<float>(intervals * width / 2), static_cast<float>(extent) + 1), 1);
  }

  /// Where an element lies between two knots of different narrow keys, from 0 to 1. The rows of either knot's key are
  /// divided by their distance from it, most of their bins as closely as the intervals beside this one tell, the others
  /// evenly: chance may put knots close together. Does not fall where the element rises, whatever is rounded.
  __device__ float part_of_close(Element element, unsigned interval,
                                 const NarrowKnotsOfBlock<Element>& of_block) const {
    constexpr float kOfClose = 0.75f;
    const unsigned low_key = of_block.keys[interval - 1];
    const auto keys = static_cast<float>(of_block.keys[interval] - low_key);
    const auto which = static_cast<float>(static_cast<unsigned>(key(element)) - low_key);
    const float of_upper = fmaxf(0.125f, quotient(1, keys + 1));
    const float of_lower = low_key == 0 ? 0.5f : of_upper;  // of zeros there may be as many as of all others
    if (0 < which && which < keys) {
      const float between = quotient(which - 1 + part_of_key(row(element), which, interval, of_block), keys - 1);
      return fminf(of_lower + (1 - of_lower - of_upper) * between, 1 - of_upper);
    }
    const bool lower = which == 0;
    const float below = of_block.below[interval];
    const float above = of_block.above[interval];
    const float likely = above == 0 || (lower && below > 0) ? below : above;
    const std::uint64_t knot = row_of(of_block, lower ? interval - 1 : interval);
    const auto distance = static_cast<float>(lower ? row(element) - knot : knot - row(element));
    const auto most = static_cast<float>(lower ? rows - knot : knot + 1);
    const float of_rows = kOfClose * part_of_distance(distance, likely) + (1 - kOfClose) * quotient(distance, most);
    const float part = (lower ? of_lower : of_upper) * fminf(of_rows, 1);
    return lower ? part : 1 - part;
  }

  /// Where a row lies among those of one of the keys between two knots, from 0 to 1: on a diagonal among as many rows
  /// before and behind the one that is likely as a key seems to have.
  __device__ float part_of_key(std::uint64_t row_of_key, float which, unsigned interval,
                               const NarrowKnotsOfBlock<Element>& of_block) const {
    if (of_block.scales[interval] == NarrowKnotsOfBlock<Element>::kByDistance)
      return quotient(static_cast<float>(row_of_key), static_cast<float>(rows));
    const std::uint64_t low = row_of(of_block, interval - 1);
    const auto keys = static_cast<float>(of_block.keys[interval] - of_block.keys[interval - 1]);
    const float extent = rows_between(of_block, interval - 1, interval);
    const auto distance = static_cast<float>(static_cast<std::int64_t>(row_of_key - low));
    const float beside = distance - extent * quotient(which, keys);
    return fminf(fmaxf(0.5f + quotient(beside, 4 * of_block.below[interval]), 0), 1);
  }

  /// Even up to twice the distance that is likely, ever more slowly after that: divided exactly, as divisors differ.
  __device__ static float part_of_distance(float distance, float likely) {
    constexpr float kEven = 0.9f;
    return distance <= 2 * likely ? fminf(kEven, kEven / 2 * quotient(distance, likely))
                                  : fmaxf(kEven, 1 - 2 * (1 - kEven) * (likely / distance));
  }

  /// Where an element lies between two knots, from 0 to 1. An eighth is for the lower one's key, another for the upper
  /// one's, so that of few different keys each is divided by its rows. The first interval has only rows of its knot's
  /// key. Does not fall where the element rises, whatever is rounded, and has no branches: lanes meet all cases.
  __device__ float part_of_interval(Element element, Element low, Element high, bool is_first) const {
    constexpr float kOfKey = 0.125f;
    const bool one_key = key(low) == key(high);
    const bool lower = !one_key && key(element) == key(low);
    const bool upper = !one_key && key(element) == key(high);
    const bool by_row = one_key || lower || upper;
    const std::uint64_t least_row = upper || is_first ? 0 : row(low);
    const std::uint64_t from = by_row ? least_row : key(low);
    const std::uint64_t most_row = lower ? rows - 1 : row(high);
    const std::uint64_t to = by_row ? most_row : key(high);
    const float before = static_cast<float>((by_row ? row(element) : key(element)) - from);
    const float part = quotient(before, static_cast<float>(to - from) + 1);
    const float offset = upper ? 1 - kOfKey : kOfKey;
    const float scale = by_row ? kOfKey : 1 - 2 * kOfKey;
    return one_key ? part : (lower ? 0 : offset) + scale * part;
  }

  /// Not rounded exactly, but always by the same factor for one divisor.
  __device__ static float quotient(float dividend, float divisor) {
#if defined(__CUDACC__)
    return __fdividef(dividend, divisor);
#else
    return dividend / divisor;
#endif
  }

  /// Of the bins below all knots, how many lie between an element's and the least knot: half of them are equal, then
  /// eight have a width, the next eight twice that.
  __device__ static unsigned steps_below(float steps, unsigned bins = kLowBins) {
    const auto even = static_cast<float>(bins / 2);
    return min(static_cast<unsigned>(fminf(steps, even)) + doublings_of(fmaxf(steps, even), even, 3), bins - 1);
  }

  /// So many bins below all knots have a width before it doubles, as a power of two, that there is one for every 32-bit
  /// key.
  __device__ unsigned fraction_bits() const {
    constexpr unsigned kDoublings = 33;
    return 31 - static_cast<unsigned>(__clz(static_cast<int>(low_bins / kDoublings)));
  }

  /// Parts of doublings from one number to another, 2^bits of each. It may be anything where the former is the greater.
  __device__ static unsigned doublings_of(float number, float from, unsigned bits) {
    constexpr unsigned kMantissa = 23;
    return (__float_as_uint(number) - __float_as_uint(from)) >> (kMantissa - bits);
  }
};

/// Room for elements by bins.
template <class Element>
struct Bins {
  BinRule<Element> rule;
  unsigned* sizes = nullptr;  ///< kBins, then `beyond`'s; zeros at first
  Element* elements = nullptr;
  unsigned count = kBins;  ///< or kFewBins
  unsigned room = 0;       ///< for elements in each bin
  /// Those that their bin has no room for, as they come.
  Element* beyond = nullptr;
  uint2* places = nullptr;  ///< their bins, and their places there
  unsigned beyond_room = 0;

  __host__ __device__ bool some() const { return rule.count > 0; }

  __device__ void put(Element element, unsigned bin, unsigned place) const {
    if (place < room) {
      elements[bin * room + place] = element;
      return;
    }
    const unsigned i = atomicAdd(&sizes[kBins], 1u);
    if (i >= beyond_room) return;
    beyond[i] = element;
    places[i] = make_uint2(bin, place);
  }
};

/// A warp's way to bins, as ListSink is one to a list. Several elements of a lane are on their way at a time: each asks
/// for its place in the L2 cache.
template <class Element, class Knots = KnotsOfBlock<Element>>
struct BinSink {
  const Bins<Element>& bins;
  const Knots& knots;

  __device__ void put(const Element* held, unsigned size) const {
    constexpr bool kNarrow = !std::is_same_v<Knots, KnotsOfBlock<Element>>;
    constexpr unsigned kAtATime = (kNarrow ? 32 : 16) / sizeof(Element);
    for (unsigned first = threadIdx.x % kLanes; first < size; first += kAtATime * kLanes) {
      unsigned bin[kAtATime];
      unsigned place[kAtATime] = {};
#pragma unroll
      for (unsigned i = 0; i < kAtATime; ++i) {
        // Bins of narrow keys are found with branches, one after another: not of elements that no lane has.
        if (kNarrow && first - threadIdx.x % kLanes + i * kLanes >= size) continue;
        bin[i] = bin_of(held[min(first + i * kLanes, size - 1)]);
      }
#pragma unroll
      for (unsigned i = 0; i < kAtATime; ++i) {
        if (first + i * kLanes < size) place[i] = atomicAdd(&bins.sizes[bin[i]], 1u);
      }
#pragma unroll
      for (unsigned i = 0; i < kAtATime; ++i) {
        if (first + i * kLanes < size) bins.put(held[first + i * kLanes], bin[i], place[i]);
      }
    }
  }

  /// Where so many of a stretch of rows are taken, they are sorted or equal, and neighbours go to one bin: one lane
  /// asks for all of these.
  template <unsigned kItems, class Make>
  __device__ void put_some(unsigned taken, unsigned /*all*/, Make element) const {
    constexpr unsigned kAtATime = 32 / sizeof(Element);
    static_assert(kItems % kAtATime == 0);
    const unsigned before_lane = (1u << threadIdx.x % kLanes) - 1;
#pragma unroll
    for (unsigned first = 0; first < kItems; first += kAtATime) {
      unsigned bin[kAtATime];
      unsigned lanes[kAtATime];
      unsigned place[kAtATime] = {};
#pragma unroll
      for (unsigned i = 0; i < kAtATime; ++i) {
        const unsigned of_element = bin_of(element(first + i));
        bin[i] = (taken >> (first + i) & 1) != 0 ? of_element : kBins;
      }
#pragma unroll
      for (unsigned i = 0; i < kAtATime; ++i) {
        lanes[i] = __match_any_sync(kAllLanes, bin[i]);
        if ((lanes[i] & before_lane) == 0 && bin[i] < kBins) {
          place[i] = atomicAdd(&bins.sizes[bin[i]], static_cast<unsigned>(__popc(lanes[i])));
        }
      }
#pragma unroll
      for (unsigned i = 0; i < kAtATime; ++i) {
        place[i] = __shfl_sync(kAllLanes, place[i], __ffs(static_cast<int>(lanes[i])) - 1);
        place[i] += static_cast<unsigned>(__popc(lanes[i] & before_lane));
        if (bin[i] < kBins) bins.put(element(first + i), bin[i], place[i]);
      }
    }
  }

 private:
  __device__ unsigned bin_of(Element element) const { return bins.rule.bin_of(element, knots); }
};

/// Picks the knots among the elements below the threshold of a block's `size`, `below` in all, evenly by their places,
/// since ascending rows have their minima in order. All threads of a block call it.
template <class Element>
__device__ void choose_knots(const Element* elements, unsigned size, Element threshold, unsigned below,
                             const BinRule<Element>& rule) {
  constexpr unsigned kOfKnot = 8;  // threads
  __shared__ Element chosen[kMostKnots];
  const unsigned wanted = rule.count - 1;
  if (threadIdx.x == 0) rule.knots[wanted] = threshold;
  unsigned before_all = 0;
  for (unsigned first = 0; first < size; first += blockDim.x) {
    const Element element = first + threadIdx.x < size ? elements[first + threadIdx.x] : kNoElement<Element>;
    const bool is_below = element < threshold;
    unsigned of_block = 0;
    const unsigned which = before_all + count_before(is_below, of_block);
    before_all += of_block;
    // The places of those before it are i * wanted / below. It is the first of its place if the last one's is another.
    const unsigned place = which * wanted / below;
    if (is_below && which * wanted - place * below < wanted) chosen[place] = element;
  }
  __syncthreads();
  for (unsigned first = 0; first < wanted; first += blockDim.x / kOfKnot) {
    const unsigned own = first + threadIdx.x / kOfKnot;
    const Element mine = own < wanted ? chosen[own] : kNoElement<Element>;
    unsigned rank = 0;
    for (unsigned i = threadIdx.x % kOfKnot; i < wanted; i += kOfKnot) rank += chosen[i] < mine ? 1 : 0;
    for (unsigned distance = 1; distance < kOfKnot; distance *= 2) rank += __shfl_xor_sync(kAllLanes, rank, distance);
    if (own < wanted && threadIdx.x % kOfKnot == 0) rule.knots[rank] = mine;
  }
}

inline constexpr unsigned kRankThreads = 1024;
/// Ranks that one block is to find at most.
inline constexpr std::size_t kMostOfShare = 2048;

/// What one block has of the answer: all bins that begin in its part of the ranks.
template <class Element>
class BinShare {
 public:
  static constexpr unsigned kFewItems = 7;
  static constexpr unsigned kManyItems = sizeof(Element) == 8 ? 15 : kFewItems;
  /// Elements that it has room for.
  static constexpr unsigned kRoom = kRankThreads * kManyItems;
  /// Bins of more elements are large: each is divided again, among bins of its own.
  static constexpr unsigned kMostCounted = 384;
  /// With more large bins than that, or larger ones, all elements are merged.
  static constexpr unsigned kMostLarge = 8;
  static constexpr unsigned kDividedItems = 3;
  static constexpr unsigned kMostDivided = kDividedItems * kRankThreads;

  static constexpr std::size_t shared_bytes() { return kRoom * sizeof(Element) + kBins * sizeof(unsigned); }

  struct Range {
    unsigned first;    ///< bin,
    unsigned end;      ///< and the one after the last
    unsigned largest;  ///< size of any of them
    unsigned past;     ///< rank after those of the last one
  };
  struct Shared : Range {
    unsigned large_count;
    unsigned large[kMostLarge];
  };

  __device__ BinShare(const Bins<Element>& bins, Shared& shared)
      : bins_(bins),
        shared_(shared),
        elements_(dynamic_shared<Element>()),
        begins_(reinterpret_cast<unsigned*>(elements_ + kRoom)) {}

  /// Finds the bins that begin at ranks of this block, of k. Whether there are k elements, and room for this share.
  __device__ bool find(std::size_t k) {
    return bins_.count == kBins ? find_of<kBins / kRankThreads>(k) : find_of<kFewBins / kRankThreads>(k);
  }

  __device__ bool empty() const { return size_ == 0; }

  __device__ void load() const {
    for (unsigned i = threadIdx.x; i < size_; i += kRankThreads) {
      const unsigned bin = bin_at(before_ + i);
      const unsigned place = before_ + i - begins_[bin];
      if (place < bins_.room) elements_[i] = bins_.elements[bin * bins_.room + place];
    }
    if (shared_.largest > bins_.room) load_beyond();
    __syncthreads();
  }

  __device__ void rank(const Ranked<Element>& ranked) const {
    if (shared_.largest > kMostCounted) return rank_with_large(ranked);
    count(ranked, ~0u);
  }

 private:
  using Divided = BlockSpreadSort<Element, kRankThreads>;

  /// find(), where a thread has so many bins.
  template <unsigned kOfThread>
  __device__ bool find_of(std::size_t k) {
    static_assert(kOfThread == 8 || kOfThread == 2);
    if (threadIdx.x == 0) static_cast<Range&>(shared_) = {.first = kBins, .end = 0, .largest = 0, .past = 0};
    unsigned sizes[kOfThread];
    if constexpr (kOfThread == 8) {
      const auto* const own = reinterpret_cast<const uint4*>(bins_.sizes) + threadIdx.x * 2;
      const uint4 low = own[0];
      const uint4 high = own[1];
      __builtin_memcpy(sizes, &low, sizeof(low));
      __builtin_memcpy(sizes + 4, &high, sizeof(high));
    } else {
      const uint2 own = reinterpret_cast<const uint2*>(bins_.sizes)[threadIdx.x];
      __builtin_memcpy(sizes, &own, sizeof(own));
    }
    const bool lost = bins_.sizes[kBins] > bins_.beyond_room;
    unsigned sum = 0;
#pragma unroll
    for (unsigned i = 0; i < kOfThread; ++i) sum += sizes[i];
    unsigned all = 0;
    unsigned begin = sum_before(sum, all);
    if (lost || all < k) return false;
    const auto share = static_cast<unsigned>((k + gridDim.x - 1) / gridDim.x);
    const unsigned least = blockIdx.x * share;
    const unsigned most = min(least + share, static_cast<unsigned>(k));
    // Where other blocks' bins begin no thread of this one asks: all of them would take as many bank conflicts as bins.
    Range own_bins{.first = kBins, .end = 0, .largest = 0, .past = 0};
#pragma unroll
    for (unsigned i = 0; i < kOfThread; ++i) {
      const unsigned bin = threadIdx.x * kOfThread + i;
      const unsigned end = begin + sizes[i];
      if (least <= begin && begin < most) {
        begins_[bin] = begin;
        if (sizes[i] > 0) {
          own_bins = {.first = min(own_bins.first, bin),
                      .end = bin + 1,
                      .largest = max(own_bins.largest, sizes[i]),
                      .past = end};
        }
      }
      begin = end;
    }
    if (own_bins.end > 0) {
      atomicMin(&shared_.first, own_bins.first);
      atomicMax(&shared_.end, own_bins.end);
      atomicMax(&shared_.largest, own_bins.largest);
      atomicMax(&shared_.past, own_bins.past);
    }
    __syncthreads();
    if (shared_.first >= shared_.end) return true;
    before_ = begins_[shared_.first];
    size_ = shared_.past - before_;
    return size_ <= kRoom;
  }

  /// Ranks the elements of bins of at most `most` elements.
  __device__ void count(const Ranked<Element>& ranked, unsigned most) const {
    for (unsigned i = threadIdx.x; i < size_; i += kRankThreads) {
      const unsigned bin = bin_at(before_ + i);
      const unsigned begin = begins_[bin] - before_;
      const unsigned end = end_of(bin) - before_;
      if (end - begin > most) continue;
      const Element mine = elements_[i];
      ranked.put(before_ + begin + count_below(mine, begin, end), mine);
    }
  }

  /// How many elements from one place to another are below one of them. Of few elements of 128 bits the high halves are
  /// enough where no other one has the same; of many, some would have it.
  __device__ unsigned count_below(Element mine, unsigned begin, unsigned end) const {
    unsigned below = 0;
    if constexpr (sizeof(Element) > 8) {
      constexpr unsigned kFew = 128;
      if (end - begin <= kFew) {
        const auto high = static_cast<std::uint64_t>(mine >> 64);
        unsigned same = 0;
#pragma unroll 4
        for (unsigned i = begin; i < end; ++i) {
          const auto other = static_cast<std::uint64_t>(elements_[i] >> 64);
          below += other < high ? 1 : 0;
          same += other == high ? 1 : 0;
        }
        if (same == 1) return below;
        below = 0;
      }
    }
#pragma unroll 4
    for (unsigned i = begin; i < end; ++i) below += elements_[i] < mine ? 1 : 0;
    return below;
  }

  /// The rank after a bin's.
  __device__ unsigned end_of(unsigned bin) const { return bin + 1 < shared_.end ? begins_[bin + 1] : shared_.past; }

  /// Mostly there are one or two large ones, of the rows of one key or of a few that lie close together.
  __device__ void rank_with_large(const Ranked<Element>& ranked) const {
    constexpr unsigned kRoomToDivide = sizeof(typename Divided::Shared) / sizeof(Element) + 1;
    find_large();
    const unsigned large = shared_.large_count;
    if (large > kMostLarge || shared_.largest > kMostDivided || size_ + kRoomToDivide > kRoom) return sort(ranked);
    count(ranked, kMostCounted);
    for (unsigned i = 0; i < large; ++i) {
      __syncthreads();
      divide(shared_.large[i], ranked);
    }
  }

  __device__ void find_large() const {
    if (threadIdx.x == 0) shared_.large_count = 0;
    __syncthreads();
    for (unsigned bin = shared_.first + threadIdx.x; bin < shared_.end; bin += kRankThreads) {
      if (end_of(bin) - begins_[bin] <= kMostCounted) continue;
      const unsigned which = atomicAdd(&shared_.large_count, 1u);
      if (which < kMostLarge) shared_.large[which] = bin;
    }
    __syncthreads();
  }

  /// The room that this share has left is for the bins.
  __device__ void divide(unsigned bin, const Ranked<Element>& ranked) const {
    auto& shared = *reinterpret_cast<typename Divided::Shared*>(elements_ + (size_ + 1) / 2 * 2);
    const unsigned begin = begins_[bin];
    const unsigned size = end_of(bin) - begin;
    Element* const elements = elements_ + (begin - before_);
    const auto put = [&](unsigned rank, Element element) { ranked.put(begin + rank, element); };
    Divided::template sort<kDividedItems>(elements, size, elements, shared, put);
  }

  /// Takes this share's of those that bins have no room for. Every block looks at all of these, several at a time: each
  /// look takes a way to the L2 cache and back, and so does each element that it takes.
  __device__ void load_beyond() const {
    constexpr unsigned kAtATime = 64 / sizeof(Element);
    const unsigned beyond = bins_.sizes[kBins];
    for (unsigned first = threadIdx.x; first < beyond; first += kAtATime * kRankThreads) {
      uint2 places[kAtATime];
      Element taken[kAtATime];
#pragma unroll
      for (unsigned i = 0; i < kAtATime; ++i) {
        const unsigned at = first + i * kRankThreads;
        places[i] = at < beyond ? bins_.places[at] : make_uint2(kBins, 0);
      }
#pragma unroll
      for (unsigned i = 0; i < kAtATime; ++i)
        taken[i] = is_own(places[i].x) ? bins_.beyond[first + i * kRankThreads] : 0;
#pragma unroll
      for (unsigned i = 0; i < kAtATime; ++i) {
        if (is_own(places[i].x)) elements_[begins_[places[i].x] - before_ + places[i].y] = taken[i];
      }
    }
  }

  __device__ bool is_own(unsigned bin) const { return shared_.first <= bin && bin < shared_.end; }

  __device__ void sort(const Ranked<Element>& ranked) const {
    if (size_ <= kFewItems * kRankThreads)
      BlockMergeSort<Element, kRankThreads, kFewItems>::sort(elements_, size_);
    else
      BlockMergeSort<Element, kRankThreads, kManyItems>::sort(elements_, size_);
    for (unsigned i = threadIdx.x; i < size_; i += kRankThreads) ranked.put(before_ + i, elements_[i]);
  }

  /// The bin of this share that has the element of a rank: the last that begins at or before it.
  __device__ unsigned bin_at(unsigned rank) const {
    unsigned bin = shared_.first;
    const unsigned count = shared_.end - shared_.first;
    for (unsigned step = 1u << (31 - __clz(static_cast<int>(count))); step > 0; step /= 2) {
      if (bin + step < shared_.end && begins_[bin + step] <= rank) bin += step;
    }
    return bin;
  }

  const Bins<Element>& bins_;
  Shared& shared_;
  Element* elements_;
  unsigned* begins_;  ///< of this share's bins, as ranks
  unsigned before_ = 0;
  unsigned size_ = 0;
};

/// The k least of what bins hold, in order. `failed` is set where they hold fewer, or too many in one place.
template <class Element>
__global__ void __launch_bounds__(kRankThreads)
    rank_bins(Bins<Element> bins, Guess<Element>* guess, Ranked<Element> ranked) {
  __shared__ typename BinShare<Element>::Shared shared;
  wait_for_previous();
  let_next_start();
  BinShare<Element> share(bins, shared);
  if (!share.find(ranked.answer.k)) {
    if (threadIdx.x == 0) guess->failed = 1;
    return;
  }
  if (share.empty()) return;
  share.load();
  share.rank(ranked);
}

}  // namespace skyrank::kernels::cuda
