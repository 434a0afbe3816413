#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <skyrank/table.hpp>

#include "datasets/input/files.hpp"
#include "datasets/input/input.hpp"
#include "datasets/input/read_options.hpp"
#include "datasets/json/json_parts.hpp"

// JSON lines: a table of objects, whose keys are the columns.
namespace skyrank::datasets {

/// A column of JSON lines, with the type that all its values have.
struct JsonColumn {
  std::string name;
  std::shared_ptr<arrow::DataType> type;  ///< utf8 for all texts; null for nested values
  std::string nested;                     ///< kind of these values: "JSON object" or "JSON array"
  std::string problem;                    ///< why the column cannot be read; empty where it can
  TextPlace place = {};                   ///< place of the problem
  bool has_members = false;               ///< true for objects whose members are columns

  /// Says that the values are nested and, unless they are `flattened` already, how the members of objects are read.
  UnsupportedColumn as_unsupported(bool flattened) const;
};

/// Values of columns by name, in chunks of one type.
using JsonValuesByName = std::map<std::string, std::vector<std::shared_ptr<arrow::Array>>>;

/// The columns and rows of a text.
struct JsonLines {
  std::vector<JsonColumn> columns;  ///< in the order in which their keys first come
  std::int64_t rows = 0;
  JsonValuesByName values;  ///< values of some columns, as `json_table` parses them

  const JsonColumn* find(const std::string& name) const;
};

/// Looks at all lines. DataError with the place where one is no object, or where the text is not UTF-8.
/// Takes the values of the columns that `reading` wants along, if the first records tell their types.
JsonLines scan_json_lines(const JsonText& text, const ReadOptions* reading = nullptr);

/// The column of a key; with a problem where its values have no common type.
JsonColumn column_of(const JsonKey& key);

/// Returns how the values of the columns that `reading` wants are taken, by what the first records say of them.
std::vector<JsonTarget> targets_of(const std::vector<JsonKey>& first, const ReadOptions& reading);

/// How JSON lines are read.
struct JsonReading {
  std::set<std::string> texts = {};              ///< columns that stay text, even if all their values are dates
  std::map<std::string, StatedType> types = {};  ///< columns of stated types
  bool is_part = false;                          ///< true for a part of a text: timestamps keep their zone
  JsonValuesByName values = {};                  ///< columns that are parsed already
};

/// Reads the columns `names` in normal types. A key that an object lacks is NULL. Texts become dates or timestamps
/// where all of them are, by the rules of CSV. DataError naming the file for what is no JSON, an unknown column, and a
/// column whose values have different types, or not the one that is stated.
std::shared_ptr<arrow::Table> json_table(const JsonText& text, const JsonLines& lines,
                                         const std::vector<std::string>& names, JsonReading reading);

}  // namespace skyrank::datasets
