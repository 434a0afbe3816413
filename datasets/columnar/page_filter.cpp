#include "datasets/columnar/page_filter.hpp"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/config.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/statistics.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <skyrank/error.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "datasets/columnar/column_pages.hpp"
#include "datasets/columnar/flat_column.hpp"
#include "datasets/columnar/int96.hpp"

namespace skyrank::datasets {
namespace {

using MetadataPtr = std::shared_ptr<parquet::FileMetaData>;

bool is_flat_number(const arrow::DataType& type, const parquet::ColumnDescriptor& column) {
  return column.max_repetition_level() == 0 && column.max_definition_level() <= 1 && is_stored_as(type, column);
}

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
    // A header has less than 100 bytes, as a rule. Arrow asks for more where these did not suffice.
    constexpr std::int64_t kFirstAsked = std::int64_t{16} * 1024;
    constexpr std::int64_t kHeader = 512;
    const std::int64_t size = std::min(bytes <= kFirstAsked ? std::min(bytes, kHeader) : bytes, end_ - position_);
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

/// Collects bounds of pages.
class BoundsBuilder {
 public:
  BoundsBuilder(const parquet::ColumnDescriptor& column, const parquet::ApplicationVersion& writer)
      : column_(column), writer_(writer) {}

  /// Adds the next page by its header. Returns false if that tells no bounds, and no earlier page's did.
  bool add(const parquet::DataPageStats& page) {
    const parquet::EncodedStatistics* const told = page.encoded_statistics;
    if (told == nullptr || !writer_.HasCorrectStatistics(column_.physical_type(), *told, column_.sort_order())) {
      return false;
    }
    if (!told->is_set() && rows_.empty()) return false;
    const std::string none;
    add(page.num_values, told->has_min ? told->min() : none, told->has_max ? told->max() : none,
        told->has_null_count ? std::optional(told->null_count) : std::nullopt);
    return true;
  }

  /// Adds all pages of a column chunk of so many rows by the file's indexes.
  void add(const parquet::ColumnIndex& bounds, const parquet::OffsetIndex& places, std::int64_t rows) {
    const auto& pages = places.page_locations();
    for (std::size_t i = 0; i < pages.size(); ++i) {
      const std::int64_t end = i + 1 < pages.size() ? pages[i + 1].first_row_index : rows;
      add(end - pages[i].first_row_index, bounds.encoded_min_values().at(i), bounds.encoded_max_values().at(i),
          bounds.has_null_counts() ? std::optional(bounds.null_counts().at(i)) : std::nullopt);
    }
  }

  PageBounds finish(const std::shared_ptr<arrow::DataType>& type) {
    return {std::move(rows_), array_of(min_, type), array_of(max_, type), std::move(nulls_)};
  }

 private:
  /// Adds a page with its bounds, which may be no values.
  void add(std::int64_t rows, const std::string& min, const std::string& max, std::optional<std::int64_t> nulls) {
    const bool has_bounds = is_value(min) && is_value(max);
    rows_.push_back(rows);
    nulls_.push_back(nulls);
    known_.push_back(has_bounds);
    append(has_bounds ? min : std::string(width(), '\0'), min_);
    append(has_bounds ? max : std::string(width(), '\0'), max_);
  }

  std::size_t width() const { return static_cast<std::size_t>(parquet::GetTypeByteSize(column_.physical_type())); }

  /// NaN is no bound: a writer that lets it in may have lost every other bound by it.
  bool is_value(const std::string& bytes) const {
    if (bytes.size() != width()) return false;
    switch (column_.physical_type()) {
      case parquet::Type::FLOAT: return !is_nan<float>(bytes);
      case parquet::Type::DOUBLE: return !is_nan<double>(bytes);
      default: return true;
    }
  }

  template <class T>
  static bool is_nan(const std::string& bytes) {
    T value;
    std::memcpy(&value, bytes.data(), sizeof(value));
    return std::isnan(value);
  }

  static void append(const std::string& bytes, std::vector<std::uint8_t>& to) {
    to.insert(to.end(), bytes.begin(), bytes.end());
  }

  std::shared_ptr<arrow::Array> array_of(const std::vector<std::uint8_t>& values,
                                         const std::shared_ptr<arrow::DataType>& type) const {
    PARQUET_ASSIGN_OR_THROW(auto valid, arrow::AllocateEmptyBitmap(static_cast<std::int64_t>(known_.size())));
    for (std::size_t i = 0; i < known_.size(); ++i) {
      arrow::bit_util::SetBitTo(valid->mutable_data(), static_cast<std::int64_t>(i), known_[i]);
    }
    auto bytes = arrow::Buffer::FromVector(values);
    return arrow::MakeArray(
        arrow::ArrayData::Make(type, static_cast<std::int64_t>(known_.size()), {std::move(valid), std::move(bytes)}));
  }

  const parquet::ColumnDescriptor& column_;
  const parquet::ApplicationVersion& writer_;
  std::vector<std::int64_t> rows_;
  std::vector<std::optional<std::int64_t>> nulls_;
  std::vector<bool> known_;
  std::vector<std::uint8_t> min_;  // bytes of the pages' values, one after the other
  std::vector<std::uint8_t> max_;
};

/// Chooses the pages that hold some rows, in the order of the pages.
class WantedRows {
 public:
  explicit WantedRows(std::span<const std::int64_t> rows) : rows_(rows) {}

  /// Looks at the next page of the column, of `count` rows. Returns true if it holds a row.
  bool next_page(std::int64_t count) {
    const std::int64_t end = begin_ + count;
    const auto next = static_cast<std::size_t>(std::ranges::lower_bound(rows_.subspan(found_), end) - rows_.begin());
    const bool wanted = next > found_;
    if (wanted) {
      pages_.push_back({found_, next, kept_ - begin_});
      kept_ += count;
    }
    found_ = next;
    begin_ = end;
    return wanted;
  }

  /// Number of rows that the pages hold.
  std::size_t found() const { return found_; }
  /// Number of values of the pages that hold a row.
  std::int64_t kept() const { return kept_; }

  /// Returns the places of the rows among these values; nothing where all of them are wanted.
  std::optional<std::vector<std::int64_t>> places() const {
    if (kept_ == static_cast<std::int64_t>(found_)) return std::nullopt;
    std::vector<std::int64_t> places;
    places.reserve(found_);
    for (const Page& page : pages_) {
      for (std::size_t i = page.first; i < page.last; ++i) places.push_back(rows_[i] + page.shift);
    }
    return places;
  }

 private:
  /// A page with rows [first, last) of those wanted.
  struct Page {
    std::size_t first;
    std::size_t last;
    std::int64_t shift;  // from a row to its place
  };

  std::span<const std::int64_t> rows_;
  std::vector<Page> pages_;
  std::int64_t begin_ = 0;  // first row of the next page
  std::size_t found_ = 0;   // rows in pages before it
  std::int64_t kept_ = 0;
};

/// Pages of a column chunk, of which the dictionary is read once a page of indices needs it.
class PagesAndDictionary final : public parquet::PageReader {
 public:
  PagesAndDictionary(std::unique_ptr<parquet::PageReader> data, std::unique_ptr<parquet::PageReader> dictionary)
      : data_(std::move(data)), dictionary_(std::move(dictionary)) {}

  std::shared_ptr<parquet::Page> NextPage() override {
    if (pending_ != nullptr) return std::exchange(pending_, nullptr);
    auto page = data_->NextPage();
    if (page == nullptr || dictionary_ == nullptr || !has_indices(*page)) return page;
    pending_ = std::move(page);
    read_dictionary_ = std::exchange(dictionary_, nullptr);
    return read_dictionary_->NextPage();
  }

  void set_max_page_header_size(std::uint32_t size) override { data_->set_max_page_header_size(size); }

 private:
  static bool has_indices(const parquet::Page& page) {
    if (page.type() != parquet::PageType::DATA_PAGE && page.type() != parquet::PageType::DATA_PAGE_V2) return false;
    const parquet::Encoding::type encoding = static_cast<const parquet::DataPage&>(page).encoding();
    return encoding == parquet::Encoding::RLE_DICTIONARY || encoding == parquet::Encoding::PLAIN_DICTIONARY;
  }

  std::unique_ptr<parquet::PageReader> data_;
  std::unique_ptr<parquet::PageReader> dictionary_;       // null once it was read
  std::unique_ptr<parquet::PageReader> read_dictionary_;  // has the memory of its page
  std::shared_ptr<parquet::Page> pending_;                // follows the dictionary
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
    const std::int64_t data = chunk->data_page_offset();
    auto pages = open(*chunk, {data, bytes.end}, leaf);
    if (data == bytes.begin) return pages;
    return std::make_unique<PagesAndDictionary>(std::move(pages), open(*chunk, {bytes.begin, data}, leaf));
  }

 private:
  std::unique_ptr<parquet::PageReader> open(const parquet::ColumnChunkMetaData& chunk, const ByteRange& bytes,
                                            int leaf) {
    auto stream = std::make_shared<ChunkStream>(input_, bytes.begin, bytes.end);
    const auto filter = [stream, &rows = rows_](const parquet::DataPageStats& page) {
      if (rows.next_page(page.num_values)) return false;
      stream->pass_over_page();
      return true;
    };
    return open_decompressed_pages(stream, chunk, properties_, *file_, leaf, filter);
  }

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
  const auto& type = reader->manifest().schema_fields.at(static_cast<std::size_t>(field)).field->type();
  if (is_flat_number(*type, *metadata->schema()->Column(leaf))) {
    return std::make_shared<arrow::ChunkedArray>(
        read_flat_numbers(*reader->parquet_reader()->RowGroup(row_group), leaf, type, pool));
  }
  std::shared_ptr<arrow::ChunkedArray> values;
  // Arrow counts top-level fields here, and leaves elsewhere.
  ARROW_RETURN_NOT_OK(reader->RowGroup(row_group)->Column(field)->Read(&values));
  return values;
}

std::optional<PageBounds> read_bounds(const ColumnarFile& file, const MetadataPtr& of_file, int row_group, int leaf,
                                      const std::shared_ptr<arrow::DataType>& type) {
  const parquet::FileMetaData& metadata = *of_file;
  const parquet::ColumnDescriptor& column = *metadata.schema()->Column(leaf);
  const auto chunk = metadata.RowGroup(row_group)->ColumnChunk(leaf);
  if (!is_flat_number(*type, column) || !chunk->is_stats_set() || chunk->crypto_metadata() != nullptr) {
    return std::nullopt;
  }
  const parquet::ReaderProperties properties;
  BoundsBuilder bounds(column, metadata.writer_version());
  if (chunk->GetColumnIndexLocation() && chunk->GetOffsetIndexLocation()) {
    const auto indexes = parquet::PageIndexReader::Make(file.input.get(), of_file, properties)->RowGroup(row_group);
    const auto values = indexes == nullptr ? nullptr : indexes->GetColumnIndex(leaf);
    const auto places = indexes == nullptr ? nullptr : indexes->GetOffsetIndex(leaf);
    if (values == nullptr || places == nullptr) return std::nullopt;
    bounds.add(*values, *places, metadata.RowGroup(row_group)->num_rows());
    return bounds.finish(type);
  }
  PARQUET_ASSIGN_OR_THROW(const std::int64_t file_bytes, file.input->GetSize());
  // The dictionary comes first, and has no bounds.
  const auto stream =
      std::make_shared<ChunkStream>(file.input, chunk->data_page_offset(), range_of(*chunk, file_bytes).end);
  const auto pages = open_pages(stream, *chunk, parquet::Compression::UNCOMPRESSED, properties, metadata, leaf);
  pages->set_data_page_filter([&](const parquet::DataPageStats& page) {
    if (!bounds.add(page)) return false;
    stream->pass_over_page();
    return true;
  });
  if (pages->NextPage() != nullptr) return std::nullopt;
  return bounds.finish(type);
}

}  // namespace

std::optional<PageBounds> read_page_bounds(const ColumnarFile& file,
                                           const std::shared_ptr<parquet::FileMetaData>& metadata, int row_group,
                                           int leaf, const std::shared_ptr<arrow::DataType>& type) {
  try {
    auto bounds = read_bounds(file, metadata, row_group, leaf, type);
    if (!bounds) return bounds;
    const auto is_negative = [](std::int64_t rows) { return rows < 0; };
    const std::int64_t rows = std::accumulate(bounds->rows.begin(), bounds->rows.end(), std::int64_t{0});
    if (rows != metadata->RowGroup(row_group)->num_rows()) return std::nullopt;
    if (std::ranges::any_of(bounds->rows, is_negative)) return std::nullopt;
    return bounds;
  } catch (const parquet::ParquetException&) {
    return std::nullopt;
  } catch (const std::out_of_range&) {  // indexes of different lengths
    return std::nullopt;
  }
}

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
  if (wanted.found() != rows.size() || (*values)->length() != wanted.kept()) {
    throw DataError(file.name + ": " + kWhat + ": pages do not have the rows that the file's metadata names");
  }
  return {*values, wanted.places()};
}

}  // namespace skyrank::datasets
