#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "datasets/input/files.hpp"
#include "datasets/input/input.hpp"
#include "datasets/json/json_scan.hpp"

// JSON lines: a table of objects, whose keys are the columns.
namespace skyrank::datasets {

/// A text in memory.
struct JsonText {
  std::shared_ptr<arrow::Buffer> bytes;
  std::string name;                                                ///< name of the file, for messages
  std::stop_token stop = {};                                       ///< CancelledError soon after a stop is requested
  std::int64_t first_line = 1;                                     ///< number of the first line in the file
  std::size_t max_keys = std::numeric_limits<std::size_t>::max();  ///< ResourceError where there are more
};

/// A column of JSON lines, with the type that all its values have.
struct JsonColumn {
  std::string name;
  std::shared_ptr<arrow::DataType> type;  ///< utf8 for all texts; null for nested values
  bool is_spelled = false;                ///< NaN or an infinity is among its numbers, which JSON has no numbers for
  std::string nested;                     ///< kind of these values: "JSON object" or "JSON array"
  std::string problem;                    ///< why the column cannot be read; empty where it can
  TextPlace place = {};                   ///< place of the problem
};

/// The columns and rows of a text.
struct JsonLines {
  std::vector<JsonColumn> columns;  ///< in the order in which their keys first come
  std::int64_t rows = 0;
  std::size_t longest = 0;      ///< bytes of the longest object
  bool spans_lines = false;     ///< an object has line breaks inside
  bool has_bare_words = false;  ///< NaN or an infinity stands without quotes

  const JsonColumn* find(const std::string& name) const;
};

/// Looks at all lines. DataError with the place where one is no object, or where the text is not UTF-8.
JsonLines scan_json_lines(const JsonText& text);

/// The column of a key; with a problem where its values have no common type.
JsonColumn column_of(const JsonKey& key);

/// The whole records at the start of a piece of a text.
struct JsonBlock {
  std::size_t bytes = 0;  ///< 0: there is no whole record
  JsonLines lines;
  std::vector<JsonKey> keys;
};

/// Looks at a piece of a text, which is its last one if `at_end` says so. DataError as scan_json_lines.
JsonBlock scan_json_block(const JsonText& piece, bool at_end);

/// How JSON lines are read.
struct JsonReading {
  bool threads = true;                           ///< use Arrow's thread pool
  std::set<std::string> texts = {};              ///< columns that stay text, even if all their values are dates
  std::map<std::string, StatedType> types = {};  ///< columns of stated types
  bool is_part = false;                          ///< true for a part of a text: timestamps keep their zone
  BytesRead on_read = {};                        ///< told of the bytes that are parsed
};

/// Reads the columns `names` in normal types. A key that an object lacks is NULL. Texts become dates or timestamps
/// where all of them are, by the rules of CSV. DataError naming the file for what is no JSON, an unknown column, and a
/// column whose values have different types, or not the one that is stated.
std::shared_ptr<arrow::Table> json_table(const JsonText& text, const JsonLines& lines,
                                         const std::vector<std::string>& names, const JsonReading& reading);

}  // namespace skyrank::datasets
