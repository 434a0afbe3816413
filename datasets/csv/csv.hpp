#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "datasets/csv/csv_scan.hpp"
#include "datasets/input/input.hpp"
#include "datasets/input/read_options.hpp"

// Delimited text as a table, read by Arrow's parser: types are inferred or given, and errors name file and line. The
// quick parser of plain_csv.hpp reads what is usual; this one reads all else, and says what is wrong.
namespace skyrank::datasets {

/// Delimited text in memory.
struct CsvText {
  std::shared_ptr<arrow::Buffer> bytes;
  std::string name;  ///< name of the file, for messages
  char delimiter = ',';
  std::int64_t first_line = 1;      ///< number of the first line in the file
  char decimal = '.';               ///< decimal sign of numbers: '.' or ','
  std::int64_t skipped_lines = 0;   ///< lines at the start that are no records
  std::optional<bool> header = {};  ///< header that was recognised; nothing: the options say

  std::string_view view() const;
  /// Returns true if the first record holds the names.
  bool has_header(const ReadOptions& options) const { return header.value_or(options.header.value_or(true)); }
  /// Returns a scanner of its records, the header among them.
  CsvScanner scanner() const;
};

/// Types that are given rather than inferred, by column.
using GivenTypes = std::unordered_map<std::string, std::shared_ptr<arrow::DataType>>;

/// Returns the spellings of NULL, the empty field among them.
std::vector<std::string> null_spellings(const ReadOptions& options);

/// Returns the places of columns among names; one behind all names for a column that is not there.
std::vector<std::size_t> places_of(const std::vector<std::string>& columns, const std::vector<std::string>& names);

/// Names of the columns: of the header, or c0, c1, ...; DataError for an empty file, a name that comes twice, or names
/// that are not UTF-8.
std::vector<std::string> csv_names(const CsvText& text, const ReadOptions& options);

/// Returns the columns of `options.columns` in that order, or all, in normal types. A column without any value has
/// Arrow's null type. Types are inferred from all values of a column unless they are `given`. `meter` expects one pass
/// over the text, and is informed of each further one.
std::shared_ptr<arrow::Table> csv_table(const CsvText& text, const ReadOptions& options, const GivenTypes& given,
                                        ReadMeter& meter);

/// The records of a file.
struct CsvHeader {
  std::vector<std::string> names;
  std::size_t fields = 0;       ///< fields of each record
  std::size_t begin = 0;        ///< offset of the line break before the first record, or of a record that has none
  std::int64_t first_line = 1;  ///< number of the line that holds this offset
};

/// Finds the header in the first bytes of a file. Nothing where these do not suffice, or where all records decide
/// whether there is a last column (lines that end in a delimiter).
std::optional<CsvHeader> csv_header(const CsvText& prefix, const ReadOptions& options);

/// Thrown where other parts of a text decide about a part of it. It is no error: the text must be read whole.
struct NeedsWholeText : std::exception {};

/// Reads columns of some consecutive records of a file, which begin as CsvHeader says: types are inferred from these
/// records alone, but for `given` ones. Timestamps keep their zone. Throws NeedsWholeText, and DataError as csv_table.
std::shared_ptr<arrow::Table> csv_block(const CsvText& records, const CsvHeader& header,
                                        const std::vector<std::string>& columns, const ReadOptions& options,
                                        const GivenTypes& given);

}  // namespace skyrank::datasets
