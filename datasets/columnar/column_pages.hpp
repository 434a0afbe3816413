#pragma once

#include <arrow/type_fwd.h>
#include <parquet/file_reader.h>
#include <parquet/types.h>

#include <cstdint>
#include <memory>

// Column chunks of Parquet files: where they lie, their pages as Arrow reads them, and pages of Snappy that the
// system's libsnappy decompresses, which takes it a quarter less time than the build that Arrow's packages come with.
namespace skyrank::datasets {

/// Returns the first byte of a column chunk.
std::int64_t begin_of(const parquet::ColumnChunkMetaData& chunk);

/// Returns the pages in `stream`, the bytes of a column chunk that is not encrypted, as compressed by `codec`.
std::unique_ptr<parquet::PageReader> open_pages(std::shared_ptr<arrow::io::InputStream> stream,
                                                const parquet::ColumnChunkMetaData& chunk,
                                                parquet::Compression::type codec,
                                                const parquet::ReaderProperties& properties,
                                                const parquet::FileMetaData& file, int leaf);

/// Returns a file of which libsnappy decompresses the pages, or `whole` itself in a build without it. `input` holds the
/// bytes of `whole`. Damaged pages are a ParquetException when they are read.
std::unique_ptr<parquet::ParquetFileReader::Contents> with_system_snappy(
    std::unique_ptr<parquet::ParquetFileReader::Contents> whole, std::shared_ptr<arrow::io::RandomAccessFile> input,
    const parquet::ReaderProperties& properties);

}  // namespace skyrank::datasets
