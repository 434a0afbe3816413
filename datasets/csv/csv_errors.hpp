#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/csv/csv.hpp"

// The parser says that something is wrong; these walk the text again to say on which line. Slow paths, all of them.
namespace skyrank::datasets {

/// The shape of a text's records: where they start, and how many fields each has.
struct CsvShape {
  std::size_t data_begin = 0;  ///< offset of the first record after the header
  std::size_t fields = 0;      ///< fields in each record
};

/// DataError at the first record that has another number of fields than `shape.fields`, or whose last quote is never
/// closed. Returns where there is none.
void refuse_malformed_records(const CsvText& text, const CsvShape& shape);

/// DataError at the first field of column `index` that is not UTF-8. Returns where there is none.
void refuse_invalid_utf8(const CsvText& text, std::size_t index, const std::string& column);

/// Tells for each of the columns `indices` if some of its fields are quoted and empty, and none is a quoted spelling of
/// NULL otherwise. A walk over the text adds to what `meter` expects.
std::vector<bool> has_quoted_empty_only(const CsvText& text, const CsvShape& shape,
                                        const std::vector<std::size_t>& indices, const std::vector<std::string>& nulls,
                                        ReadMeter& meter);

/// How the numbers of a column that was read as float64 are written.
struct NumberSpelling {
  bool integers_only = true;
  bool fit_uint64 = true;    ///< all integers do, and are spelled without a sign
  std::string beyond_int64;  ///< the first integer that int64 does not hold as it is spelled
  std::int64_t line = 0;     ///< its line
  std::string inexact;       ///< the first integer that float64 does not hold exactly
  std::int64_t inexact_line = 0;
};

/// Looks at all fields of a column that was read as float64, but those before `data_begin` and NULL ones. DataError at
/// a number beyond float64, such as 1e400. The walk over the text adds to what `meter` expects.
NumberSpelling spelling_of_numbers(const CsvText& text, const CsvShape& shape, std::size_t index,
                                   const std::string& column, const std::vector<std::string>& nulls, ReadMeter& meter);

}  // namespace skyrank::datasets
