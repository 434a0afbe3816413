#include "engine/operators/group/exact_sum.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

namespace skyrank::exec {
namespace {

constexpr int kWordBits = 64;
constexpr std::string_view kDigits = "0123456789abcdef";

bool is_negative(std::span<const std::uint64_t> words) { return (words.back() >> (kWordBits - 1)) != 0; }

void negate(std::span<std::uint64_t> words) {
  bool carry = true;
  for (std::uint64_t& word : words) {
    word = ~word + (carry ? 1 : 0);
    carry = carry && word == 0;
  }
}

/// Returns the number of bits up to the highest one that is set.
int width_of(std::span<const std::uint64_t> words) {
  for (std::size_t i = words.size(); i > 0; --i) {
    if (words[i - 1] != 0) return static_cast<int>(i - 1) * kWordBits + static_cast<int>(std::bit_width(words[i - 1]));
  }
  return 0;
}

/// Returns the 64 bits from bit `first` on.
std::uint64_t bits_from(std::span<const std::uint64_t> words, int first) {
  const auto word = static_cast<std::size_t>(first / kWordBits);
  const int shift = first % kWordBits;
  if (shift == 0) return words[word];
  const std::uint64_t next = word + 1 < words.size() ? words[word + 1] : 0;
  return (words[word] >> shift) | (next << (kWordBits - shift));
}

bool has_bits_below(std::span<const std::uint64_t> words, int end) {
  for (int at = 0; at + kWordBits <= end; at += kWordBits) {
    if (words[static_cast<std::size_t>(at / kWordBits)] != 0) return true;
  }
  const int left = end % kWordBits;
  return left != 0 && (words[static_cast<std::size_t>(end / kWordBits)] << (kWordBits - left)) != 0;
}

int trailing_zeros(std::span<const std::uint64_t> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != 0) return static_cast<int>(i) * kWordBits + std::countr_zero(words[i]);
  }
  return 0;
}

/// Shifts by `count` bits, to the higher bits if it is positive. No bits that are set may leave the words.
ExactWords shifted(const ExactWords& words, int count) {
  ExactWords result{};
  constexpr int kBits = static_cast<int>(kExactWords) * kWordBits;
  for (int to = 0; to < kBits; to += kWordBits) {
    const int from = to - count;
    if (from >= kBits || from <= -kWordBits) continue;
    result[static_cast<std::size_t>(to / kWordBits)] = from >= 0 ? bits_from(words, from) : words[0] << -from;
  }
  return result;
}

void add_words(ExactWords& sum, const ExactWords& more) {
  unsigned carry = 0;
  for (std::size_t i = 0; i < kExactWords; ++i) {
    const UInt128 word = UInt128{sum[i]} + more[i] + carry;
    sum[i] = static_cast<std::uint64_t>(word);
    carry = static_cast<unsigned>(word >> kWordBits);
  }
}

std::string text_of(std::span<const std::uint64_t> odd, bool negative, int exponent) {
  std::string digits = hex_of(odd);
  if (digits == "0") return digits;
  return (negative ? "-" : "") + digits + "p" + std::to_string(exponent);
}

/// Returns value * 2^bit.
ExactWords placed(Int128 value, int bit) {
  ExactWords words{};
  const UInt128 magnitude = magnitude_of(value);
  words[0] = static_cast<std::uint64_t>(magnitude);
  words[1] = static_cast<std::uint64_t>(magnitude >> kWordBits);
  words = shifted(words, bit);
  if (value < 0) negate(words);
  return words;
}

}  // namespace

std::string hex_of(std::span<const std::uint64_t> words) {
  std::vector<std::uint64_t> magnitude(words.begin(), words.end());
  const bool negative = is_negative(words);
  if (negative) negate(magnitude);
  const int digits = std::max((width_of(magnitude) + 3) / 4, 1);
  std::string text(negative ? "-" : "");
  text.reserve(static_cast<std::size_t>(digits) + 1);
  for (int digit = digits - 1; digit >= 0; --digit) {
    text += kDigits[(magnitude[static_cast<std::size_t>(digit / 16)] >> (4 * (digit % 16))) & 15];
  }
  return text;
}

bool read_hex(std::string_view text, std::span<std::uint64_t> words) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  // The digits leave the sign's bit free.
  if (text.empty() || text.size() > 16 * words.size() - 1) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[text.size() - 1 - i];
    const bool is_letter = c >= 'a' && c <= 'f';
    if (!is_letter && (c < '0' || c > '9')) return false;
    words[i / 16] |= static_cast<std::uint64_t>(is_letter ? c - 'a' + 10 : c - '0') << (4 * (i % 16));
  }
  if (negative) negate(words);
  return true;
}

ExactSum::ExactSum(const ExactSum& other) { *this = other; }

ExactSum& ExactSum::operator=(const ExactSum& other) {
  if (this == &other) return *this;
  mantissa_ = other.mantissa_;
  exponent_ = other.exponent_;
  wide_ = other.wide_ ? std::make_unique<ExactWords>(*other.wide_) : nullptr;
  has_nan_ = other.has_nan_;
  std::ranges::copy(other.has_infinity_, has_infinity_);
  return *this;
}

ExactSum& ExactSum::operator+=(const ExactSum& other) {
  add(other.mantissa_, other.exponent_);
  if (other.wide_) {
    if (!wide_) wide_ = std::make_unique<ExactWords>();
    add_words(*wide_, *other.wide_);
  }
  has_nan_ |= other.has_nan_;
  for (int sign = 0; sign < 2; ++sign) has_infinity_[sign] |= other.has_infinity_[sign];
  return *this;
}

ExactSum& ExactSum::add_special(double value) {
  if (std::isnan(value)) {
    has_nan_ = true;
  } else {
    has_infinity_[value < 0 ? 1 : 0] = true;
  }
  return *this;
}

double ExactSum::special() const {
  if (has_nan_ || (has_infinity_[0] && has_infinity_[1])) return std::numeric_limits<double>::quiet_NaN();
  return has_infinity_[0] ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

void ExactSum::empty_window() {
  if (!wide_) wide_ = std::make_unique<ExactWords>();
  add_words(*wide_, placed(mantissa_, exponent_ - kLowest));
  mantissa_ = 0;
}

ExactWords ExactSum::words() const {
  ExactWords words = placed(mantissa_, mantissa_ == 0 ? 0 : exponent_ - kLowest);
  if (wide_) add_words(words, *wide_);
  return words;
}

// A sum is a multiple of 2^-1074, so that one below the normal numbers is exact, and no result is rounded twice.
ExactSum::operator double() const {
  if (is_special()) return special();
  if (!wide_) return std::ldexp(static_cast<double>(mantissa_), exponent_);
  ExactWords magnitude = words();
  const bool negative = is_negative(magnitude);
  if (negative) negate(magnitude);
  const int first = std::max(width_of(magnitude) - kWordBits, 0);
  std::uint64_t top = bits_from(magnitude, first);
  if (has_bits_below(magnitude, first)) top |= 1;  // stands for all of them: 64 bits are more than 53 and one
  const double value = std::ldexp(static_cast<double>(top), first + kLowest);
  return negative ? -value : value;
}

std::string ExactSum::text() const {
  if (is_special()) {
    const double value = special();
    return std::isnan(value) ? "nan" : (value > 0 ? "inf" : "-inf");
  }
  if (!wide_) {
    const UInt128 magnitude = magnitude_of(mantissa_);
    const std::array<std::uint64_t, 2> words = {static_cast<std::uint64_t>(magnitude),
                                                static_cast<std::uint64_t>(magnitude >> kWordBits)};
    const int zeros = trailing_zeros(words);
    const UInt128 odd = magnitude >> zeros;
    return text_of(
        std::array<std::uint64_t, 3>{static_cast<std::uint64_t>(odd), static_cast<std::uint64_t>(odd >> kWordBits), 0},
        mantissa_ < 0, zeros + exponent_);
  }
  ExactWords sum = words();
  const bool negative = is_negative(sum);
  if (negative) negate(sum);
  const int zeros = trailing_zeros(sum);
  return text_of(exec::shifted(sum, -zeros), negative, zeros + kLowest);
}

std::optional<ExactSum> ExactSum::parse(std::string_view text) {
  if (text == "0") return ExactSum();
  if (text == "nan") return ExactSum(std::numeric_limits<double>::quiet_NaN());
  if (text == "inf") return ExactSum(std::numeric_limits<double>::infinity());
  if (text == "-inf") return ExactSum(-std::numeric_limits<double>::infinity());
  const std::size_t mark = text.find('p');
  if (mark == std::string_view::npos) return std::nullopt;
  int exponent = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data() + mark + 1, end, exponent);
  if (error != std::errc() || read != end || exponent < kLowest) return std::nullopt;
  text = text.substr(0, mark);
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  ExactWords magnitude{};
  if (!read_hex(text, magnitude) || is_negative(magnitude)) return std::nullopt;
  constexpr int kMaxWidth = 1024 + 62 - kLowest;
  if (exponent > kMaxWidth || width_of(magnitude) + exponent - kLowest > kMaxWidth) return std::nullopt;
  ExactSum sum;
  if (width_of(magnitude) < kWindowBits) {
    const auto value = static_cast<Int128>((UInt128{magnitude[1]} << kWordBits) | magnitude[0]);
    sum.add(negative ? -value : value, exponent);
    return sum;
  }
  sum.wide_ = std::make_unique<ExactWords>(exec::shifted(magnitude, exponent - kLowest));
  if (negative) negate(*sum.wide_);
  return sum;
}

}  // namespace skyrank::exec
