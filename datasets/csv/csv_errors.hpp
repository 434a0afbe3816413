#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/arrow/number_text.hpp"
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

/// Looks at all fields of the columns `indices`, which are numbers, but those before `data_begin` and NULL ones. The
/// walk over the text adds to what `meter` expects.
std::vector<NumberFacts> number_facts(const CsvText& text, const CsvShape& shape,
                                      const std::vector<std::size_t>& indices, const std::vector<std::string>& nulls,
                                      ReadMeter& meter);

/// A field of a column.
struct CsvPlace {
  std::string text;       ///< its value
  std::int64_t line = 0;  ///< line on which it begins
};

/// Finds the field of column `index` in a record, counted from 0 behind the header.
CsvPlace field_in_record(const CsvText& text, const CsvShape& shape, std::size_t index, std::int64_t record);

}  // namespace skyrank::datasets
