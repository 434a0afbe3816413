#pragma once

#include <parquet/statistics.h>

#include <optional>

namespace parquet {
class FileMetaData;
}

namespace skyrank::datasets {

/// Returns the statistics that a file tells of a column chunk, nothing where it tells none. Left out is what cannot be:
/// bounds that are no values of the column's type or have no defined order, bounds of a writer that is known for false
/// ones, and numbers of NULLs that are negative, above the number of rows, or leave no values for the bounds. Whether
/// the bounds are in order is for whoever knows their type. Throws ParquetException where the file is damaged.
std::optional<parquet::EncodedStatistics> statistics_of(const parquet::FileMetaData& file, int row_group, int leaf);

}  // namespace skyrank::datasets
