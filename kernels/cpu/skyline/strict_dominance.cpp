#include "kernels/cpu/skyline/strict_dominance.hpp"

#include <array>

#include "kernels/cpu/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/skyline/strict_dominance.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::skyline {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Columns = std::span<const float* const>;

/// Known rows that are compared before a look at whether any of the others is left.
constexpr std::size_t kBetweenLooks = 4;

/// Returns which of the next lanes some known row is less than in every column. `values` has the columns' vectors,
/// which stay in registers where their number is a constant.
template <class Values>
HWY_INLINE hn::Mask<Tag> dominated(const Values& values, std::span<const float> known) {
  const Tag tag;
  auto all = hn::FirstN(tag, 0);
  std::size_t compared = 0;
  for (std::size_t begin = 0; begin < known.size(); begin += values.size()) {
    auto less = hn::Lt(hn::Set(tag, known[begin]), values[0]);
    for (std::size_t c = 1; c < values.size(); ++c) {
      less = hn::And(less, hn::Lt(hn::Set(tag, known[begin + c]), values[c]));
    }
    all = hn::Or(all, less);
    if (++compared % kBetweenLooks == 0 && hn::AllTrue(tag, all)) break;
  }
  return all;
}

/// The vectors of few columns, which are loaded once.
template <std::size_t kColumns>
class FewValues {
 public:
  HWY_INLINE FewValues(Columns columns, std::size_t row) {
    for (std::size_t c = 0; c < kColumns; ++c) values_[c] = hn::LoadU(Tag(), columns[c] + row);
  }
  static constexpr std::size_t size() { return kColumns; }
  HWY_INLINE hn::Vec<Tag> operator[](std::size_t column) const { return values_[column]; }

 private:
  hn::Vec<Tag> values_[kColumns];
};

/// The vectors of any number of columns, which are loaded each time they are compared.
class ManyValues {
 public:
  HWY_INLINE ManyValues(Columns columns, std::size_t row) : columns_(columns), row_(row) {}
  std::size_t size() const { return columns_.size(); }
  HWY_INLINE hn::Vec<Tag> operator[](std::size_t column) const { return hn::LoadU(Tag(), columns_[column] + row_); }

 private:
  Columns columns_;
  std::size_t row_;
};

bool is_dominated(Columns columns, std::size_t row, std::span<const float> known) {
  for (std::size_t begin = 0; begin < known.size(); begin += columns.size()) {
    std::size_t c = 0;
    while (c < columns.size() && known[begin + c] < columns[c][row]) ++c;
    if (c == columns.size()) return true;
  }
  return false;
}

template <class Values>
std::size_t find_with(Columns columns, std::size_t rows, std::span<const float> known, std::uint32_t* positions) {
  const Tag tag;
  std::size_t found = 0;
  std::size_t row = 0;
  for (; row + hn::Lanes(tag) <= rows; row += hn::Lanes(tag)) {
    const auto out = dominated(Values(columns, row), known);
    if (hn::AllTrue(tag, out)) continue;
    std::array<std::uint8_t, 8> bits{};
    hn::StoreMaskBits(tag, out, bits.data());
    for (std::size_t lane = 0; lane < hn::Lanes(tag); ++lane) {
      positions[found] = static_cast<std::uint32_t>(row + lane);
      found += (bits[lane / 8] >> (lane % 8) & 1) == 0 ? 1 : 0;
    }
  }
  for (; row < rows; ++row) {
    positions[found] = static_cast<std::uint32_t>(row);
    found += is_dominated(columns, row, known) ? 0 : 1;
  }
  return found;
}

std::size_t find(Columns columns, std::size_t rows, std::span<const float> known, std::uint32_t* positions) {
  switch (columns.size()) {
    case 2: return find_with<FewValues<2>>(columns, rows, known, positions);
    case 3: return find_with<FewValues<3>>(columns, rows, known, positions);
    case 4: return find_with<FewValues<4>>(columns, rows, known, positions);
    case 5: return find_with<FewValues<5>>(columns, rows, known, positions);
    case 6: return find_with<FewValues<6>>(columns, rows, known, positions);
    default: return find_with<ManyValues>(columns, rows, known, positions);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::skyline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels::skyline {

HWY_EXPORT(find);

std::size_t find_not_dominated(std::span<const float* const> columns, std::size_t rows, std::span<const float> known,
                               std::uint32_t* positions) {
  return HWY_DYNAMIC_DISPATCH(find)(columns, rows, known, positions);
}

}  // namespace skyrank::kernels::skyline
#endif
