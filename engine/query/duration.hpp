#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <skyrank/types.hpp>

// Reads and writes times as texts, such as "250 ms" and "7d".
namespace skyrank {

/// The words that messages use for what parse_duration takes.
inline constexpr const char* kDurationExample = "a time such as 30s, 500ms or 5min (a plain number is seconds)";

/// Parses a time limit: a number, with a fraction or without, and a unit of ms, s, min or h; seconds without. Nothing
/// for other texts, for less than a millisecond and for more than 30 years.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

/// Parses a time of any length above 0: a number, with a fraction or without, and a unit of ns, us, ms, s, min, h, d or
/// w. Nothing for other texts, and for what is no whole number of nanoseconds.
std::optional<Int128> parse_nanoseconds(std::string_view text);

/// "30 s", "1.5 s", "250 ms".
std::string to_string(std::chrono::milliseconds duration);

}  // namespace skyrank
