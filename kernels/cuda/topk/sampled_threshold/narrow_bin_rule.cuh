#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/topk/sampled_threshold/bin_rule.cuh"

// How candidates with keys of 1 or 2 bytes are divided into bins.
namespace skyrank::kernels::cuda::topk {

/// Does what KnotsOfBlock does, for elements with narrow keys and rows of 32 bits, and keeps what it finds of the
/// intervals that end at the knots. Keys between two knots may all occur, and their rows, so that keys and rows
/// together are spread evenly if either are; the rows of the keys of two knots themselves may lie close together.
template <class Element>
class NarrowKnotsOfBlock {
 public:
  using Rule = BinRule<Element>;

  __device__ Element threshold(unsigned /*count*/) const { return last_; }

  /// Brings the knots to shared memory. All threads of a block call it.
  __device__ void load(const Rule& rule) {
    for (unsigned i = threadIdx.x; i < rule.count; i += blockDim.x) set_knot(rule, i);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < rule.count; i += blockDim.x) set_interval(rule, i);
    __syncthreads();
  }
  __device__ void set_knot(const Rule& rule, unsigned i) {
    const Element knot = rule.knots[i];
    places_[i] = place_of(rule, knot);
    keys_[i] = static_cast<unsigned>(Rule::key(knot));
    if (i == rule.count - 1) last_ = knot;
  }
  /// Once all knots are set.
  __device__ void set_interval(const Rule& rule, unsigned i) {
    if (i == 0) {
      scales_[0] = low_scale(rule);
      return;
    }
    const std::uint64_t extent = places_[i] - places_[i - 1];
    scales_[i] = quotient(static_cast<float>(rule.width), static_cast<float>(extent) + 1);
    if (keys_[i] != keys_[i - 1]) set_interval_of_keys(rule, i);
  }

  /// The bin of an element not above the threshold.
  __device__ unsigned bin_of(const Rule& rule, Element element) const {
    const std::uint64_t own = place_of(rule, element);
    const unsigned interval = rule.interval_of(own, places_);
    const float scale = scales_[interval];
    if (interval == 0) {
      if (own < rule.rows && keys_[0] != 0) return rule.template bin_of_zero<kBinsOfZero>(own);
      const unsigned steps = Rule::steps_below(static_cast<float>(places_[0] - own) * scale);
      return kLowBins - 1 - min(steps, kLowBins - 1 - kBinsOfZero);
    }
    const float bin = scale > 0 ? static_cast<float>(own - places_[interval - 1]) * scale
                                : part_of_close(rule, element, interval) * static_cast<float>(rule.width);
    return kLowBins + interval * rule.width + static_cast<unsigned>(fminf(bin, static_cast<float>(rule.width - 1)));
  }

 private:
  /// The first bins, for rows of key zero.
  static constexpr unsigned kBinsOfZero = kLowBins / 4;
  /// Marks intervals divided by distance from the knots: rows of a key seem to lie close together, or one of many keys
  /// to have many.
  static constexpr float kByDistance = 0;
  /// The same where keys and rows seem to rise or fall together: of keys between by distance from a diagonal.
  static constexpr float kByDiagonal = -1;

  /// Decides, for an interval whose knots have different keys, if its bins are not to be equal.
  __device__ void set_interval_of_keys(const Rule& rule, unsigned i) {
    constexpr unsigned kFewKeys = 8;
    constexpr float kFewRows = 64;         // may have one bin
    constexpr float kClose = 1.0f / 1024;  // of all rows
    float below = rows_apart(rule, i - 1, -1);
    float above = rows_apart(rule, i, 1);
    const bool none = below == 0 && above == 0;
    // A key of several knots has more rows than each of many between two knots, of which one bin would have all. So may
    // the least key there is.
    const bool many = keys_[i] - keys_[i - 1] > kFewKeys;
    const float of_key = rows_of_diagonal(rule, i);
    if (of_key > kFewRows && (none || rows_between(rule, i - 1, i) > 0)) {
      below = above = of_key / 2;
      scales_[i] = kByDiagonal;
    } else {
      if (none && many && keys_[i - 1] == 0) below = above = static_cast<float>(rule.rows) / 2;
      const float least = below == 0 || (above > 0 && above < below) ? above : below;
      const bool close = least < kClose * static_cast<float>(rule.rows);
      if (least > 0 && (many || close)) scales_[i] = kByDistance;
    }
    below_[i] = below;
    above_[i] = above;
  }

  /// Bins for a unit of place below the least knot, near it: only by the knots of the least one's key, if there are
  /// others. At least so that half of the bins reach the first element there may be, or the first zero where keys and
  /// rows rise or fall together.
  __device__ float low_scale(const Rule& rule) const {
    constexpr unsigned kMax = Rule::kLowIntervals;
    unsigned same = 0;
    for (unsigned i = 1; i <= kMax; ++i) same += i < rule.count && keys_[i] == keys_[0] ? 1 : 0;
    const unsigned intervals = same > 0 ? same : min(kMax, rule.count - 1);
    float extent = static_cast<float>(places_[0]);
    const bool only_zeros = keys_[0] == 0 && same == 0 && rule.count > 1;
    if (const float of_key = only_zeros ? rows_of_diagonal(rule, 1) : 0; of_key > 0) extent = fminf(extent, of_key);
    const float even = fminf(quotient(static_cast<float>(kLowBins / 2), extent + 1), 1);
    const float near = rule.low_scale_of(intervals, static_cast<float>(places_[intervals] - places_[0]));
    return fmaxf(fminf(near, 1), even);
  }

  /// Among all elements of as many rows of each key.
  __device__ static std::uint64_t place_of(const Rule& rule, Element element) {
    return Rule::key(element) * rule.rows + rule.row(element);
  }

  /// Most rows of a key in an interval, if keys and rows rise or fall together, by a few intervals around it; 0 where
  /// they do not seem to, or that cannot be told. Rising ones lie between the interval's knots.
  __device__ float rows_of_diagonal(const Rule& rule, unsigned interval) const {
    constexpr unsigned kAround = 2;
    constexpr float kClose = 1.0f / 128;  // of all rows
    const unsigned before = interval - 1 - min(interval - 1, kAround);
    const unsigned after = min(interval + kAround, rule.count - 1);
    const float extent = rows_between(rule, before, after);
    if (fabsf(extent) > kClose * static_cast<float>(rule.rows)) return 0;
    const unsigned whole = keys_[after] - keys_[before] - 1;  // keys, all of whose rows are among these
    const float own = rows_between(rule, interval - 1, interval);
    const float most = whole == 0 ? 0 : quotient(fabsf(extent), static_cast<float>(whole));
    return own > 0 && (own < most || whole == 0) ? own : most;
  }

  __device__ float rows_between(const Rule& rule, unsigned from, unsigned to) const {
    return static_cast<float>(static_cast<std::int64_t>(row_of(rule, to) - row_of(rule, from)));
  }

  __device__ std::uint64_t row_of(const Rule& rule, unsigned knot) const {
    return places_[knot] - keys_[knot] * rule.rows;
  }

  /// From one knot to the next in a direction, in the mean of up to three with the first one's key.
  __device__ float rows_apart(const Rule& rule, unsigned knot, int step) const {
    constexpr int kMax = 3;
    std::uint64_t extent = 0;
    int same = 0;
    for (int i = 1; i <= kMax; ++i) {
      const unsigned other = knot + static_cast<unsigned>(i * step);  // below the first one more than any
      if (other >= rule.count || keys_[other] != keys_[knot]) break;
      const std::uint64_t from = places_[knot];
      const std::uint64_t to = places_[other];
      extent = step > 0 ? to - from : from - to;
      same = i;
    }
    return same == 0 ? 0 : quotient(static_cast<float>(extent), static_cast<float>(same));
  }

  /// Returns the place of an element between two knots of different keys, from 0 to 1. The rows of either knot's key
  /// are divided by their distance from it, most of their bins as closely as the intervals beside this one tell, the
  /// others evenly: chance may put knots close together. The result does not fall when the element rises, however it is
  /// rounded.
  __device__ float part_of_close(const Rule& rule, Element element, unsigned interval) const {
    constexpr float kOfClose = 0.75f;
    const unsigned low_key = keys_[interval - 1];
    const auto keys = static_cast<float>(keys_[interval] - low_key);
    const auto which = static_cast<float>(static_cast<unsigned>(Rule::key(element)) - low_key);
    const float of_upper = fmaxf(0.125f, quotient(1, keys + 1));
    const float of_lower = low_key == 0 ? 0.5f : of_upper;  // of zeros there may be as many as of all others
    if (0 < which && which < keys) {
      const float between = quotient(which - 1 + part_of_key(rule, rule.row(element), which, interval), keys - 1);
      return fminf(of_lower + (1 - of_lower - of_upper) * between, 1 - of_upper);
    }
    const bool lower = which == 0;
    const float below = below_[interval];
    const float above = above_[interval];
    const float likely = above == 0 || (lower && below > 0) ? below : above;
    const std::uint64_t knot = row_of(rule, lower ? interval - 1 : interval);
    const auto distance = static_cast<float>(lower ? rule.row(element) - knot : knot - rule.row(element));
    const auto most = static_cast<float>(lower ? rule.rows - knot : knot + 1);
    const float of_rows = kOfClose * part_of_distance(distance, likely) + (1 - kOfClose) * quotient(distance, most);
    const float part = (lower ? of_lower : of_upper) * fminf(of_rows, 1);
    return lower ? part : 1 - part;
  }

  /// Returns the place of a row among those of one of the keys between two knots, from 0 to 1: on a diagonal, among as
  /// many rows before and behind the likely one as a key seems to have.
  __device__ float part_of_key(const Rule& rule, std::uint64_t row, float which, unsigned interval) const {
    if (scales_[interval] == kByDistance) return quotient(static_cast<float>(row), static_cast<float>(rule.rows));
    const std::uint64_t low = row_of(rule, interval - 1);
    const auto keys = static_cast<float>(keys_[interval] - keys_[interval - 1]);
    const float extent = rows_between(rule, interval - 1, interval);
    const auto distance = static_cast<float>(static_cast<std::int64_t>(row - low));
    const float beside = distance - extent * quotient(which, keys);
    return fminf(fmaxf(0.5f + quotient(beside, 4 * below_[interval]), 0), 1);
  }

  /// Even up to twice the distance that is likely, ever more slowly after that: divided exactly, as divisors differ.
  __device__ static float part_of_distance(float distance, float likely) {
    constexpr float kEven = 0.9f;
    return distance <= 2 * likely ? fminf(kEven, kEven / 2 * quotient(distance, likely))
                                  : fmaxf(kEven, 1 - 2 * (1 - kEven) * (likely / distance));
  }

  std::uint64_t places_[kMaxKnots];  ///< place_of the knots
  unsigned keys_[kMaxKnots];
  /// Bins for a unit of place; kByDistance or kByDiagonal where these are not equal. The first one is that below all
  /// knots.
  float scales_[kMaxKnots];
  /// Distances in rows from one knot to the next: the mean of a few knots with the key of the knot before, and of such
  /// with the key of the knot. 0 if there is none. With kByDiagonal half of the most rows that a key seems to have.
  float below_[kMaxKnots];
  float above_[kMaxKnots];
  Element last_;
};

}  // namespace skyrank::kernels::cuda::topk
