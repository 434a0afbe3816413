#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Records and fields of delimited text as they stand in it: quotes, line breaks, and lines for messages.
namespace skyrank::datasets {

/// Marks the start of some UTF-8 files.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// One field as it stands in the file, with its quotes.
struct CsvField {
  std::string_view raw;
  bool quoted = false;

  /// The value: quotes removed, doubled quotes made one.
  std::string text() const;
};

/// Returns the place behind the closing quote of a field whose first character after the opening quote is at `begin`;
/// npos where there is none.
std::size_t end_of_quoted(std::string_view text, std::size_t begin);

/// Returns the number of line breaks in a text; CR LF is one.
std::int64_t count_line_breaks(std::string_view text);

/// Properties of the quoted fields of a text.
struct CsvQuotes {
  bool any = false;           ///< there are quotes, perhaps inside fields that do not begin with one
  bool empty = false;         ///< a quoted field is empty
  bool line_breaks = false;   ///< a quoted field holds a line break
  bool unterminated = false;  ///< the text ends inside a quoted field
};

/// Looks at the quoted fields of a text that begins with a field. Goes from quote to quote, which is several times as
/// fast as a walk over all fields.
CsvQuotes look_at_quotes(std::string_view text, char delimiter);

/// Iterates over the records of delimited text. It splits exactly as Arrow's parser does: a quote counts only at the
/// start of a field, `""` inside a quoted field is a quote, a record ends at LF, CR LF or CR outside quotes, and empty
/// lines are no records. It reads the header and finds the line of an error, as the parser does not count lines.
class CsvScanner {
 public:
  /// Starts at the beginning of `text`, whose first line has the number `first_line`. Skips a UTF-8 byte order mark in
  /// line 1.
  CsvScanner(std::string_view text, char delimiter, std::int64_t first_line = 1);

  /// Moves behind some lines that are no records; before the first record.
  void skip_lines(std::int64_t lines);

  /// Moves to the next record; false at the end.
  bool next();

  const std::vector<CsvField>& fields() const { return fields_; }
  /// Line on which the record begins, from 1.
  std::int64_t line() const { return line_; }
  /// Line on which a field begins: not the record's where quoted fields before it hold line breaks.
  std::int64_t line_of(std::size_t field) const;
  /// Offset of the first byte after the record and its line break.
  std::size_t end() const { return position_; }
  /// The file ended inside the quotes of this record's last field.
  bool unterminated() const { return unterminated_; }

 private:
  bool at_end() const { return position_ >= text_.size(); }
  bool ends_field(char c) const { return c == delimiter_ || c == '\n' || c == '\r'; }
  bool skip_line_break();
  void scan_field();

  std::string_view text_;
  char delimiter_;
  std::size_t position_ = 0;
  std::int64_t next_line_ = 1;
  std::int64_t line_ = 0;
  bool spans_lines_ = false;  // a quoted field of the record holds line breaks
  bool unterminated_ = false;
  std::vector<CsvField> fields_;
};

}  // namespace skyrank::datasets
