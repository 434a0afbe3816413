#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/cpu/scratch.hpp"
#include "kernels/cpu/topk/radix_sort.hpp"

namespace skyrank::kernels::indicators {

/// Maps finite values of a range to 32 bits, of which larger ones never stand for smaller values.
class Bins {
 public:
  Bins(double least, double greatest) : least_(least), scale_(kBins / (greatest - least)) {
    if (!std::isfinite(scale_) || !std::isfinite(greatest - least)) scale_ = 0;
  }

  std::uint32_t operator()(double value) const {
    return scale_ == 0 ? 0 : static_cast<std::uint32_t>((value - least_) * scale_);
  }

 private:
  static constexpr double kBins = 4294967040.0;  ///< a little below 2^32, as products are rounded

  double least_;
  double scale_;
};

/// Returns the positions [0, n) in the order of `less(a, b)`, a strict total order by value(a) first. Values are finite
/// and n is less than 2^32. Bins of values are sorted by their digits, and then the positions of each bin.
template <class Value, class Less>
Scratch<std::uint64_t> value_order(std::size_t n, const Value& value, const Less& less, const Context& context) {
  constexpr std::size_t kFew = 256;  ///< positions that a comparison sort orders in less time
  double least = std::numeric_limits<double>::infinity();
  double greatest = -least;
  for (std::size_t i = 0; i < n; ++i) {
    least = std::min(least, value(i));
    greatest = std::max(greatest, value(i));
  }
  const Bins bins(least, greatest);
  Scratch<std::uint64_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = std::uint64_t{bins(value(i))} << 32 | i;
  if (n <= kFew) {
    std::sort(order.begin(), order.end());
  } else {
    topk::RadixSort<std::uint64_t>::sort(order, 32, context);
  }
  const auto position = [](std::uint64_t packed) { return static_cast<std::size_t>(packed & 0xFFFFFFFF); };
  for (std::size_t begin = 0; begin < n;) {
    std::size_t end = begin + 1;
    while (end < n && order[end] >> 32 == order[begin] >> 32) ++end;
    if (end > begin + 1) {
      context.check();
      std::sort(order.begin() + static_cast<std::ptrdiff_t>(begin), order.begin() + static_cast<std::ptrdiff_t>(end),
                [&](std::uint64_t a, std::uint64_t b) { return less(position(a), position(b)); });
    }
    begin = end;
  }
  for (std::uint64_t& packed : order) packed = position(packed);
  return order;
}

}  // namespace skyrank::kernels::indicators
