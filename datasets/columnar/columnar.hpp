#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "datasets/arrow/ipc_sizes.hpp"
#include "datasets/input/columnar_file.hpp"

// Reads Parquet and Arrow files as Arrow tables, and row groups of Parquet.
namespace parquet {
class FileMetaData;
}

// Files that store columns apart, with their types: what they hold, and some of their columns as Arrow reads them.
namespace skyrank::datasets {

/// DataError where the file is not Parquet or is damaged.
std::shared_ptr<arrow::Schema> parquet_schema(const ColumnarFile& file);

/// The top-level fields `indices` (none of them nested), in the file's order, with the number of rows also where there
/// are no indices. Other columns are not read.
std::shared_ptr<arrow::Table> parquet_table(const ColumnarFile& file, const std::vector<int>& indices, bool threads);

/// Metadata and types of a Parquet file.
struct ParquetFileInfo {
  std::shared_ptr<parquet::FileMetaData> metadata;
  std::shared_ptr<arrow::Schema> schema;
};

/// DataError as above.
ParquetFileInfo parquet_info(const ColumnarFile& file);

/// Row groups and fields of a Parquet file that are to be read, both ascending.
struct ParquetSelection {
  std::vector<int> groups;
  std::vector<int> fields;
  std::vector<int> dictionary_leaves;  ///< columns of bytes that come as the file's dictionaries and indices into them
  /// All that is read is of one file: indices may have 8 to 32 bits, and strings of a local one that are stored one by
  /// one come as indices, too, unless few are equal.
  bool is_one_file = false;
  std::int64_t min_rows = std::int64_t{1} << 19;  ///< a thread decodes so many at once, or a whole row group
};

/// Reads fields of some row groups of a file whose metadata was read before, each in the form that is decoded fastest.
std::shared_ptr<arrow::Table> parquet_row_groups(const ColumnarFile& file,
                                                 const std::shared_ptr<parquet::FileMetaData>& metadata,
                                                 const ParquetSelection& selection, bool threads);

/// Reads a field of one row group, by the calling thread, as a dictionary and indices of 32 bits into it: the row
/// group's, or of strings one that is made; null where there are none.
std::shared_ptr<arrow::Array> parquet_codes(const ColumnarFile& file,
                                            const std::shared_ptr<parquet::FileMetaData>& metadata, int group,
                                            int field);

/// Returns the texts of the dictionary of a field in one row group, in their order, an empty list where all rows are
/// NULL; nothing where not all values are indices into a dictionary.
std::optional<std::vector<std::string>> parquet_dictionary(const ColumnarFile& file,
                                                           const std::shared_ptr<parquet::FileMetaData>& metadata,
                                                           int group, int field);

/// The same for Arrow IPC, as a file or as a stream. Of a file, only the columns wanted are read. ResourceError where
/// compressed columns take more memory than reading may.
std::shared_ptr<arrow::Schema> ipc_schema(const ColumnarFile& file);
std::shared_ptr<arrow::Table> ipc_table(const ColumnarFile& file, const std::vector<int>& indices, bool threads);

/// Types and record batches of an Arrow IPC file.
struct IpcFileInfo {
  std::shared_ptr<arrow::Schema> schema;
  IpcSizes sizes;
};

/// Reads no values. Nothing for a stream, which has no list of its batches.
/// ResourceError where dictionaries, which every read needs, take more memory than reading may.
std::optional<IpcFileInfo> ipc_info(const ColumnarFile& file);

/// ResourceError where `bytes` of a file's values are more than `file.memory_bytes`.
void refuse_over_limit(const ColumnarFile& file, std::size_t bytes);

/// Returns the texts of the dictionary of a field of an IPC file that has batches, in their order.
std::optional<std::vector<std::string>> ipc_dictionary(const ColumnarFile& file, int field);

/// The fields `indices`, ascending and at least one, of some record batches of an IPC file, in their order.
std::shared_ptr<arrow::Table> ipc_batches(const ColumnarFile& file, const std::vector<int>& batches,
                                          const std::vector<int>& indices, bool threads);

}  // namespace skyrank::datasets
