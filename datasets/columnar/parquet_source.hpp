#pragma once

#include <memory>
#include <string>
#include <vector>

#include <skyrank/source.hpp>

#include "datasets/input/data_file.hpp"
#include "datasets/reader.hpp"

namespace skyrank::datasets {

/// A Parquet file of a table.
struct ParquetFile {
  std::string name;
  std::shared_ptr<DataFile> data;
};

/// The columns `options.columns` (all, if there are none) of Parquet files, whose units are the files' row groups. Null
/// where the files' types differ, where which columns there are depends on their values (columns of bytes), or where
/// `read` refuses the columns, which it then says. DataError for a damaged file.
std::shared_ptr<const Source> parquet_source(std::vector<ParquetFile> files, const ReadOptions& options);

}  // namespace skyrank::datasets
