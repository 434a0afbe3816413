#pragma once

#include <memory>
#include <vector>

#include "datasets/columnar/columnar_source.hpp"

namespace skyrank::datasets {

/// The columns `options.columns` (all, if there are none) of Arrow IPC files, whose units are the files' record
/// batches. Null where parquet_source would be, and for streams. DataError for a damaged file.
std::shared_ptr<const ColumnarSource> ipc_source(std::vector<TableFile> files, const ReadOptions& options);

}  // namespace skyrank::datasets
