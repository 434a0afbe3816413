#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "datasets/columnar/columnar_source.hpp"
#include "datasets/columnar/footer/column_chunk.hpp"

// Reads the bounds of the pages of Parquet column chunks, and some of these pages alone.
namespace parquet {
class FileMetaData;
class Page;
class RowGroupReader;
}  // namespace parquet

// Some rows of a column of a Parquet file, read by their pages, and bounds of all pages.
namespace skyrank::datasets {

/// Bounds of a column chunk's pages.
struct PageBounds {
  std::vector<std::int64_t> rows;     ///< number of rows by page
  std::shared_ptr<arrow::Array> min;  ///< NULL where it is not known
  std::shared_ptr<arrow::Array> max;
  std::vector<std::optional<std::int64_t>> nulls;
};

/// Reads the bounds of a column chunk's pages, whose values are of `type`, from the file's index of pages, or else from
/// their headers. Nothing where there are none, or the values are not stored as numbers of 32 or 64 bits, or the file
/// is damaged, which matters only where the values are read.
std::optional<PageBounds> read_page_bounds(const ColumnarFile& file,
                                           const std::shared_ptr<parquet::FileMetaData>& metadata, int row_group,
                                           int leaf, const std::shared_ptr<arrow::DataType>& type);

/// Reads the pages of the chunks of some columns that hold one of `rows`, which are ascending and counted within the
/// row group. Of all other pages only the headers are read. `fields` are top-level fields that are not nested.
/// DataError where the file is damaged.
std::vector<UnitValues> read_pages(const ColumnarFile& file, const std::shared_ptr<parquet::FileMetaData>& metadata,
                                   int row_group, std::span<const int> fields, std::span<const std::int64_t> rows);

/// Consecutive data pages of a column chunk.
struct PageRange {
  std::shared_ptr<parquet::Page> dictionary;  ///< the chunk's, decompressed; null where there is none
  ByteRange pages;
  std::int64_t rows = 0;
};

/// Divides the pages of a flat column's chunk into ranges of at least `rows` rows but for the last, by the headers of
/// all pages. Nothing where pages are not divided: the file is elsewhere, the chunk is encrypted or damaged, which
/// matters only where its values are read.
std::vector<PageRange> divide_pages(const ColumnarFile& file, const std::shared_ptr<parquet::FileMetaData>& metadata,
                                    int row_group, int leaf, std::int64_t rows);

/// Opens a row group of which the chunk of a column has the pages of a range alone.
std::shared_ptr<parquet::RowGroupReader> open_page_range(const ColumnarFile& file,
                                                         const std::shared_ptr<parquet::FileMetaData>& metadata,
                                                         int row_group, const PageRange& range);

}  // namespace skyrank::datasets
