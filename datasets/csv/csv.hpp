#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "datasets/input/input.hpp"
#include "datasets/reader.hpp"

namespace skyrank::datasets {

/// Delimited text in memory.
struct CsvText {
  std::shared_ptr<arrow::Buffer> bytes;
  std::string name;  ///< name of the file, for messages
  char delimiter = ',';

  std::string_view view() const;
};

/// Types that are given rather than inferred, by column.
using GivenTypes = std::unordered_map<std::string, std::shared_ptr<arrow::DataType>>;

/// Names of the columns: of the header, or c0, c1, ...; DataError for an empty file, a name that comes twice, or names
/// that are not UTF-8.
std::vector<std::string> csv_names(const CsvText& text, const ReadOptions& options);

/// The same from the first bytes of a file; nothing where these do not suffice.
std::optional<std::vector<std::string>> csv_names_from_prefix(const CsvText& prefix, const ReadOptions& options);

/// The columns of `options.columns` in that order, or all, in normal types; those without any value have Arrow's null
/// type. Types are inferred from all values of a column but for `given` ones. `meter` expects the text once; it is told
/// of every further walk over it.
std::shared_ptr<arrow::Table> csv_table(const CsvText& text, const ReadOptions& options, const GivenTypes& given,
                                        ReadMeter& meter);

}  // namespace skyrank::datasets
