#pragma once

#include <vector>

#include "datasets/columnar/columnar.hpp"

namespace parquet {
class ParquetFileReader;
}

namespace skyrank::datasets {

/// Refuses timestamps of 96 bits (INT96, which Spark and Impala wrote) that 64 bits of nanoseconds cannot hold. Arrow
/// would let them wrap around. `groups` and `leaves` are row groups and leaves of the schema's tree; nested leaves are
/// left out. Throws a DataError that names the column, and a ParquetException where the file is damaged.
void refuse_wide_int96(const ColumnarFile& file, parquet::ParquetFileReader& reader, const std::vector<int>& groups,
                       const std::vector<int>& leaves);

}  // namespace skyrank::datasets
