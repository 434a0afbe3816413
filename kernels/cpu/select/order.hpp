#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/common/select/problem.hpp"

// Orders elements by their bits. An element's place is an integer: of an integer itself, of a float its magnitude, with
// the sign of two's complement. Places of numbers are one interval [lowest, highest] of the circle of all words, and
// the rest of the circle is NaN. So the elements that are better than a given one are an interval of the circle for
// every type, both directions, and NaN on either side: one subtraction and one comparison test an element.
namespace skyrank::kernels::select {

/// Places [first, last] on the circle of all words, first <= last after subtracting `first` from both.
template <class Word>
struct Interval {
  Word first = 0;
  Word last_offset = 0;  ///< distance from the first place to the last
  bool empty = false;
};

/// How far a place is from that of the best element there may be: (place ^ flip) - base.
template <class Word>
struct Distance {
  Word flip = 0;
  Word base = 0;

  Word operator()(Word place) const { return static_cast<Word>(static_cast<Word>(place ^ flip) - base); }
};

/// Converts elements to keys, which are smaller for better elements and equal for equal ones.
template <class Word, bool kFloat>
class Order {
  static_assert(std::is_unsigned_v<Word>);

 public:
  explicit Order(const SelectProblem& problem)
      : lowest_(lowest_of(problem.element)),
        highest_(static_cast<Word>(kFloat ? infinity_of(problem.element) : ~lowest_)),
        numbers_(static_cast<Word>(highest_ - lowest_ + 1)),
        largest_(problem.largest),
        nan_first_(kFloat && problem.nan_first),
        number_{static_cast<Word>(largest_ ? kMax : Word{0}), static_cast<Word>(largest_ ? ~highest_ : lowest_)},
        zero_(number_(0)),
        minus_zero_(number_(kMax)),
        nan_key_(nan_first_ ? Word{0} : kMax) {}

  /// Returns the key of an element.
  Word key(Word bits) const { return key_of_number(number_(place_of(bits))); }

  /// Returns the places of elements with keys below `limit`.
  Interval<Word> below(Word limit) const {
    if (limit == 0) return {0, 0, true};
    auto count = static_cast<Word>(limit - (nan_first_ ? 1 : 0));  // of numbers
    if constexpr (kFloat) {
      if (count > numbers_) count = numbers_;
      // -0.0 has a place of its own next to that of 0.0, whose key it has.
      if (!largest_ && count == zero_) --count;
      if (largest_ && count == minus_zero_) ++count;
    }
    const Word nans = nans_first();
    const auto length = static_cast<Word>(count + nans);  // 0: all, where NaN is first, or none
    if (length == 0 && !nan_first_) return {0, 0, true};
    const Word first = static_cast<Word>(largest_ ? highest_ - count + 1 : lowest_ - nans);
    return {first, static_cast<Word>(length - 1), false};
  }

  /// Returns the places of elements with keys up to `key`.
  Interval<Word> up_to(Word key) const {
    return key == kMax ? Interval<Word>{0, kMax, false} : below(static_cast<Word>(key + 1));
  }

  /// Returns the distance of places, which orders elements as their keys do, but that it tells NaN, and zeros of
  /// different signs, apart.
  Distance<Word> distance() const { return {number_.flip, static_cast<Word>(number_.base - nans_first())}; }

  /// Returns the key of the elements at a distance.
  Word key_at(Word distance) const { return key_of_number(static_cast<Word>(distance - nans_first())); }

  static constexpr Word place_of(Word bits) {
    if constexpr (!kFloat) return bits;
    const auto signs = static_cast<Word>(-static_cast<Word>(bits >> (std::numeric_limits<Word>::digits - 1)));
    return static_cast<Word>(bits ^ (signs >> 1));
  }

 private:
  static constexpr Word kMax = std::numeric_limits<Word>::max();
  static constexpr Word kSign = static_cast<Word>(Word{1} << (std::numeric_limits<Word>::digits - 1));

  static Word infinity_of(Element element) {
    switch (element) {
      case Element::float16: return static_cast<Word>(0x7c00);
      case Element::bfloat16: return static_cast<Word>(0x7f80);
      case Element::float32: return static_cast<Word>(0x7f800000);
      default: return static_cast<Word>(0x7ff0000000000000);
    }
  }
  static Word lowest_of(Element element) {
    if constexpr (kFloat) return place_of(static_cast<Word>(infinity_of(element) | kSign));
    return is_signed(element) ? kSign : Word{0};
  }

  /// Takes the distance from the best number, which is beyond all numbers for NaN. Free of branches, for vectors.
  Word key_of_number(Word number) const {
    if constexpr (!kFloat) return number;
    const Word canonical = number == minus_zero_ ? zero_ : number;
    const auto key = static_cast<Word>(canonical + (nan_first_ ? 1 : 0));
    return number >= numbers_ ? nan_key_ : key;
  }

  /// Returns the number of places that come before those of numbers.
  Word nans_first() const { return static_cast<Word>(nan_first_ ? -numbers_ : 0); }

  Word lowest_;   ///< place of the lowest number,
  Word highest_;  ///< and of the highest
  Word numbers_;  ///< places of numbers; 0: all
  bool largest_;
  bool nan_first_;
  Distance<Word> number_;  ///< distance of numbers from the best one
  Word zero_;              ///< distance of 0.0,
  Word minus_zero_;        ///< and of -0.0
  Word nan_key_;
};

}  // namespace skyrank::kernels::select
