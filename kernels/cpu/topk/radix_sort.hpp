#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/scratch.hpp"

namespace skyrank::kernels::topk {

/// A radix sort of unsigned integers, least significant digit first, in parallel over contiguous parts. Digits that all
/// values share are passed over, which the leading ones of a top-k answer mostly are.
template <class Bits>
class RadixSort {
 public:
  /// Sorts `values` by their bits from `lowest` on, stably: lower bits keep the order they came in.
  static void sort(Scratch<Bits>& values, int lowest, const Context& context) {
    constexpr std::size_t kSerial = 1 << 15;
    const std::size_t parts = std::clamp<std::size_t>(values.size() / kSerial, 1, concurrency());
    RadixSort sort(values, parts);
    for (int shift = lowest; shift < sort.width_; shift += kDigit) {
      context.check();
      sort.pass(shift);
    }
    if (sort.from_ != values.data()) values.swap(sort.other_);
  }

 private:
  static constexpr int kDigit = 8;
  using Counts = std::array<std::size_t, std::size_t{1} << kDigit>;

  RadixSort(Scratch<Bits>& values, std::size_t parts)
      : n_(values.size()), counts_(parts), other_(values.size()), from_(values.data()), to_(other_.data()) {
    Scratch<Bits> varying(parts);
    for_each_part([&](std::size_t part, std::size_t begin, std::size_t end) {
      Bits bits = 0;
      for (std::size_t i = begin; i < end; ++i) bits |= from_[i] ^ from_[0];
      varying[part] = bits;
    });
    Bits all = 0;
    for (const Bits bits : varying) all |= bits;
    for (; all != 0; all >>= 1) ++width_;
  }

  template <class Body>
  void for_each_part(const Body& body) {
    const std::size_t parts = counts_.size();
    parallel_for(parts, 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t part = first; part < last; ++part) body(part, n_ * part / parts, n_ * (part + 1) / parts);
    });
  }

  void pass(int shift) {
    const auto digit = [shift](Bits value) { return static_cast<std::size_t>(value >> shift) % Counts{}.size(); };
    for_each_part([&](std::size_t part, std::size_t begin, std::size_t end) {
      counts_[part].fill(0);
      for (std::size_t i = begin; i < end; ++i) ++counts_[part][digit(from_[i])];
    });
    // Counts become places: by digit, then part.
    std::size_t place = 0;
    for (std::size_t d = 0; d < Counts{}.size(); ++d) {
      for (Counts& counts : counts_) place += std::exchange(counts[d], place);
    }
    for_each_part([&](std::size_t part, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) to_[counts_[part][digit(from_[i])]++] = from_[i];
    });
    std::swap(from_, to_);
  }

  std::size_t n_;
  Vector<Counts> counts_;
  Scratch<Bits> other_;
  Bits* from_;
  Bits* to_;
  int width_ = 0;  ///< bits from the lowest to the highest that values differ in
};

}  // namespace skyrank::kernels::topk
