#include "kernels/cpu/select/scan.hpp"

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
    auto places = hn::LoadU(Tag(), words);
    if constexpr (kFloat) {
      const hn::RebindToSigned<Tag> is_signed;
      const auto signs = hn::BitCast(Tag(), hn::BroadcastSignBit(hn::BitCast(is_signed, places)));
      places = hn::Xor(places, hn::ShiftRight<1>(signs));
    }
    return hn::Sub(places, firsts_);
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

}  // namespace skyrank::kernels::select
#endif
