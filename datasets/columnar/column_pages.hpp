#pragma once

#include <arrow/type_fwd.h>
#include <parquet/bloom_filter_reader.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/page_index.h>
#include <parquet/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "datasets/columnar/footer/column_chunk.hpp"
#include "datasets/input/columnar_file.hpp"

// Pages of column chunks of Parquet files as Arrow reads them, checked against the checksums that they may have, and
// pages of Snappy that are decompressed here, which takes about half the time of the build that Arrow's packages come
// with.
namespace skyrank::datasets {

/// A file with other readers of its row groups; all else is that of the file itself.
class FileOfRowGroups final : public parquet::ParquetFileReader::Contents {
 public:
  using MakeRowGroup = std::function<std::unique_ptr<parquet::RowGroupReader::Contents>(int row_group)>;

  FileOfRowGroups(std::unique_ptr<Contents> whole, MakeRowGroup make)
      : whole_(std::move(whole)), make_(std::move(make)) {}

  void Close() override { whole_->Close(); }
  std::shared_ptr<parquet::FileMetaData> metadata() const override { return whole_->metadata(); }
  std::shared_ptr<parquet::PageIndexReader> GetPageIndexReader() override { return whole_->GetPageIndexReader(); }
  parquet::BloomFilterReader& GetBloomFilterReader() override { return whole_->GetBloomFilterReader(); }
  std::shared_ptr<parquet::RowGroupReader> GetRowGroup(int i) override {
    return std::make_shared<parquet::RowGroupReader>(make_(i));
  }

 private:
  std::unique_ptr<Contents> whole_;
  MakeRowGroup make_;
};

/// Returns the pages in `stream`, the bytes of a column chunk that is not encrypted, as compressed by `codec`. A page
/// without the checksum that its header names is a ParquetException when it is read.
std::unique_ptr<parquet::PageReader> open_pages(std::shared_ptr<arrow::io::InputStream> stream,
                                                const parquet::ColumnChunkMetaData& chunk,
                                                parquet::Compression::type codec,
                                                const parquet::ReaderProperties& properties, const ChunkPlace& place);

/// Returns true for a data page that is to be left out.
using PageFilter = std::function<bool(const parquet::DataPageStats& page)>;

/// Returns the same pages decompressed, without those that `filter` leaves out; of Snappy by snappy_decompress(). What
/// goes wrong with a page is a ParquetException that names the column and its row group. Pages of a flat column that
/// are not filtered have to have `rows` rows together, those of the row group unless told otherwise.
std::unique_ptr<parquet::PageReader> open_decompressed_pages(std::shared_ptr<arrow::io::InputStream> stream,
                                                             const parquet::ColumnChunkMetaData& chunk,
                                                             const parquet::ReaderProperties& properties,
                                                             const ChunkPlace& place, PageFilter filter = {},
                                                             std::optional<std::int64_t> rows = {});

/// Opens a file, whose metadata was read before, so that its pages are read by open_decompressed_pages().
std::unique_ptr<parquet::ParquetFileReader::Contents> with_checked_pages(
    const ColumnarFile& file, std::shared_ptr<parquet::FileMetaData> metadata,
    const parquet::ReaderProperties& properties);

}  // namespace skyrank::datasets
