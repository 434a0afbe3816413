#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "datasets/columnar/columnar_source.hpp"

namespace parquet {
class FileMetaData;
}

// Some rows of a column of a Parquet file, read by their pages.
namespace skyrank::datasets {

/// Reads the pages of a column chunk that hold one of `rows`, which are ascending and counted within the row group. Of
/// all other pages only the headers are read. `field` is a top-level field that is not nested. DataError where the file
/// is damaged.
UnitValues read_pages(const ColumnarFile& file, const std::shared_ptr<parquet::FileMetaData>& metadata, int row_group,
                      int field, std::span<const std::int64_t> rows);

}  // namespace skyrank::datasets
