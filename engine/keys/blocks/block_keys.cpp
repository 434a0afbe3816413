#include "engine/keys/blocks/block_keys.hpp"

#include <algorithm>
#include <bit>

#include "kernels/common/keys.hpp"
#include "kernels/common/problem.hpp"
#include "kernels/cpu/vector_targets.hpp"

#include <hwy/cache_control.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/keys/blocks/block_keys.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace skyrank::exec {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Distance of software prefetches, in elements. Blocks of several columns alternate, and are too short for the
/// hardware's prefetcher.
constexpr std::size_t kAhead = 2048;

/// Turns floats into keys, with constants prepared for vectors.
template <class Bits>
class Encoder {
 public:
  using Tag = hn::ScalableTag<Bits>;

  explicit Encoder(bool high)
      : sign_(hn::Set(Tag(), static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1)))),
        infinity_(hn::BitCast(Signed(), hn::Set(Tag(), kernels::kInfinityBits<Bits>))),
        nan_key_(hn::Set(Tag(), kernels::kNanKey<Bits>)),
        direction_(hn::Set(Tag(), high ? static_cast<Bits>(~Bits{0}) : Bits{0})) {}

  HWY_INLINE hn::Vec<Tag> operator()(hn::Vec<Tag> value) const {
    const Tag tag;
    const auto magnitude = hn::AndNot(sign_, value);
    // -0.0 loses its sign. All ones where the value is negative, else the sign bit alone, flip it into order.
    const auto canonical = hn::IfThenZeroElse(hn::Eq(magnitude, hn::Zero(tag)), value);
    const auto negative = hn::BitCast(tag, hn::BroadcastSignBit(hn::BitCast(Signed(), canonical)));
    const auto key = hn::Xor(hn::Xor(canonical, hn::Or(negative, sign_)), direction_);
    const auto is_nan = hn::RebindMask(tag, hn::Gt(hn::BitCast(Signed(), magnitude), infinity_));
    return hn::IfThenElse(is_nan, nan_key_, key);
  }

 private:
  using Signed = hn::RebindToSigned<Tag>;

  hn::Vec<Tag> sign_;
  hn::Vec<Signed> infinity_;
  hn::Vec<Tag> nan_key_;
  hn::Vec<Tag> direction_;
};

template <class Bits>
void encode(const Bits* bits, std::size_t size, bool high, Bits* out) {
  const hn::ScalableTag<Bits> tag;
  const Encoder<Bits> key(high);
  std::size_t i = 0;
  for (; i + hn::Lanes(tag) <= size; i += hn::Lanes(tag)) {
    hwy::Prefetch(bits + i + kAhead);
    hn::StoreU(key(hn::LoadU(tag, bits + i)), tag, out + i);
  }
  for (; i < size; ++i) out[i] = kernels::float_key(bits[i], high);
}

template <class Bits>
Bits least_float_key(const Bits* bits, std::size_t size, const Encoder<Bits>& key, bool high) {
  const hn::ScalableTag<Bits> tag;
  auto least = hn::Set(tag, static_cast<Bits>(~Bits{0}));
  std::size_t i = 0;
  for (; i + hn::Lanes(tag) <= size; i += hn::Lanes(tag)) {
    hwy::Prefetch(bits + i + kAhead);
    least = hn::Min(least, key(hn::LoadU(tag, bits + i)));
  }
  Bits least_of_all = hn::GetLane(hn::MinOfLanes(tag, least));
  for (; i < size; ++i) least_of_all = std::min(least_of_all, kernels::float_key(bits[i], high));
  return least_of_all;
}

template <class Bits>
void least_float_keys(const Bits* bits, std::size_t size, bool high, Bits* out) {
  const Encoder<Bits> key(high);
  for (std::size_t i = 0; i < size; i += kernels::kZoneRows) {
    *out++ = least_float_key(bits + i, std::min(kernels::kZoneRows, size - i), key, high);
  }
}

using DoubleTag = hn::ScalableTag<double>;

/// A vector of a term's products.
HWY_INLINE hn::Vec<DoubleTag> product(const SumTerm& term, std::size_t i) {
  const DoubleTag tag;
  const auto weight = hn::Set(tag, term.weight);
  if (term.floats == nullptr) {
    hwy::Prefetch(term.doubles + i + kAhead);
    return hn::Mul(weight, hn::LoadU(tag, term.doubles + i));
  }
  hwy::Prefetch(term.floats + i + kAhead);
  return hn::Mul(weight, hn::PromoteTo(tag, hn::LoadU(hn::Rebind<float, DoubleTag>(), term.floats + i)));
}

double scalar_product(const SumTerm& term, std::size_t i) {
  return term.weight * (term.floats == nullptr ? term.doubles[i] : static_cast<double>(term.floats[i]));
}

void encode_sums(std::span<const SumTerm> terms, std::size_t begin, std::size_t size, bool high, std::uint64_t* out) {
  const hn::ScalableTag<std::uint64_t> tag;
  const Encoder<std::uint64_t> key(high);
  std::size_t i = 0;
  for (; i + hn::Lanes(tag) <= size; i += hn::Lanes(tag)) {
    auto sum = product(terms.front(), begin + i);
    for (const SumTerm& term : terms.subspan(1)) sum = hn::Add(sum, product(term, begin + i));
    hn::StoreU(key(hn::BitCast(tag, sum)), tag, out + i);
  }
  for (; i < size; ++i) {
    double sum = scalar_product(terms.front(), begin + i);
    for (const SumTerm& term : terms.subspan(1)) sum += scalar_product(term, begin + i);
    out[i] = kernels::float_key(std::bit_cast<std::uint64_t>(sum), high);
  }
}

void encode_floats32(const std::uint32_t* bits, std::size_t size, bool high, std::uint32_t* out) {
  encode(bits, size, high, out);
}
void encode_floats64(const std::uint64_t* bits, std::size_t size, bool high, std::uint64_t* out) {
  encode(bits, size, high, out);
}

void least_float_keys32(const std::uint32_t* bits, std::size_t size, bool high, std::uint32_t* out) {
  least_float_keys(bits, size, high, out);
}
void least_float_keys64(const std::uint64_t* bits, std::size_t size, bool high, std::uint64_t* out) {
  least_float_keys(bits, size, high, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::exec
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::exec {

HWY_EXPORT(encode_floats32);
HWY_EXPORT(encode_floats64);
HWY_EXPORT(encode_sums);
HWY_EXPORT(least_float_keys32);
HWY_EXPORT(least_float_keys64);

void encode_floats(const std::uint32_t* bits, std::size_t size, bool high, std::uint32_t* out) {
  HWY_DYNAMIC_DISPATCH(encode_floats32)(bits, size, high, out);
}
void encode_floats(const std::uint64_t* bits, std::size_t size, bool high, std::uint64_t* out) {
  HWY_DYNAMIC_DISPATCH(encode_floats64)(bits, size, high, out);
}
void encode_sums(std::span<const SumTerm> terms, std::size_t begin, std::size_t size, bool high, std::uint64_t* out) {
  HWY_DYNAMIC_DISPATCH(encode_sums)(terms, begin, size, high, out);
}
void least_float_keys(const std::uint32_t* bits, std::size_t size, bool high, std::uint32_t* out) {
  HWY_DYNAMIC_DISPATCH(least_float_keys32)(bits, size, high, out);
}
void least_float_keys(const std::uint64_t* bits, std::size_t size, bool high, std::uint64_t* out) {
  HWY_DYNAMIC_DISPATCH(least_float_keys64)(bits, size, high, out);
}

}  // namespace skyrank::exec
#endif
