#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

// Random numbers of generated rows; generate.hpp says which.
namespace skyrank::datasets {

inline constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;  // SplitMix64's increment

constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

/// The random words of one row.
class Stream {
 public:
  Stream(std::uint64_t seed, std::int64_t row)
      : state_(mix(mix(seed + kGolden) + static_cast<std::uint64_t>(row) * kGolden)) {}

  std::uint64_t next() { return mix(state_ += kGolden); }
  /// The word that `next` gives after `index` calls on a new stream.
  std::uint64_t at(int index) const { return mix(state_ + (static_cast<std::uint64_t>(index) + 1) * kGolden); }

 private:
  std::uint64_t state_;
};

/// U(0, 1), 53 bits.
inline double unit(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

/// U(0, 1), 24 bits: below 1 also as a float.
inline float unit_float(std::uint64_t word) { return static_cast<float>(word >> 40) * 0x1p-24F; }

/// P(12) of generate.hpp: three words hold twelve draws of 16 bits, which are added side by side.
inline double mean_of_twelve(Stream& stream) {
  constexpr std::uint64_t kEven = 0x0000FFFF0000FFFF;
  std::uint64_t sums = 0;
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t word = stream.next();
    sums += (word & kEven) + ((word >> 16) & kEven);
  }
  const std::uint64_t sum = (sums & 0xFFFFFFFF) + (sums >> 32);
  // A draw stands for the middle of its 2^-16 wide interval.
  return (static_cast<double>(sum) + 6.0) * (1.0 / (12.0 * 65536.0));
}

/// P(count) of generate.hpp.
inline double mean_of(Stream& stream, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += unit(stream.next());
  return sum / count;
}

/// N(center, radius) of generate.hpp.
inline double bell(Stream& stream, double center, double radius) {
  return center + radius * (2 * mean_of_twelve(stream) - 1);
}

/// Draws the integer `first + i` with a probability proportional to weights[i], by the cutpoint method: Chen, Asau, "On
/// Generating Random Variates from an Empirical Distribution", AIIE Transactions 6, 1974.
class DiscreteSampler {
 public:
  DiscreteSampler(std::uint32_t first, const std::vector<double>& weights) : first_(first), ends_(weights.size()) {
    double total = 0;
    for (const double weight : weights) total += weight;
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      sum += weights[i];
      ends_[i] = sum / total;
    }
    ends_.back() = 1;
    std::uint32_t index = 0;
    for (std::size_t cut = 0; cut < cutpoints_.size(); ++cut) {
      while (ends_[index] <= static_cast<double>(cut) / kCuts) ++index;
      cutpoints_[cut] = index;
    }
  }

  std::uint32_t operator()(std::uint64_t word) const {
    const double u = unit(word);
    std::uint32_t index = cutpoints_[static_cast<std::size_t>(u * kCuts)];
    while (ends_[index] <= u) ++index;
    return first_ + index;
  }

 private:
  static constexpr std::size_t kCuts = 65536;

  std::uint32_t first_;
  std::vector<double> ends_;  // of the intervals of U(0, 1) that stand for each integer
  std::vector<std::uint32_t> cutpoints_ = std::vector<std::uint32_t>(kCuts);
};

}  // namespace skyrank::datasets
