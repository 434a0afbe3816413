#pragma once

#include <cstdint>
#include <string>

// Finds the bytes of column chunks in a Parquet file, and names them for messages.
namespace parquet {
class ColumnChunkMetaData;
class FileMetaData;
}  // namespace parquet

// Column chunks of Parquet files: where they lie, by what the footer says.
namespace skyrank::datasets {

/// Bytes of a file, from `begin` to before `end`.
struct ByteRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Returns where a column chunk begins: with its dictionary or its first data page.
std::int64_t first_byte_of(const parquet::ColumnChunkMetaData& chunk);

/// Returns the bytes of a column chunk in a file of `file_bytes`, and up to 100 more. Throws a ParquetException if they
/// are not in the file.
ByteRange range_of(const parquet::ColumnChunkMetaData& chunk, std::int64_t file_bytes);

/// A column chunk of a file: a leaf of the schema's tree in a row group.
struct ChunkPlace {
  const parquet::FileMetaData& file;
  int row_group = 0;
  int leaf = 0;
};

/// Returns how messages call a column chunk.
std::string name_of(const ChunkPlace& place);

}  // namespace skyrank::datasets
