#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <skyrank/types.hpp>

// Dates and timestamps as text, in the proleptic Gregorian calendar with a year 0 (ISO 8601), for every value that the
// types hold.
namespace skyrank {

/// "2017-05-01": a year of four digits, or a sign and four digits or more, then month and day of two. Nothing for any
/// other text, for days that do not exist, and for days that int32 does not hold.
std::optional<Date> parse_date(std::string_view text);

/// A date, optionally followed by a space or 'T' and "12:00", "12:00:00" or "12:00:00.123456789", and then optionally
/// by 'Z'; UTC. The unit is the coarsest that holds the fraction's digits: none, 1-3, 4-6 or 7-9. Nothing for any other
/// text and for times that int64 ticks do not hold.
std::optional<Timestamp> parse_timestamp(std::string_view text);

/// Both read back to the same value: "2017-05-01", "-0044-03-15", "+12017-05-01"; "2017-05-01 12:00:00" with no, three,
/// six or nine digits of a fraction, by unit.
std::string format_date(Date date);
std::string format_timestamp(Timestamp timestamp);

/// A day of the calendar.
struct CivilDay {
  std::int64_t year = 1970;
  int month = 1;
  int day = 1;
};
CivilDay civil_from_days(std::int64_t days_since_1970);

/// Returns 1 for Monday to 7 for Sunday, as ISO 8601 numbers them.
constexpr std::int64_t weekday(std::int64_t days_since_1970) {
  return std::chrono::weekday(std::chrono::sys_days(std::chrono::days(days_since_1970 % 7))).iso_encoding();
}

/// Ticks in a second: 1, 1000, ...
constexpr std::int64_t ticks_per_second(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::second: return 1;
    case TimeUnit::millisecond: return 1'000;
    case TimeUnit::microsecond: return 1'000'000;
    case TimeUnit::nanosecond: return 1'000'000'000;
  }
  return 1;
}

inline constexpr std::int64_t kSecondsPerDay = 86'400;

/// Nanoseconds in a tick of a date (a day) or of a timestamp.
constexpr std::int64_t nanoseconds_per_tick(DataType type) {
  constexpr std::int64_t second = 1'000'000'000;
  return type.type == Type::date ? kSecondsPerDay * second : second / ticks_per_second(type.unit);
}

/// Dates and timestamps as nanoseconds since 1970: comparable whatever their units.
constexpr Int128 nanoseconds(std::int64_t ticks, DataType type) { return Int128{ticks} * nanoseconds_per_tick(type); }

/// A point in time: days since 1970, the second of the day, and the ticks after it.
struct Moment {
  std::int64_t days = 0;
  std::int64_t second_of_day = 0;
  std::int64_t fraction = 0;
};

/// The first second of the first day of all may be no 64-bit integer, so nothing is multiplied back.
constexpr Moment moment_of(Timestamp timestamp) {
  const std::int64_t ticks_a_second = ticks_per_second(timestamp.unit);
  Moment moment{.second_of_day = timestamp.ticks / ticks_a_second, .fraction = timestamp.ticks % ticks_a_second};
  if (moment.fraction < 0) {
    --moment.second_of_day;
    moment.fraction += ticks_a_second;
  }
  moment.days = moment.second_of_day / kSecondsPerDay;
  moment.second_of_day %= kSecondsPerDay;
  if (moment.second_of_day < 0) {
    --moment.days;
    moment.second_of_day += kSecondsPerDay;
  }
  return moment;
}

}  // namespace skyrank
