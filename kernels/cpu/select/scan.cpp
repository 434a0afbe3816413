#include "kernels/cpu/select/scan.hpp"

#include <algorithm>
#include <array>

#include "kernels/cpu/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/select/scan.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/topk/find-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::select {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using topk::HWY_NAMESPACE::find;
using topk::HWY_NAMESPACE::kGroup;

/// Loads the places of words.
template <bool kFloat, class Tag>
HWY_INLINE hn::Vec<Tag> load_places(Tag tag, const hn::TFromD<Tag>* words) {
  auto places = hn::LoadU(tag, words);
  if constexpr (kFloat) {
    const hn::RebindToSigned<Tag> is_signed;
    const auto signs = hn::BitCast(tag, hn::BroadcastSignBit(hn::BitCast(is_signed, places)));
    places = hn::Xor(places, hn::ShiftRight<1>(signs));
  }
  return places;
}

/// Tests if places lie in an interval.
template <class Word, bool kFloat>
class PlaceTest {
 public:
  using Value = Word;
  using Tag = hn::ScalableTag<Word>;

  explicit PlaceTest(Interval<Word> places)
      : places_(places), firsts_(hn::Set(Tag(), places.first)), last_offsets_(hn::Set(Tag(), places.last_offset)) {}

  bool operator()(Word word) const {
    return static_cast<Word>(Order<Word, kFloat>::place_of(word) - places_.first) <= places_.last_offset;
  }
  HWY_INLINE hn::Mask<Tag> each(const Word* words) const { return hn::Not(hn::Gt(distances(words), last_offsets_)); }
  HWY_INLINE bool any_of_group(const Word* words) const {
    auto least = distances(words);
    for (std::size_t i = hn::Lanes(Tag()); i < kGroup; i += hn::Lanes(Tag())) {
      least = hn::Min(least, distances(words + i));
    }
    return !hn::AllTrue(Tag(), hn::Gt(least, last_offsets_));
  }

 private:
  HWY_INLINE hn::Vec<Tag> distances(const Word* words) const {
    return hn::Sub(load_places<kFloat>(Tag(), words), firsts_);
  }

  Interval<Word> places_;
  hn::Vec<Tag> firsts_;
  hn::Vec<Tag> last_offsets_;
};

template <class Word>
std::size_t find_in(const Word* words, std::size_t count, bool floats, Interval<Word> places, std::uint32_t* offsets) {
  if constexpr (sizeof(Word) > 1) {
    if (floats) return find(PlaceTest<Word, true>(places), words, count, offsets);
  }
  return find(PlaceTest<Word, false>(places), words, count, offsets);
}

std::size_t find8(const std::uint8_t* words, std::size_t count, bool floats, Interval<std::uint8_t> places,
                  std::uint32_t* offsets) {
  return find_in(words, count, floats, places, offsets);
}
std::size_t find16(const std::uint16_t* words, std::size_t count, bool floats, Interval<std::uint16_t> places,
                   std::uint32_t* offsets) {
  return find_in(words, count, floats, places, offsets);
}
std::size_t find32(const std::uint32_t* words, std::size_t count, bool floats, Interval<std::uint32_t> places,
                   std::uint32_t* offsets) {
  return find_in(words, count, floats, places, offsets);
}
std::size_t find64(const std::uint64_t* words, std::size_t count, bool floats, Interval<std::uint64_t> places,
                   std::uint32_t* offsets) {
  return find_in(words, count, floats, places, offsets);
}

template <bool kFloat, class Word>
void lower_minima_of(const Word* words, std::size_t blocks, std::size_t stride, Distance<Word> distance, Word* minima) {
  const hn::ScalableTag<Word> tag;
  constexpr std::size_t kLanes = hn::MaxLanes(hn::ScalableTag<Word>());
  constexpr std::size_t kVectors = kGroups / kLanes;
  static_assert(kVectors * kLanes == kGroups);
  const auto flips = hn::Set(tag, distance.flip);
  const auto bases = hn::Set(tag, distance.base);
  hn::Vec<decltype(tag)> least[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) least[v] = hn::LoadU(tag, minima + v * kLanes);
  for (std::size_t block = 0; block < blocks; ++block, words += stride * kGroups) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto places = load_places<kFloat>(tag, words + v * kLanes);
      least[v] = hn::Min(least[v], hn::Sub(hn::Xor(places, flips), bases));
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(least[v], tag, minima + v * kLanes);
}

template <class Word>
void lower_minima_in(const Word* words, std::size_t blocks, std::size_t stride, bool floats, Distance<Word> distance,
                     Word* minima) {
  if constexpr (sizeof(Word) > 1) {
    if (floats) return lower_minima_of<true>(words, blocks, stride, distance, minima);
  }
  lower_minima_of<false>(words, blocks, stride, distance, minima);
}

void lower_minima8(const std::uint8_t* words, std::size_t blocks, std::size_t stride, bool floats,
                   Distance<std::uint8_t> distance, std::uint8_t* minima) {
  lower_minima_in(words, blocks, stride, floats, distance, minima);
}
void lower_minima16(const std::uint16_t* words, std::size_t blocks, std::size_t stride, bool floats,
                    Distance<std::uint16_t> distance, std::uint16_t* minima) {
  lower_minima_in(words, blocks, stride, floats, distance, minima);
}
void lower_minima32(const std::uint32_t* words, std::size_t blocks, std::size_t stride, bool floats,
                    Distance<std::uint32_t> distance, std::uint32_t* minima) {
  lower_minima_in(words, blocks, stride, floats, distance, minima);
}
void lower_minima64(const std::uint64_t* words, std::size_t blocks, std::size_t stride, bool floats,
                    Distance<std::uint64_t> distance, std::uint64_t* minima) {
  lower_minima_in(words, blocks, stride, floats, distance, minima);
}

/// Returns the number of words below a limit; a multiple of the lanes.
template <class Word>
HWY_INLINE std::size_t count_below(const Word* words, std::size_t count, Word limit) {
  const hn::ScalableTag<Word> tag;
  const auto limits = hn::Set(tag, limit);
  std::size_t below = 0;
  for (std::size_t i = 0; i < count; i += hn::Lanes(tag)) {
    below += hn::CountTrue(tag, hn::Gt(limits, hn::LoadU(tag, words + i)));
  }
  return below;
}

template <class Word>
Word nth_in(const Word* words, std::size_t place) {
  Word found = 0;  // the greatest word with no more than `place` words below it
  for (std::size_t i = 0; i < kGroups; ++i) {
    const Word word = words[i];
    found = std::max(found, count_below(words, kGroups, word) <= place ? word : Word{0});
  }
  return found;
}

std::uint8_t nth8(const std::uint8_t* words, std::size_t place) { return nth_in(words, place); }
std::uint16_t nth16(const std::uint16_t* words, std::size_t place) { return nth_in(words, place); }
std::uint32_t nth32(const std::uint32_t* words, std::size_t place) { return nth_in(words, place); }
std::uint64_t nth64(const std::uint64_t* words, std::size_t place) { return nth_in(words, place); }

template <class Word, bool kFloat>
void fill_in(const Order<Word, kFloat>& given, const Word* words, std::size_t count, std::uint64_t position,
             std::uint64_t* ranks) {
  const Order<Word, kFloat> order = given;  // whose members do not change when ranks are written
  for (std::size_t i = 0; i < count; ++i) {
    ranks[i] = static_cast<std::uint64_t>(order.key(words[i])) << 32 | (position + i);
  }
}

void fill8(const Order<std::uint8_t, false>& order, const std::uint8_t* words, std::size_t count,
           std::uint64_t position, std::uint64_t* ranks) {
  fill_in(order, words, count, position, ranks);
}
void fill16(const Order<std::uint16_t, false>& order, const std::uint16_t* words, std::size_t count,
            std::uint64_t position, std::uint64_t* ranks) {
  fill_in(order, words, count, position, ranks);
}
void fill16_floats(const Order<std::uint16_t, true>& order, const std::uint16_t* words, std::size_t count,
                   std::uint64_t position, std::uint64_t* ranks) {
  fill_in(order, words, count, position, ranks);
}
void fill32(const Order<std::uint32_t, false>& order, const std::uint32_t* words, std::size_t count,
            std::uint64_t position, std::uint64_t* ranks) {
  fill_in(order, words, count, position, ranks);
}
void fill32_floats(const Order<std::uint32_t, true>& order, const std::uint32_t* words, std::size_t count,
                   std::uint64_t position, std::uint64_t* ranks) {
  fill_in(order, words, count, position, ranks);
}

void sort_few(std::uint64_t* numbers, std::size_t count) {
  const hn::ScalableTag<std::uint64_t> tag;
  const std::size_t padded = (count + hn::Lanes(tag) - 1) / hn::Lanes(tag) * hn::Lanes(tag);
  std::array<std::uint64_t, kMaxSortedByCounting> unsorted;
  std::copy(numbers, numbers + count, unsorted.begin());
  std::fill(unsorted.begin() + count, unsorted.begin() + padded, ~std::uint64_t{0});
  for (std::size_t i = 0; i < count; ++i) numbers[count_below(unsorted.data(), padded, unsorted[i])] = unsorted[i];
}

bool has_vectors_here() { return HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128; }

void sort_few_wide(topk::uint128* numbers, std::size_t count) {
  const hn::ScalableTag<std::uint64_t> tag;
  const std::size_t padded = (count + hn::Lanes(tag) - 1) / hn::Lanes(tag) * hn::Lanes(tag);
  std::array<topk::uint128, kMaxSortedByCounting> unsorted;
  std::array<std::uint64_t, kMaxSortedByCounting> upper;
  std::array<std::uint64_t, kMaxSortedByCounting> lower;
  std::copy(numbers, numbers + count, unsorted.begin());
  for (std::size_t i = 0; i < padded; ++i) {
    upper[i] = i < count ? static_cast<std::uint64_t>(unsorted[i] >> 64) : ~std::uint64_t{0};
    lower[i] = i < count ? static_cast<std::uint64_t>(unsorted[i]) : ~std::uint64_t{0};
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto uppers = hn::Set(tag, upper[i]);
    const auto lowers = hn::Set(tag, lower[i]);
    std::size_t below = 0;
    for (std::size_t j = 0; j < padded; j += hn::Lanes(tag)) {
      const auto others = hn::LoadU(tag, upper.data() + j);
      const auto decides = hn::And(hn::Eq(uppers, others), hn::Gt(lowers, hn::LoadU(tag, lower.data() + j)));
      below += hn::CountTrue(tag, hn::Or(hn::Gt(uppers, others), decides));
    }
    numbers[below] = unsorted[i];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::select
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels::select {

HWY_EXPORT(find8);
HWY_EXPORT(find16);
HWY_EXPORT(find32);
HWY_EXPORT(find64);

std::size_t find_places(const std::uint8_t* words, std::size_t count, bool floats, Interval<std::uint8_t> places,
                        std::uint32_t* offsets) {
  return HWY_DYNAMIC_DISPATCH(find8)(words, count, floats, places, offsets);
}
std::size_t find_places(const std::uint16_t* words, std::size_t count, bool floats, Interval<std::uint16_t> places,
                        std::uint32_t* offsets) {
  return HWY_DYNAMIC_DISPATCH(find16)(words, count, floats, places, offsets);
}
std::size_t find_places(const std::uint32_t* words, std::size_t count, bool floats, Interval<std::uint32_t> places,
                        std::uint32_t* offsets) {
  return HWY_DYNAMIC_DISPATCH(find32)(words, count, floats, places, offsets);
}
std::size_t find_places(const std::uint64_t* words, std::size_t count, bool floats, Interval<std::uint64_t> places,
                        std::uint32_t* offsets) {
  return HWY_DYNAMIC_DISPATCH(find64)(words, count, floats, places, offsets);
}

HWY_EXPORT(lower_minima8);
HWY_EXPORT(lower_minima16);
HWY_EXPORT(lower_minima32);
HWY_EXPORT(lower_minima64);
HWY_EXPORT(nth8);
HWY_EXPORT(nth16);
HWY_EXPORT(nth32);
HWY_EXPORT(nth64);
HWY_EXPORT(fill8);
HWY_EXPORT(fill16);
HWY_EXPORT(fill16_floats);
HWY_EXPORT(fill32);
HWY_EXPORT(fill32_floats);
HWY_EXPORT(sort_few);
HWY_EXPORT(sort_few_wide);
HWY_EXPORT(has_vectors_here);

void lower_minima(const std::uint8_t* words, std::size_t blocks, std::size_t stride, bool floats,
                  Distance<std::uint8_t> distance, std::uint8_t* minima) {
  HWY_DYNAMIC_DISPATCH(lower_minima8)(words, blocks, stride, floats, distance, minima);
}
void lower_minima(const std::uint16_t* words, std::size_t blocks, std::size_t stride, bool floats,
                  Distance<std::uint16_t> distance, std::uint16_t* minima) {
  HWY_DYNAMIC_DISPATCH(lower_minima16)(words, blocks, stride, floats, distance, minima);
}
void lower_minima(const std::uint32_t* words, std::size_t blocks, std::size_t stride, bool floats,
                  Distance<std::uint32_t> distance, std::uint32_t* minima) {
  HWY_DYNAMIC_DISPATCH(lower_minima32)(words, blocks, stride, floats, distance, minima);
}
void lower_minima(const std::uint64_t* words, std::size_t blocks, std::size_t stride, bool floats,
                  Distance<std::uint64_t> distance, std::uint64_t* minima) {
  HWY_DYNAMIC_DISPATCH(lower_minima64)(words, blocks, stride, floats, distance, minima);
}
std::uint8_t nth_of_group(const std::uint8_t* words, std::size_t place) {
  return HWY_DYNAMIC_DISPATCH(nth8)(words, place);
}
std::uint16_t nth_of_group(const std::uint16_t* words, std::size_t place) {
  return HWY_DYNAMIC_DISPATCH(nth16)(words, place);
}
std::uint32_t nth_of_group(const std::uint32_t* words, std::size_t place) {
  return HWY_DYNAMIC_DISPATCH(nth32)(words, place);
}
std::uint64_t nth_of_group(const std::uint64_t* words, std::size_t place) {
  return HWY_DYNAMIC_DISPATCH(nth64)(words, place);
}
void fill_ranks(const Order<std::uint8_t, false>& order, const std::uint8_t* words, std::size_t count,
                std::uint64_t position, std::uint64_t* ranks) {
  HWY_DYNAMIC_DISPATCH(fill8)(order, words, count, position, ranks);
}
void fill_ranks(const Order<std::uint16_t, false>& order, const std::uint16_t* words, std::size_t count,
                std::uint64_t position, std::uint64_t* ranks) {
  HWY_DYNAMIC_DISPATCH(fill16)(order, words, count, position, ranks);
}
void fill_ranks(const Order<std::uint16_t, true>& order, const std::uint16_t* words, std::size_t count,
                std::uint64_t position, std::uint64_t* ranks) {
  HWY_DYNAMIC_DISPATCH(fill16_floats)(order, words, count, position, ranks);
}
void fill_ranks(const Order<std::uint32_t, false>& order, const std::uint32_t* words, std::size_t count,
                std::uint64_t position, std::uint64_t* ranks) {
  HWY_DYNAMIC_DISPATCH(fill32)(order, words, count, position, ranks);
}
void fill_ranks(const Order<std::uint32_t, true>& order, const std::uint32_t* words, std::size_t count,
                std::uint64_t position, std::uint64_t* ranks) {
  HWY_DYNAMIC_DISPATCH(fill32_floats)(order, words, count, position, ranks);
}
void sort_by_counting(std::uint64_t* numbers, std::size_t count) { HWY_DYNAMIC_DISPATCH(sort_few)(numbers, count); }
void sort_by_counting(topk::uint128* numbers, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(sort_few_wide)(numbers, count);
}

bool has_vectors() { return HWY_DYNAMIC_DISPATCH(has_vectors_here)(); }

}  // namespace skyrank::kernels::select
#endif
