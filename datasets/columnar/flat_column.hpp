#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace parquet {
class ColumnDescriptor;
class RowGroupReader;
}  // namespace parquet

// Arrow's reader of Parquet makes the levels, the validity and the dictionary of a whole column chunk one after the
// other, each in memory of its own. Here a chunk is decoded a few thousand values at a time, in memory that stays in
// the cache, and from there once into the column: numbers as they are, strings as the indices of the file's dictionary.
namespace skyrank::datasets {

/// Returns true if values of the physical type of Parquet are those of the type of Arrow, bit by bit.
bool is_stored_as(const arrow::DataType& type, const parquet::ColumnDescriptor& column);

/// Reads a column all of whose values are stored as those of `type` (is_stored_as), without NULLs within NULLs. `group`
/// may leave pages out. Throws ParquetException where the file is damaged.
std::shared_ptr<arrow::Array> read_flat_numbers(parquet::RowGroupReader& group, int leaf,
                                                const std::shared_ptr<arrow::DataType>& type, arrow::MemoryPool* pool);

/// Reads a column of a row group: integers and floating-point numbers of 32 and 64 bits, timestamps, dates, and strings
/// all of which are indices into the chunk's dictionary. `type` is that of the column as Arrow's schema has it. Returns
/// null where the column is of another kind. Throws ParquetException where the file is damaged.
std::shared_ptr<arrow::Array> read_flat_column(parquet::RowGroupReader& group, int leaf,
                                               const std::shared_ptr<arrow::DataType>& type, arrow::MemoryPool* pool);

/// Reads a column of a row group as the chunk's dictionary and indices of 32 bits into it, of which entries some may be
/// equal. Returns null where not all values are such indices, and for columns that read_flat_column does not read.
/// Throws ParquetException where the file is damaged.
std::shared_ptr<arrow::Array> read_flat_codes(parquet::RowGroupReader& group, int leaf,
                                              const std::shared_ptr<arrow::DataType>& type, arrow::MemoryPool* pool);

/// Returns the texts of a column chunk's dictionary in their order; nothing where not all values are indices into one.
std::optional<std::vector<std::string>> dictionary_texts(parquet::RowGroupReader& group, int leaf);

}  // namespace skyrank::datasets
