#include "datasets/csv/number_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <locale>
#include <sstream>
#include <system_error>

namespace skyrank::datasets {
namespace {

template <class Integer>
bool fits(std::string_view integer) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(integer.data(), integer.data() + integer.size(), value);
  return error == std::errc{} && end == integer.data() + integer.size();
}

}  // namespace

std::string_view trim_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool is_integer(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool fits_int64(std::string_view integer) { return fits<std::int64_t>(integer); }
bool fits_uint64(std::string_view integer) { return fits<std::uint64_t>(integer); }

bool float64_holds(std::string_view integer) {
  if (integer.starts_with('-') || integer.starts_with('+')) integer.remove_prefix(1);
  integer.remove_prefix(std::min(integer.find_first_not_of('0'), integer.size()));
  if (integer.size() <= std::numeric_limits<double>::digits10) return true;
  double value = 0;
  std::from_chars(integer.data(), integer.data() + integer.size(), value);
  std::array<char, std::numeric_limits<double>::max_exponent10 + 2> digits{};
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed, 0);
  return error == std::errc{} && std::string_view(digits.data(), end) == integer;
}

// Numbers too small for float64 round to zero, as by any double; from_chars does not tell the two apart.
bool overflows_float64(const std::string& number) {
  std::istringstream in(number);
  in.imbue(std::locale::classic());
  double value = 0;
  in >> value;
  return in.fail() && std::fabs(value) == std::numeric_limits<double>::max();
}

std::string shorten(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return text.size() <= kShown ? std::string(text) : std::string(text.substr(0, kShown)) + "...";
}

}  // namespace skyrank::datasets
