#include "kernels/cpu/topk/scan.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "kernels/common/keys.hpp"
#include "kernels/cpu/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/topk/scan.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/topk/find-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::topk {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Tests integers: (key ^ flip) <= limit. With no flip these are the keys up to a limit, with a key as flip and the
/// limit 0 those equal to it.
template <class Key>
class IntegerTest {
 public:
  using Value = Key;
  using Tag = hn::ScalableTag<Key>;

  IntegerTest(Key flip, Key limit)
      : flip_(flip), limit_(limit), flips_(hn::Set(Tag(), flip)), limits_(hn::Set(Tag(), limit)) {}

  bool operator()(Key key) const { return static_cast<Key>(key ^ flip_) <= limit_; }
  HWY_INLINE hn::Mask<Tag> each(const Key* keys) const { return hn::Not(hn::Gt(flipped(keys), limits_)); }
  HWY_INLINE bool any_of_group(const Key* keys) const {
    auto least = flipped(keys);
    for (std::size_t i = hn::Lanes(Tag()); i < kGroup; i += hn::Lanes(Tag())) {
      least = hn::Min(least, flipped(keys + i));
    }
    return !hn::AllTrue(Tag(), hn::Gt(least, limits_));
  }

 private:
  HWY_INLINE hn::Vec<Tag> flipped(const Key* keys) const { return hn::Xor(hn::LoadU(Tag(), keys), flips_); }

  Key flip_;
  Key limit_;
  hn::Vec<Tag> flips_;
  hn::Vec<Tag> limits_;
};

/// Tests floats: value <= limit, or, for high, value >= limit. NaN is neither.
template <class Float>
class FloatTest {
 public:
  using Value = Float;
  using Tag = hn::ScalableTag<Float>;

  FloatTest(bool high, Float limit)
      : high_(high),
        limit_(high ? -limit : limit),
        flips_(hn::Set(Tag(), high ? Float{-0.0} : Float{0})),
        limits_(hn::Set(Tag(), limit_)) {}

  bool operator()(Float value) const { return (high_ ? -value : value) <= limit_; }
  HWY_INLINE hn::Mask<Tag> each(const Float* values) const {
    return hn::Le(hn::Xor(hn::LoadU(Tag(), values), flips_), limits_);
  }
  HWY_INLINE bool any_of_group(const Float* values) const {
    auto any = each(values);
    for (std::size_t i = hn::Lanes(Tag()); i < kGroup; i += hn::Lanes(Tag())) any = hn::Or(any, each(values + i));
    return !hn::AllFalse(Tag(), any);
  }

 private:
  bool high_;
  Float limit_;
  hn::Vec<Tag> flips_;
  hn::Vec<Tag> limits_;
};

std::size_t find_in_column(const KeyColumn& column, std::size_t begin, std::size_t end, std::uint64_t flip,
                           std::uint64_t limit, std::uint32_t* offsets) {
  const auto find_as = [&]<class Key>(Key) {
    const IntegerTest<Key> test(static_cast<Key>(flip), static_cast<Key>(limit));
    return find(test, column.as<Key>() + begin, end - begin, offsets);
  };
  switch (column.width) {
    case KeyWidth::bytes1: return find_as(std::uint8_t{});
    case KeyWidth::bytes2: return find_as(std::uint16_t{});
    case KeyWidth::bytes4: return find_as(std::uint32_t{});
    case KeyWidth::bytes8: break;
  }
  return find_as(std::uint64_t{});
}

std::size_t find_floats32(const float* values, std::size_t count, bool high, float limit, std::uint32_t* offsets) {
  return find(FloatTest<float>(high, limit), values, count, offsets);
}
std::size_t find_floats64(const double* values, std::size_t count, bool high, double limit, std::uint32_t* offsets) {
  return find(FloatTest<double>(high, limit), values, count, offsets);
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::topk
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels::topk {

HWY_EXPORT(find_in_column);
HWY_EXPORT(find_floats32);
HWY_EXPORT(find_floats64);

namespace {

/// The float of the greatest key up to `limit`, which is below that of NaN; a NaN, which nothing passes, where the
/// limit is below all floats.
template <class Float, class Bits>
Float greatest_up_to(Bits limit, bool high) {
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  const Bits worst = float_key(static_cast<Bits>(kInfinityBits<Bits> | (high ? kSign : Bits{0})), high);
  const Bits key = std::min(limit, worst);
  const Bits ordered = high ? ~key : key;
  // No value has the key below that of zero, which would be of the negative zero.
  if (ordered == kSign - 1) return std::bit_cast<Float>(high ? Bits{0} : kSign | Bits{1});
  return std::bit_cast<Float>((ordered & kSign) != 0 ? ordered ^ kSign : ~ordered);
}

template <class Float, class Bits>
std::size_t find_floats(const FloatColumn& column, std::size_t begin, std::size_t end, std::uint64_t limit,
                        std::uint32_t* offsets, const auto& find_up_to) {
  const std::size_t count = end - begin;
  if (limit < kNanKey<Bits>) {
    const auto* values = static_cast<const Float*>(column.data) + begin;
    const auto greatest = greatest_up_to<Float>(static_cast<Bits>(limit), column.high);
    return find_up_to(values, count, column.high, greatest, offsets);
  }
  std::iota(offsets, offsets + count, 0u);
  return count;
}

}  // namespace

std::size_t find_at_most(const KeyColumn& keys, std::size_t begin, std::size_t end, std::uint64_t limit,
                         std::uint32_t* offsets) {
  return HWY_DYNAMIC_DISPATCH(find_in_column)(keys, begin, end, 0, limit, offsets);
}

std::size_t find_at_most(const FloatColumn& floats, std::size_t begin, std::size_t end, std::uint64_t limit,
                         std::uint32_t* offsets) {
  if (floats.width == KeyWidth::bytes4) {
    return find_floats<float, std::uint32_t>(floats, begin, end, limit, offsets, [](auto... arguments) {
      return HWY_DYNAMIC_DISPATCH(find_floats32)(arguments...);
    });
  }
  return find_floats<double, std::uint64_t>(floats, begin, end, limit, offsets, [](auto... arguments) {
    return HWY_DYNAMIC_DISPATCH(find_floats64)(arguments...);
  });
}

std::size_t find_equal(const KeyColumn& keys, std::size_t begin, std::size_t end, std::uint64_t key,
                       std::uint32_t* offsets) {
  return HWY_DYNAMIC_DISPATCH(find_in_column)(keys, begin, end, key, 0, offsets);
}

}  // namespace skyrank::kernels::topk
#endif
