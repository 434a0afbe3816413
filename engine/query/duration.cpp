#include "engine/query/duration.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "engine/text.hpp"

namespace skyrank {
namespace {

constexpr double kMaxMilliseconds = 1e12;  // about 30 years; clocks count in nanoseconds and end at 292

constexpr std::array<std::pair<std::string_view, double>, 5> kUnits{
    {{"ms", 1}, {"s", 1e3}, {"", 1e3}, {"min", 60e3}, {"h", 3600e3}}};

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

std::string to_string(std::chrono::milliseconds duration) {
  const auto count = static_cast<double>(duration.count());
  return count < 1000 ? format_number(count) + " ms" : format_number(count / 1e3) + " s";
}

}  // namespace skyrank
