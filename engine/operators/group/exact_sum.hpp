#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <skyrank/types.hpp>

#include "engine/decimal.hpp"

// Exact sums of floats, rounded once: neither the order of the values nor a split of them changes a bit. Most sums stay
// in a window of 128 bits; one that does not goes to an accumulator for all values that float64 has (Kulisch, "Computer
// Arithmetic and Validity", 2008, chapter 8).
namespace skyrank::exec {

inline constexpr std::size_t kExactWords = 34;  // of 64 bits: 2^-1074 to 2^1024, and 2^63 values of that
/// An integer in two's complement, the lowest word first.
using ExactWords = std::array<std::uint64_t, kExactWords>;

/// The sum of up to 2^62 floats. NaN if one is, or if infinities of both signs are.
class ExactSum {
 public:
  ExactSum() = default;
  ExactSum(double value) { *this += value; }  // NOLINT(google-explicit-constructor): a number like any
  ExactSum(const ExactSum& other);
  ExactSum(ExactSum&&) noexcept = default;
  ExactSum& operator=(const ExactSum& other);
  ExactSum& operator=(ExactSum&&) noexcept = default;
  ~ExactSum() = default;

  ExactSum& operator+=(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto field = static_cast<int>((bits >> 52) & 0x7ff);
    if (field == 0x7ff) return add_special(value);
    const std::int64_t sign = static_cast<std::int64_t>(bits) >> 63;  // without a branch, as signs are random
    const auto leading = static_cast<std::uint64_t>(field != 0 ? 1 : 0) << 52;
    const auto magnitude = static_cast<std::int64_t>((bits & ((std::uint64_t{1} << 52) - 1)) | leading);
    const std::int64_t mantissa = (magnitude ^ sign) - sign;
    const int exponent = std::max(field, 1) - kBias;
    const int shift = exponent - exponent_;
    if (static_cast<unsigned>(shift) <= kMaxShift) {
      add_to_window(shifted(mantissa, shift));
    } else {
      add(mantissa, exponent);
    }
    return *this;
  }
  ExactSum& operator+=(const ExactSum& other);

  /// Returns the nearest float64, ties to even; infinite beyond the largest.
  explicit operator double() const;

  /// Returns the sum as text, the same for equal sums: "nan", "inf", "-inf", "0", or an odd hexadecimal number and a
  /// power of two, such as "-1fp-3" for -31/8.
  std::string text() const;
  /// Reads what text() wrote; nothing for other texts.
  static std::optional<ExactSum> parse(std::string_view text);

 private:
  static constexpr int kBias = 1075;  // an exponent field less this is the exponent of the last of 53 bits
  static constexpr int kLowest = -1074;
  static constexpr int kWindowBits = 126;
  static constexpr unsigned kMaxShift = 64;           // of 53 bits within the window
  static constexpr std::int16_t kNoWindow = 1 << 14;  // above the exponent of any value
  static constexpr int kBitsBelow = 30;               // in a new window, for values that are finer than its first

  static Int128 shifted(Int128 value, int bits) { return static_cast<Int128>(static_cast<UInt128>(value) << bits); }

  static int width(Int128 value) {
    const UInt128 magnitude = magnitude_of(value);
    const auto high = static_cast<std::uint64_t>(magnitude >> 64);
    return static_cast<int>(high != 0 ? 64 + std::bit_width(high)
                                      : std::bit_width(static_cast<std::uint64_t>(magnitude)));
  }

  /// Adds mantissa * 2^exponent.
  void add(Int128 mantissa, int exponent) {
    if (mantissa == 0) return;
    if (mantissa_ == 0) {
      open_window(mantissa, exponent);
    } else if (exponent >= exponent_ && width(mantissa) + exponent - exponent_ <= kWindowBits) {
      add_to_window(shifted(mantissa, exponent - exponent_));
    } else if (exponent < exponent_ && width(mantissa_) + exponent_ - exponent <= kWindowBits) {
      mantissa_ = shifted(mantissa_, exponent_ - exponent);
      exponent_ = static_cast<std::int16_t>(exponent);
      add_to_window(mantissa);
    } else {
      empty_window();
      open_window(mantissa, exponent);
    }
  }

  void open_window(Int128 mantissa, int exponent) {
    const int below = std::max(std::min({kBitsBelow, exponent - kLowest, kWindowBits - width(mantissa)}), 0);
    mantissa_ = shifted(mantissa, below);
    exponent_ = static_cast<std::int16_t>(exponent - below);
  }

  void add_to_window(Int128 value) {
    if (!__builtin_add_overflow(mantissa_, value, &mantissa_)) return;
    // The sum has wrapped around: take the value out again.
    mantissa_ = static_cast<Int128>(static_cast<UInt128>(mantissa_) - static_cast<UInt128>(value));
    empty_window();
    mantissa_ = value;
  }

  ExactSum& add_special(double value);
  void empty_window();
  bool is_special() const { return has_nan_ || has_infinity_[0] || has_infinity_[1]; }
  double special() const;
  /// Returns the finite sum as a multiple of 2^-1074.
  ExactWords words() const;

  Int128 mantissa_ = 0;  ///< the sum is mantissa_ * 2^exponent_ + *wide_ * 2^-1074
  std::unique_ptr<ExactWords> wide_;
  std::int16_t exponent_ = kNoWindow;
  bool has_nan_ = false;
  bool has_infinity_[2] = {false, false};  ///< positive, negative
};

/// Returns the sign and the hexadecimal digits of words of two's complement: "0", "-1f".
std::string hex_of(std::span<const std::uint64_t> words);
/// Reads what hex_of() wrote into zeroed words; false where it is no such text or does not fit.
bool read_hex(std::string_view text, std::span<std::uint64_t> words);

}  // namespace skyrank::exec
