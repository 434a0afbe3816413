#include "engine/time.hpp"

#include <charconv>
#include <chrono>
#include <limits>

#include "engine/text.hpp"

namespace skyrank {
namespace {

constexpr std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// The calendar repeats itself after an era, within which the standard library knows it.
constexpr std::int64_t kDaysPerEra = 146'097;
constexpr std::int64_t kYearsPerEra = 400;

/// Days since 1970; nothing where there is no such day.
std::optional<std::int64_t> days_from_civil(std::int64_t year, int month, int day) {
  const std::int64_t era = floor_divide(year, kYearsPerEra);
  const std::chrono::year_month_day civil(std::chrono::year(static_cast<int>(year - era * kYearsPerEra)),
                                          std::chrono::month(static_cast<unsigned>(month)),
                                          std::chrono::day(static_cast<unsigned>(day)));
  if (!civil.ok()) return std::nullopt;
  return era * kDaysPerEra + std::chrono::sys_days(civil).time_since_epoch().count();
}

using query::is_digit;

// Eats text from the front.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }

  bool accept(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// Reads as many digits as there are.
  std::string_view digits() {
    std::size_t n = 0;
    while (n < rest_.size() && is_digit(rest_[n])) ++n;
    const std::string_view found = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return found;
  }

  /// Two digits whose number is at most `max`.
  std::optional<int> pair(int max) {
    if (rest_.size() < 2 || !is_digit(rest_[0]) || !is_digit(rest_[1])) return std::nullopt;
    const int number = (rest_[0] - '0') * 10 + (rest_[1] - '0');
    rest_.remove_prefix(2);
    return number <= max ? std::optional(number) : std::nullopt;
  }

 private:
  std::string_view rest_;
};

std::optional<std::int64_t> scan_year(Scanner& scanner) {
  const bool minus = scanner.accept('-');
  const bool expanded = minus || scanner.accept('+');
  const std::string_view digits = scanner.digits();
  constexpr std::size_t kMaxDigits = 12;  // the seconds of int64 reach the year 292 277 026 596
  if (digits.size() < 4 || digits.size() > (expanded ? kMaxDigits : 4)) return std::nullopt;
  std::int64_t year = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), year);
  return minus ? -year : year;
}

/// Days since the epoch.
std::optional<std::int64_t> scan_day(Scanner& scanner) {
  const auto year = scan_year(scanner);
  if (!year || !scanner.accept('-')) return std::nullopt;
  const auto month = scanner.pair(12);
  if (!month || !scanner.accept('-')) return std::nullopt;
  const auto day = scanner.pair(31);
  return day ? days_from_civil(*year, *month, *day) : std::nullopt;
}

struct TimeOfDay {
  std::int64_t seconds = 0;
  std::int64_t fraction = 0;  // ticks
  TimeUnit unit = TimeUnit::second;
};

bool scan_fraction(Scanner& scanner, TimeOfDay& time) {
  const std::string_view digits = scanner.digits();
  if (digits.empty() || digits.size() > 9) return false;
  time.unit = digits.size() <= 3   ? TimeUnit::millisecond
              : digits.size() <= 6 ? TimeUnit::microsecond
                                   : TimeUnit::nanosecond;
  std::int64_t weight = ticks_per_second(time.unit);
  for (const char c : digits) {
    weight /= 10;
    time.fraction += weight * (c - '0');
  }
  return true;
}

std::optional<TimeOfDay> scan_time(Scanner& scanner) {
  TimeOfDay time;
  const auto hours = scanner.pair(23);
  if (!hours || !scanner.accept(':')) return std::nullopt;
  const auto minutes = scanner.pair(59);
  if (!minutes) return std::nullopt;
  time.seconds = *hours * 3600 + *minutes * 60;
  if (scanner.accept(':')) {
    const auto seconds = scanner.pair(59);
    if (!seconds) return std::nullopt;
    time.seconds += *seconds;
    if (scanner.accept('.') && !scan_fraction(scanner, time)) return std::nullopt;
  }
  return time;
}

void append_padded(std::string& text, std::int64_t number, std::size_t width) {
  const std::string digits = std::to_string(number);
  if (digits.size() < width) text.append(width - digits.size(), '0');
  text += digits;
}

std::string format_day(std::int64_t days) {
  const CivilDay civil = civil_from_days(days);
  std::string text;
  if (civil.year < 0) text += '-';
  if (civil.year > 9999) text += '+';
  append_padded(text, civil.year < 0 ? -civil.year : civil.year, 4);
  text += '-';
  append_padded(text, civil.month, 2);
  text += '-';
  append_padded(text, civil.day, 2);
  return text;
}

std::size_t fraction_digits(TimeUnit unit) { return 3 * static_cast<std::size_t>(unit); }

}  // namespace

CivilDay civil_from_days(std::int64_t days) {
  const std::int64_t era = floor_divide(days, kDaysPerEra);
  const std::chrono::year_month_day civil(std::chrono::sys_days(std::chrono::days(days - era * kDaysPerEra)));
  return {era * kYearsPerEra + static_cast<int>(civil.year()), static_cast<int>(static_cast<unsigned>(civil.month())),
          static_cast<int>(static_cast<unsigned>(civil.day()))};
}

std::optional<Date> parse_date(std::string_view text) {
  Scanner scanner(text);
  const auto days = scan_day(scanner);
  if (!days || !scanner.done()) return std::nullopt;
  using Limits = std::numeric_limits<std::int32_t>;
  if (*days < Limits::min() || *days > Limits::max()) return std::nullopt;
  return Date{static_cast<std::int32_t>(*days)};
}

std::optional<Timestamp> parse_timestamp(std::string_view text) {
  Scanner scanner(text);
  const auto days = scan_day(scanner);
  if (!days) return std::nullopt;
  TimeOfDay time;
  if (scanner.accept(' ') || scanner.accept('T')) {
    const auto scanned = scan_time(scanner);
    if (!scanned) return std::nullopt;
    time = *scanned;
    scanner.accept('Z');
  }
  if (!scanner.done()) return std::nullopt;
  // 128 bits: the first ticks of int64 have a whole second below the range before their fraction is added.
  const Int128 ticks = (Int128{*days} * kSecondsPerDay + time.seconds) * ticks_per_second(time.unit) + time.fraction;
  using Limits = std::numeric_limits<std::int64_t>;
  if (ticks < Limits::min() || ticks > Limits::max()) return std::nullopt;
  return Timestamp{static_cast<std::int64_t>(ticks), time.unit};
}

std::string format_date(Date date) { return format_day(date.days); }

std::string format_timestamp(Timestamp timestamp) {
  const auto [days, second_of_day, fraction] = moment_of(timestamp);
  std::string text = format_day(days);
  text += ' ';
  append_padded(text, second_of_day / 3600, 2);
  text += ':';
  append_padded(text, second_of_day / 60 % 60, 2);
  text += ':';
  append_padded(text, second_of_day % 60, 2);
  if (timestamp.unit != TimeUnit::second) {
    text += '.';
    append_padded(text, fraction, fraction_digits(timestamp.unit));
  }
  return text;
}

}  // namespace skyrank
