#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "datasets/input/read_options.hpp"

// The form of delimited text, which its first records show: what separates fields, how numbers are spelled, and where
// the names are.
namespace skyrank::datasets {

/// How the records of a text are to be read.
struct CsvForm {
  char delimiter = ',';
  char decimal = '.';
  bool header = true;
  std::int64_t skipped_lines = 0;  ///< lines before the header, or before the first record
  std::string note;                ///< names what was recognised and is not the usual form; empty if nothing
};

/// Bytes at the start of a text that show its form.
constexpr std::int64_t kCsvFormBytes = std::int64_t{64} << 10;

/// Returns the form of a text by its first bytes, which are all of it if `is_whole`. What `options` state is taken from
/// them. `usual` is the delimiter unless another one splits all records into the same number of fields and it does not.
CsvForm recognise_csv(std::string_view start, bool is_whole, char usual, const ReadOptions& options);

/// Returns a text with empty lines in place of those that begin with `comment`, so that the others keep their numbers.
/// Lines within quotes, and the form's `skipped_lines`, stay.
std::shared_ptr<arrow::Buffer> without_comments(const arrow::Buffer& text, const std::string& comment,
                                                const CsvForm& form);

/// Returns a number with a decimal comma as one with a decimal point. Its points become commas, so that what had both
/// is no number afterwards.
std::string with_decimal_point(std::string_view number);

}  // namespace skyrank::datasets
