#include "datasets/csv/csv_errors.hpp"

#include <arrow/util/utf8.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <locale>
#include <skyrank/error.hpp>
#include <sstream>
#include <system_error>

#include "datasets/csv/csv_scan.hpp"

namespace skyrank::datasets {
namespace {

std::string fields_text(std::size_t n) { return std::to_string(n) + (n == 1 ? " field" : " fields"); }

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::string shorten(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return text.size() <= kShown ? std::string(text) : std::string(text.substr(0, kShown)) + "...";
}

bool is_integer(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

template <class Integer>
bool fits(std::string_view integer) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(integer.data(), integer.data() + integer.size(), value);
  return error == std::errc{} && end == integer.data() + integer.size();
}

/// Returns true if the nearest float64 is the integer itself.
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

// Of text that the parser took for a number and read as infinite: is infinity what it says?
bool says_infinity(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Numbers too small for float64 round to zero, as by any double; from_chars does not tell the two apart.
bool overflows_float64(const std::string& number) {
  std::istringstream in(number);
  in.imbue(std::locale::classic());
  double value = 0;
  in >> value;
  return in.fail() && std::fabs(value) == std::numeric_limits<double>::max();
}

}  // namespace

void refuse_malformed_records(const CsvText& text, const CsvShape& shape) {
  CsvScanner scanner(text.view(), text.delimiter);
  while (scanner.next()) {
    if (scanner.unterminated()) {
      throw DataError("a quoted field that begins here is never closed by a quote",
                      {text.name, scanner.line_of(scanner.fields().size() - 1), 0});
    }
    if (scanner.fields().size() == shape.fields) continue;
    throw DataError("expected " + fields_text(shape.fields) + " as in the first line, found " +
                        std::to_string(scanner.fields().size()) + "; quote fields that hold the delimiter",
                    {text.name, scanner.line(), 0});
  }
}

void refuse_invalid_utf8(const CsvText& text, std::size_t index, const std::string& column) {
  arrow::util::InitializeUTF8();
  CsvScanner scanner(text.view(), text.delimiter);
  while (scanner.next()) {
    if (index >= scanner.fields().size() || arrow::util::ValidateUTF8(scanner.fields()[index].raw)) continue;
    throw DataError("column '" + column + "' is not valid UTF-8; convert the file to UTF-8",
                    {text.name, scanner.line_of(index), 0});
  }
}

std::vector<bool> has_quoted_empty_only(const CsvText& text, const CsvShape& shape,
                                        const std::vector<std::size_t>& indices, const std::vector<std::string>& nulls,
                                        ReadMeter& meter) {
  std::vector<bool> empty(indices.size());
  std::vector<bool> excluded(indices.size());
  // Most texts with quotes have no empty ones; columns without candidates need no walk.
  if (indices.empty() || text.view().find("\"\"") == std::string_view::npos) return empty;
  meter.expect(text.view().size());
  MeteredPass pass(meter, text.view().size());
  CsvScanner scanner(text.view(), text.delimiter);
  while (scanner.next()) {
    pass.reach(scanner.end());
    if (scanner.end() <= shape.data_begin) continue;
    for (std::size_t n = 0; n < indices.size(); ++n) {
      if (indices[n] >= scanner.fields().size()) continue;
      const CsvField& field = scanner.fields()[indices[n]];
      if (!field.quoted) continue;
      const std::string value = field.text();
      if (value.empty()) {
        empty[n] = true;
      } else if (std::find(nulls.begin(), nulls.end(), value) != nulls.end()) {
        excluded[n] = true;
      }
    }
  }
  pass.finish();
  for (std::size_t n = 0; n < indices.size(); ++n) empty[n] = empty[n] && !excluded[n];
  return empty;
}

NumberSpelling spelling_of_numbers(const CsvText& text, const CsvShape& shape, std::size_t index,
                                   const std::string& column, const std::vector<std::string>& nulls, ReadMeter& meter) {
  NumberSpelling spelling;
  meter.expect(text.view().size());
  MeteredPass pass(meter, text.view().size());
  CsvScanner scanner(text.view(), text.delimiter);
  while (scanner.next()) {
    pass.reach(scanner.end());
    if (scanner.end() <= shape.data_begin || index >= scanner.fields().size()) continue;
    const CsvField& field = scanner.fields()[index];
    const std::string unquoted = field.quoted ? field.text() : std::string();
    if (!field.quoted && std::find(nulls.begin(), nulls.end(), field.raw) != nulls.end()) continue;
    if (field.quoted && unquoted.empty()) continue;
    const std::string_view number = trim(field.quoted ? std::string_view(unquoted) : field.raw);
    if (!says_infinity(number) && overflows_float64(std::string(number))) {
      throw DataError("column '" + column + "': " + shorten(number) + " is beyond float64 (1.8e308)",
                      {text.name, scanner.line_of(index), 0});
    }
    spelling.integers_only = spelling.integers_only && is_integer(number);
    spelling.fit_uint64 = spelling.fit_uint64 && fits<std::uint64_t>(number);
    if (!is_integer(number)) continue;
    if (spelling.beyond_int64.empty() && !fits<std::int64_t>(number)) {
      spelling.beyond_int64 = shorten(number);
      spelling.line = scanner.line_of(index);
    }
    if (spelling.inexact.empty() && !float64_holds(number)) {
      spelling.inexact = shorten(number);
      spelling.inexact_line = scanner.line_of(index);
    }
  }
  pass.finish();
  return spelling;
}

}  // namespace skyrank::datasets
