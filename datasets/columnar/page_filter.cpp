#include "datasets/columnar/page_filter.hpp"

#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/util/config.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <algorithm>
#include <skyrank/error.hpp>
#include <string_view>
#include <utility>

#include "datasets/columnar/column_pages.hpp"
#include "datasets/columnar/int96.hpp"

namespace skyrank::datasets {
namespace {

/// The bytes of a column chunk. Pages that are not wanted are passed over without being read, which Arrow's streams
/// cannot do.
class ChunkStream final : public arrow::io::InputStream {
 public:
  ChunkStream(std::shared_ptr<arrow::io::RandomAccessFile> file, std::int64_t begin, std::int64_t end)
      : file_(std::move(file)), position_(begin), end_(end) {}

  /// The page whose header was read last is not wanted: its bytes are the next that are taken.
  void pass_over_page() { passing_over_ = true; }

  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }
  arrow::Result<std::int64_t> Tell() const override { return position_; }

  arrow::Result<std::string_view> Peek(std::int64_t bytes) override {
    passing_over_ = false;
    const std::int64_t size = std::min(bytes, end_ - position_);
    ARROW_ASSIGN_OR_RAISE(peeked_, file_->ReadAt(position_, size));
    return std::string_view(reinterpret_cast<const char*>(peeked_->data()), static_cast<std::size_t>(peeked_->size()));
  }

  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override {
    const std::int64_t size = std::min(bytes, end_ - position_);
    const std::int64_t begin = std::exchange(position_, position_ + size);
    if (std::exchange(passing_over_, false)) return std::make_shared<arrow::Buffer>(nullptr, 0);
    // Arrow advances by reading: the header that was peeked at.
    if (peeked_ != nullptr && size <= peeked_->size()) return arrow::SliceBuffer(std::exchange(peeked_, {}), 0, size);
    peeked_.reset();
    return file_->ReadAt(begin, size);
  }

  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override {
    const std::int64_t size = std::min(bytes, end_ - position_);
    const std::int64_t begin = std::exchange(position_, position_ + size);
    peeked_.reset();
    if (std::exchange(passing_over_, false)) return size;
    return file_->ReadAt(begin, size, out);
  }

 private:
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::int64_t position_;
  std::int64_t end_;
  std::shared_ptr<arrow::Buffer> peeked_;  // bytes from `position_` on
  bool passing_over_ = false;
};

/// Chooses the pages that hold some rows, in the order of the pages.
class WantedRows {
 public:
  explicit WantedRows(std::span<const std::int64_t> rows) : rows_(rows) {}

  /// Looks at the next page of the column, of `count` rows. Returns true if it holds a row, whose place is then known.
  bool next_page(std::int64_t count) {
    const std::int64_t end = begin_ + count;
    const std::size_t found_before = places_.size();
    while (places_.size() < rows_.size() && rows_[places_.size()] < end) {
      places_.push_back(kept_ + rows_[places_.size()] - begin_);
    }
    begin_ = end;
    const bool wanted = places_.size() > found_before;
    if (wanted) kept_ += count;
    return wanted;
  }

  /// Number of values of the pages that hold a row.
  std::int64_t kept() const { return kept_; }
  const std::vector<std::int64_t>& places() const { return places_; }

 private:
  std::span<const std::int64_t> rows_;
  std::int64_t begin_ = 0;  // first row of the next page
  std::int64_t kept_ = 0;
  std::vector<std::int64_t> places_;
};

/// A row group of which only wanted pages are read.
class FilteredRowGroup final : public parquet::RowGroupReader::Contents {
 public:
  FilteredRowGroup(std::shared_ptr<arrow::io::RandomAccessFile> input, std::shared_ptr<parquet::FileMetaData> file,
                   const parquet::ReaderProperties& properties, int row_group, WantedRows& rows)
      : input_(std::move(input)),
        file_(std::move(file)),
        properties_(properties),
        metadata_(file_->RowGroup(row_group)),
        rows_(rows) {}

  const parquet::RowGroupMetaData* metadata() const override { return metadata_.get(); }
  const parquet::ReaderProperties* properties() const override { return &properties_; }

  std::unique_ptr<parquet::PageReader> GetColumnPageReader(int leaf) override {
    const auto chunk = metadata_->ColumnChunk(leaf);
    if (chunk->crypto_metadata() != nullptr) throw parquet::ParquetException("the column is encrypted");
    PARQUET_ASSIGN_OR_THROW(const std::int64_t file_bytes, input_->GetSize());
    const ByteRange bytes = range_of(*chunk, file_bytes);
    auto stream = std::make_shared<ChunkStream>(input_, bytes.begin, bytes.end);
    auto pages = open_pages(stream, *chunk, chunk->compression(), properties_, *file_, leaf);
    pages->set_data_page_filter([stream, &rows = rows_](const parquet::DataPageStats& page) {
      if (rows.next_page(page.num_values)) return false;
      stream->pass_over_page();
      return true;
    });
    return pages;
  }

 private:
  std::shared_ptr<arrow::io::RandomAccessFile> input_;
  std::shared_ptr<parquet::FileMetaData> file_;
  parquet::ReaderProperties properties_;
  std::unique_ptr<parquet::RowGroupMetaData> metadata_;
  WantedRows& rows_;
};

arrow::Result<std::shared_ptr<arrow::ChunkedArray>> read(const ColumnarFile& file,
                                                         const std::shared_ptr<parquet::FileMetaData>& metadata,
                                                         int row_group, int field, WantedRows& rows) {
  arrow::MemoryPool* pool = decoding_pool(file.size);
  const parquet::ReaderProperties properties(pool);
  auto whole = parquet::ParquetFileReader::Contents::Open(file.input, properties, metadata);
  auto filtered = std::make_unique<parquet::ParquetFileReader>();
  filtered->Open(std::make_unique<FileOfRowGroups>(std::move(whole), [&, properties](int i) {
    return std::make_unique<FilteredRowGroup>(file.input, metadata, properties, i, rows);
  }));
#if ARROW_VERSION_MAJOR >= 23
  ARROW_ASSIGN_OR_RAISE(const auto reader, parquet::arrow::FileReader::Make(pool, std::move(filtered)));
#else
  std::unique_ptr<parquet::arrow::FileReader> reader;
  ARROW_RETURN_NOT_OK(parquet::arrow::FileReader::Make(pool, std::move(filtered), &reader));
#endif
  // All rows are looked at, as the pages that are not wanted are part of the answer elsewhere.
  const int leaf = reader->manifest().schema_fields.at(static_cast<std::size_t>(field)).column_index;
  refuse_wide_int96(file, metadata, {row_group}, {leaf});
  std::shared_ptr<arrow::ChunkedArray> values;
  // Arrow counts top-level fields here, and leaves elsewhere.
  ARROW_RETURN_NOT_OK(reader->RowGroup(row_group)->Column(field)->Read(&values));
  return values;
}

}  // namespace

UnitValues read_pages(const ColumnarFile& file, const std::shared_ptr<parquet::FileMetaData>& metadata, int row_group,
                      int field, std::span<const std::int64_t> rows) {
  constexpr const char* kWhat = "not a Parquet file that can be read, or damaged";
  WantedRows wanted(rows);
  const auto values = [&]() -> arrow::Result<std::shared_ptr<arrow::ChunkedArray>> {
    try {
      return read(file, metadata, row_group, field, wanted);
    } catch (const parquet::ParquetException& error) {
      return arrow::Status::Invalid(error.what());
    }
  }();
  check(values.status(), file.name, kWhat);
  if (wanted.places().size() != rows.size() || (*values)->length() != wanted.kept()) {
    throw DataError(file.name + ": " + kWhat + ": pages do not have the rows that the file's metadata names");
  }
  return {*values, wanted.places()};
}

}  // namespace skyrank::datasets
