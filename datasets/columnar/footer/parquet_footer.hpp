#pragma once

#include <memory>

#include "datasets/input/columnar_file.hpp"

namespace parquet {
class FileMetaData;
}

// The footer of a Parquet file: its schema, and where the chunks of each row group lie. The library builds trees and
// allocates by what it says, so all of its sizes and counts are held against each other and the size of the file first.
namespace skyrank::datasets {

/// Reads the footer and checks it: the levels of the schema; in each row group the number of its columns, and in each
/// of these the number of values and the place in the file; the number of rows in all. Throws a DataError that names
/// the file, the row group and the column.
std::shared_ptr<parquet::FileMetaData> read_footer(const ColumnarFile& file);

}  // namespace skyrank::datasets
