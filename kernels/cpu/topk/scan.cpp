#include "kernels/cpu/topk/scan.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/topk/scan.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::topk {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kGroup = 64;      ///< keys that are tested together, and bits of a word
constexpr std::size_t kStretch = 8192;  ///< keys whose groups are listed before they are looked into

/// Bit i: (keys[i] ^ flip) <= limit.
template <class Tag, class Key>
std::uint64_t hits_of_group(Tag tag, const Key* keys, hn::Vec<Tag> flips, hn::Vec<Tag> limits) {
  const std::size_t lanes = hn::Lanes(tag);
  std::uint64_t hits = 0;
  for (std::size_t i = 0; i < kGroup; i += lanes) {
    std::array<std::uint8_t, 8> bytes{};
    const auto above = hn::Gt(hn::Xor(hn::LoadU(tag, keys + i), flips), limits);
    hn::StoreMaskBits(tag, hn::Not(above), bytes.data());
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data(), bytes.size());
    if (lanes < 64) bits &= (std::uint64_t{1} << lanes) - 1;
    hits |= bits << i;
  }
  return hits;
}

/// Whether a group has a key with (key ^ flip) <= limit.
template <class Tag, class Key>
bool group_has_hit(Tag tag, const Key* keys, hn::Vec<Tag> flips, hn::Vec<Tag> limits) {
  const std::size_t lanes = hn::Lanes(tag);
  auto least = hn::Xor(hn::LoadU(tag, keys), flips);
  for (std::size_t i = lanes; i < kGroup; i += lanes) {
    least = hn::Min(least, hn::Xor(hn::LoadU(tag, keys + i), flips));
  }
  return !hn::AllTrue(tag, hn::Gt(least, limits));
}

/// Offsets of the keys for which (key ^ flip) <= limit: with no flip the keys up to a limit, with a key as flip and the
/// limit 0 those equal to it. Groups with hits are listed first, without branches: a branch that is rarely taken, and
/// never foreseen, would each time throw away the loads from memory that are under way.
template <class Key>
std::size_t find(const Key* keys, std::size_t count, Key flip, Key limit, std::uint32_t* offsets) {
  const hn::ScalableTag<Key> tag;
  const auto flips = hn::Set(tag, flip);
  const auto limits = hn::Set(tag, limit);
  std::array<std::uint32_t, kStretch / kGroup> groups;
  const std::size_t whole = count / kGroup * kGroup;
  std::size_t found = 0;
  for (std::size_t first = 0; first < whole; first += kStretch) {
    const std::size_t last = std::min(whole, first + kStretch);
    std::size_t listed = 0;
    for (std::size_t i = first; i < last; i += kGroup) {
      groups[listed] = static_cast<std::uint32_t>(i);
      listed += group_has_hit(tag, keys + i, flips, limits) ? 1 : 0;
    }
    for (std::size_t g = 0; g < listed; ++g) {
      for (std::uint64_t hits = hits_of_group(tag, keys + groups[g], flips, limits); hits != 0; hits &= hits - 1) {
        offsets[found++] = groups[g] + static_cast<std::uint32_t>(std::countr_zero(hits));
      }
    }
  }
  for (std::size_t i = whole; i < count; ++i) {
    offsets[found] = static_cast<std::uint32_t>(i);
    found += static_cast<Key>(keys[i] ^ flip) <= limit ? 1 : 0;
  }
  return found;
}

std::size_t find_in_column(const KeyColumn& column, std::size_t begin, std::size_t end, std::uint64_t flip,
                           std::uint64_t limit, std::uint32_t* offsets) {
  const auto find_as = [&]<class Key>(Key) {
    return find(column.as<Key>() + begin, end - begin, static_cast<Key>(flip), static_cast<Key>(limit), offsets);
  };
  switch (column.width) {
    case KeyWidth::bytes1: return find_as(std::uint8_t{});
    case KeyWidth::bytes2: return find_as(std::uint16_t{});
    case KeyWidth::bytes4: return find_as(std::uint32_t{});
    case KeyWidth::bytes8: break;
  }
  return find_as(std::uint64_t{});
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::topk
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels::topk {

HWY_EXPORT(find_in_column);

std::size_t find_at_most(const KeyColumn& keys, std::size_t begin, std::size_t end, std::uint64_t limit,
                         std::uint32_t* offsets) {
  return HWY_DYNAMIC_DISPATCH(find_in_column)(keys, begin, end, 0, limit, offsets);
}

std::size_t find_equal(const KeyColumn& keys, std::size_t begin, std::size_t end, std::uint64_t key,
                       std::uint32_t* offsets) {
  return HWY_DYNAMIC_DISPATCH(find_in_column)(keys, begin, end, key, 0, offsets);
}

}  // namespace skyrank::kernels::topk
#endif
