#pragma once

#include <arrow/type_fwd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// Decodes columns of Parquet that are not nested, where that is faster than the readers of Arrow.
namespace parquet {
class ColumnChunkMetaData;
class ColumnDescriptor;
class RowGroupReader;
}  // namespace parquet

// Arrow's reader of Parquet makes the levels, the validity and the dictionary of a whole column chunk one after the
// other, each in memory of its own. Here a chunk is decoded a few thousand values at a time, in memory that stays in
// the cache, and from there once into the column: numbers as they are, strings as indices into a dictionary.
namespace skyrank::datasets {

/// Returns true for a column that FlatNumbers reads: integers and floating-point numbers of 32 and 64 bits, timestamps
/// and dates, without lists and structs. `type` is that of the column as Arrow's schema has it.
bool is_flat_number(const arrow::DataType& type, const parquet::ColumnDescriptor& column);

/// Returns true for a column of strings without lists and structs, of which each may be the index of an entry.
bool is_flat_text(const arrow::DataType& type, const parquet::ColumnDescriptor& column);

/// Reads a column for which is_flat_number() holds from a row group that may leave pages out. Throws ParquetException
/// where the file is damaged.
std::shared_ptr<arrow::Array> read_kept_numbers(parquet::RowGroupReader& group, int leaf,
                                                const std::shared_ptr<arrow::DataType>& type, arrow::MemoryPool* pool);

/// A column of numbers of some row groups in one piece, which threads decode side by side, each a row group or some
/// pages of one.
class FlatNumbers {
 public:
  /// Takes memory for a column for which is_flat_number() holds. `rows` are those of the parts, none negative.
  FlatNumbers(std::shared_ptr<arrow::DataType> type, const std::vector<std::int64_t>& rows, arrow::MemoryPool* pool);

  /// Reads a part of those whose rows were told. Throws ParquetException where the file is damaged.
  void read(std::size_t part, parquet::RowGroupReader& group, int leaf);

  /// Returns the column, once all parts were read.
  std::shared_ptr<arrow::Array> finish();

 private:
  struct Part {
    std::int64_t begin = 0;
    std::int64_t rows = 0;
    std::shared_ptr<arrow::Buffer> validity;  // null: no row is NULL
    std::int64_t nulls = 0;
  };

  std::shared_ptr<arrow::Buffer> joined_validity() const;

  std::shared_ptr<arrow::DataType> type_;
  arrow::MemoryPool* pool_;
  std::int64_t rows_ = 0;  // of all parts
  std::vector<Part> parts_;
  std::shared_ptr<arrow::Buffer> values_;
};

/// Returns true for a chunk with a dictionary of which the footer does not tell if all pages have indices into it, as
/// DuckDB and Polars leave that out.
bool may_have_indices(const parquet::ColumnChunkMetaData& chunk);

/// Reads a column for which is_flat_text() holds of a row group, or of some of its pages with `rows` rows, all of which
/// are indices into the chunk's dictionary. Returns null where some are not. Throws ParquetException where the file is
/// damaged.
std::shared_ptr<arrow::Array> read_flat_strings(parquet::RowGroupReader& group, int leaf, std::int64_t rows,
                                                arrow::MemoryPool* pool);

/// Number of different strings that are few in a row group which is one of several, however short it is.
inline constexpr std::int64_t kFewTexts = std::int64_t{1} << 15;

/// Reads the same of strings that are stored one by one, or some of them, as a dictionary of the different ones, which
/// is made here, and indices of 32 bits into it. Returns null where more than `few` differ, and more than a quarter of
/// all.
std::shared_ptr<arrow::Array> code_flat_strings(parquet::RowGroupReader& group, int leaf, std::int64_t rows,
                                                std::int64_t few, arrow::MemoryPool* pool);

/// Reads a column of a row group as a dictionary, of which entries may be equal, and indices of 32 bits into it: the
/// chunk's, or such as code_flat_strings() makes. Returns null where there are none, and for columns that are neither
/// flat numbers nor strings. Throws ParquetException where the file is damaged.
std::shared_ptr<arrow::Array> read_flat_codes(parquet::RowGroupReader& group, int leaf,
                                              const std::shared_ptr<arrow::DataType>& type, arrow::MemoryPool* pool);

/// Returns the texts of a column chunk's dictionary in their order; nothing where not all values are indices into one.
std::optional<std::vector<std::string>> dictionary_texts(parquet::RowGroupReader& group, int leaf);

}  // namespace skyrank::datasets
