#include "engine/query/duration.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "engine/decimal.hpp"
#include "engine/text.hpp"

namespace skyrank {
namespace {

constexpr double kMaxMilliseconds = 1e12;  // about 30 years; clocks count in nanoseconds and end at 292

constexpr std::array<std::pair<std::string_view, double>, 5> kUnits{
    {{"ms", 1}, {"s", 1e3}, {"", 1e3}, {"min", 60e3}, {"h", 3600e3}}};

constexpr std::array<std::pair<std::string_view, std::int64_t>, 8> kTimeUnits{{{"ns", 1},
                                                                               {"us", 1'000},
                                                                               {"ms", 1'000'000},
                                                                               {"s", 1'000'000'000},
                                                                               {"min", 60'000'000'000},
                                                                               {"h", 3'600'000'000'000},
                                                                               {"d", 86'400'000'000'000},
                                                                               {"w", 604'800'000'000'000}}};

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  const auto* const known = std::ranges::find(kUnits, unit, &std::pair<std::string_view, double>::first);
  if (known == kUnits.end()) return std::nullopt;
  const double milliseconds = number * known->second;
  if (!(milliseconds >= 1 && milliseconds <= kMaxMilliseconds)) return std::nullopt;
  return std::chrono::milliseconds(std::llround(milliseconds));
}

std::optional<Int128> parse_nanoseconds(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::optional<Decimal> number = parse_decimal(text.substr(0, end));
  std::string_view unit = text.substr(end);
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  const auto* const known = std::ranges::find(kTimeUnits, unit, &std::pair<std::string_view, std::int64_t>::first);
  if (!number || known == kTimeUnits.end()) return std::nullopt;
  Int128 scaled = 0;
  if (__builtin_mul_overflow(number->unscaled, Int128{known->second}, &scaled)) return std::nullopt;
  const Int128 divisor = power_of_ten(number->scale);
  return scaled > 0 && scaled % divisor == 0 ? std::optional(scaled / divisor) : std::nullopt;
}

std::string to_string(std::chrono::milliseconds duration) {
  const auto count = static_cast<double>(duration.count());
  return count < 1000 ? format_number(count) + " ms" : format_number(count / 1e3) + " s";
}

}  // namespace skyrank
