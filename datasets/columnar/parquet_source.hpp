#pragma once

#include <memory>
#include <vector>

#include "datasets/columnar/columnar_source.hpp"

namespace skyrank::datasets {

/// The columns `options.columns` (all, if there are none) of Parquet files, whose units are the files' row groups. Null
/// where the files' types differ, where which columns there are depends on their values (columns of bytes), or where
/// `read` refuses the columns, which it then says. DataError for a damaged file.
std::shared_ptr<const ColumnarSource> parquet_source(std::vector<TableFile> files, const ReadOptions& options);

}  // namespace skyrank::datasets
