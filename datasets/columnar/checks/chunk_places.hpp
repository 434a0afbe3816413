#pragma once

#include <span>
#include <string>

namespace parquet {
class FileMetaData;
}

namespace skyrank::datasets {

/// Throws a DataError that names two chunks if chunks of some columns have bytes of the file in common. `leaves` are
/// those of the schema's tree, and `name` is the file's. Takes time in proportion to n log n for n chunks.
void refuse_common_bytes(const parquet::FileMetaData& file, std::span<const int> leaves, const std::string& name);

}  // namespace skyrank::datasets
