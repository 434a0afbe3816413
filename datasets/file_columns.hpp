#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "datasets/file/input_file.hpp"
#include "datasets/input/read_options.hpp"

// The columns of one file of a table, whatever its format.
namespace skyrank::datasets {

/// Returns the names of the columns that a file stores. Its rows will be read as well if there is a meter for them.
ColumnNames names_in(const InputFile& file, const ReadOptions& options, ReadMeter* meter);

bool has_name(const std::vector<UnsupportedColumn>& columns, const std::string& name);

/// Columns of one file.
struct FileColumns {
  std::shared_ptr<arrow::Table> table;
  std::vector<UnsupportedColumn> left_out;
};

/// Reads the columns `columns`, in that order and in normal types, but without rows where `rows` is false.
FileColumns read_file(const InputFile& file, const std::vector<std::string>& columns, const ReadOptions& options,
                      bool rows, ReadMeter& meter);

/// The same of a CSV file, some of whose types are given.
std::shared_ptr<arrow::Table> read_csv_file(const InputFile& file, const std::vector<std::string>& columns,
                                            const ReadOptions& options, const GivenTypes& given, ReadMeter& meter);

/// The same of JSON lines. The columns `texts` stay text, even if all their values are dates.
std::shared_ptr<arrow::Table> read_json_file(const InputFile& file, const std::vector<std::string>& columns,
                                             const ReadOptions& options, const std::set<std::string>& texts,
                                             ReadMeter& meter);

}  // namespace skyrank::datasets
