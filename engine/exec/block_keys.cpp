#include "engine/exec/block_keys.hpp"

#include <array>
#include <type_traits>

#include "kernels/common/keys.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/exec/block_keys.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace skyrank::exec {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class Bits>
void encode(const Bits* bits, std::size_t size, bool high, Bits* out) {
  using kernels::kInfinityBits;
  using kernels::kNanKey;
  constexpr auto kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const hn::ScalableTag<Bits> tag;
  const hn::RebindToSigned<decltype(tag)> signed_tag;
  const auto sign = hn::Set(tag, kSign);
  const auto infinity = hn::BitCast(signed_tag, hn::Set(tag, kInfinityBits<Bits>));
  const auto nan_key = hn::Set(tag, kNanKey<Bits>);
  const auto direction = hn::Set(tag, high ? static_cast<Bits>(~Bits{0}) : Bits{0});
  std::size_t i = 0;
  for (; i + hn::Lanes(tag) <= size; i += hn::Lanes(tag)) {
    const auto value = hn::LoadU(tag, bits + i);
    const auto magnitude = hn::AndNot(sign, value);
    // -0.0 loses its sign. All ones where the value is negative, else the sign bit alone, flip it into order.
    const auto canonical = hn::IfThenZeroElse(hn::Eq(magnitude, hn::Zero(tag)), value);
    const auto negative = hn::BitCast(tag, hn::BroadcastSignBit(hn::BitCast(signed_tag, canonical)));
    const auto key = hn::Xor(hn::Xor(canonical, hn::Or(negative, sign)), direction);
    const auto is_nan = hn::RebindMask(tag, hn::Gt(hn::BitCast(signed_tag, magnitude), infinity));
    hn::StoreU(hn::IfThenElse(is_nan, nan_key, key), tag, out + i);
  }
  for (; i < size; ++i) out[i] = kernels::float_key(bits[i], high);
}

/// Doubles from as many numbers.
template <class Tag, class T>
hn::Vec<Tag> load_doubles(Tag tag, const T* values) {
  if constexpr (std::is_same_v<T, float>) {
    return hn::PromoteTo(tag, hn::LoadU(hn::Rebind<float, Tag>(), values));
  } else {
    return hn::LoadU(tag, values);
  }
}

template <class T>
void scale(const T* values, std::size_t size, double weight, double* sum) {
  const hn::ScalableTag<double> tag;
  const auto weights = hn::Set(tag, weight);
  std::size_t i = 0;
  for (; i + hn::Lanes(tag) <= size; i += hn::Lanes(tag)) {
    hn::StoreU(hn::Mul(weights, load_doubles(tag, values + i)), tag, sum + i);
  }
  for (; i < size; ++i) sum[i] = weight * static_cast<double>(values[i]);
}

template <class T>
void add_scaled(const T* values, std::size_t size, double weight, double* sum) {
  const hn::ScalableTag<double> tag;
  const auto weights = hn::Set(tag, weight);
  std::size_t i = 0;
  for (; i + hn::Lanes(tag) <= size; i += hn::Lanes(tag)) {
    const auto product = hn::Mul(weights, load_doubles(tag, values + i));
    hn::StoreU(hn::Add(hn::LoadU(tag, sum + i), product), tag, sum + i);
  }
  for (; i < size; ++i) {
    const double product = weight * static_cast<double>(values[i]);
    sum[i] += product;
  }
}

void encode_floats32(const std::uint32_t* bits, std::size_t size, bool high, std::uint32_t* out) {
  encode(bits, size, high, out);
}
void encode_floats64(const std::uint64_t* bits, std::size_t size, bool high, std::uint64_t* out) {
  encode(bits, size, high, out);
}
void scale32(const float* values, std::size_t size, double weight, double* sum) { scale(values, size, weight, sum); }
void scale64(const double* values, std::size_t size, double weight, double* sum) { scale(values, size, weight, sum); }
void add_scaled32(const float* values, std::size_t size, double weight, double* sum) {
  add_scaled(values, size, weight, sum);
}
void add_scaled64(const double* values, std::size_t size, double weight, double* sum) {
  add_scaled(values, size, weight, sum);
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::exec
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::exec {

HWY_EXPORT(encode_floats32);
HWY_EXPORT(encode_floats64);
HWY_EXPORT(scale32);
HWY_EXPORT(scale64);
HWY_EXPORT(add_scaled32);
HWY_EXPORT(add_scaled64);

void encode_floats(const std::uint32_t* bits, std::size_t size, bool high, std::uint32_t* out) {
  HWY_DYNAMIC_DISPATCH(encode_floats32)(bits, size, high, out);
}
void encode_floats(const std::uint64_t* bits, std::size_t size, bool high, std::uint64_t* out) {
  HWY_DYNAMIC_DISPATCH(encode_floats64)(bits, size, high, out);
}
void scale(const float* values, std::size_t size, double weight, double* sum) {
  HWY_DYNAMIC_DISPATCH(scale32)(values, size, weight, sum);
}
void scale(const double* values, std::size_t size, double weight, double* sum) {
  HWY_DYNAMIC_DISPATCH(scale64)(values, size, weight, sum);
}
void add_scaled(const float* values, std::size_t size, double weight, double* sum) {
  HWY_DYNAMIC_DISPATCH(add_scaled32)(values, size, weight, sum);
}
void add_scaled(const double* values, std::size_t size, double weight, double* sum) {
  HWY_DYNAMIC_DISPATCH(add_scaled64)(values, size, weight, sum);
}

}  // namespace skyrank::exec
#endif
