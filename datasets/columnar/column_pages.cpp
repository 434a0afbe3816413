#include "datasets/columnar/column_pages.hpp"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/util/config.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "datasets/columnar/checks/checked_pages.hpp"
#include "datasets/columnar/decode/snappy.hpp"
#include "datasets/input/range_stream.hpp"
#include "datasets/input/uri.hpp"

namespace skyrank::datasets {
namespace {

/// Returns true for files of writers before ARROW-17100, which marked compressed pages as not compressed.
bool marks_are_wrong(const parquet::FileMetaData& file) {
  return file.writer_version().VersionLt(parquet::ApplicationVersion::PARQUET_CPP_10353_FIXED_VERSION());
}

bool is_decompressed_here(const parquet::ColumnChunkMetaData& chunk, const parquet::FileMetaData& file) {
  return chunk.compression() == parquet::Compression::SNAPPY && !marks_are_wrong(file);
}

using BufferPtr = std::shared_ptr<arrow::Buffer>;
using PagePtr = std::shared_ptr<parquet::Page>;

/// Pages of Snappy, from a reader that takes them for pages that are not compressed. As with Arrow's own reader, a page
/// is valid until the next one is read, so that all have the same memory.
class SnappyPages final : public parquet::PageReader {
 public:
  SnappyPages(std::unique_ptr<parquet::PageReader> stored, arrow::MemoryPool* pool) : stored_(std::move(stored)) {
    PARQUET_ASSIGN_OR_THROW(buffer_, arrow::AllocateResizableBuffer(0, pool));
  }

  PagePtr NextPage() override {
    PagePtr page = stored_->NextPage();
    if (page == nullptr) return page;
    switch (page->type()) {
      case parquet::PageType::DICTIONARY_PAGE: return decompressed(static_cast<const parquet::DictionaryPage&>(*page));
      case parquet::PageType::DATA_PAGE: return decompressed(static_cast<const parquet::DataPageV1&>(*page));
      case parquet::PageType::DATA_PAGE_V2:
        if (!static_cast<const parquet::DataPageV2&>(*page).is_compressed()) return page;
        return decompressed(static_cast<const parquet::DataPageV2&>(*page));
      default: return page;
    }
  }

  void set_max_page_header_size(std::uint32_t size) override { stored_->set_max_page_header_size(size); }

 private:
  PagePtr decompressed(const parquet::DictionaryPage& page) {
    return std::make_shared<parquet::DictionaryPage>(decompress(page, 0, {}), page.num_values(), page.encoding(),
                                                     page.is_sorted());
  }

  PagePtr decompressed(const parquet::DataPageV1& page) {
    return std::make_shared<parquet::DataPageV1>(decompress(page, 0, page.uncompressed_size()), page.num_values(),
                                                 page.encoding(), page.definition_level_encoding(),
                                                 page.repetition_level_encoding(), page.uncompressed_size(),
                                                 page.statistics());
  }

  PagePtr decompressed(const parquet::DataPageV2& page) {
    const std::int64_t levels =
        std::int64_t{page.definition_levels_byte_length()} + page.repetition_levels_byte_length();
    return std::make_shared<parquet::DataPageV2>(
        decompress(page, levels, page.uncompressed_size()), page.num_values(), page.num_nulls(), page.num_rows(),
        page.encoding(), page.definition_levels_byte_length(), page.repetition_levels_byte_length(),
        page.uncompressed_size(), page.is_compressed(), page.statistics());
  }

  /// Decompresses what follows the first `levels` bytes of a page, which are not compressed. A page without values, all
  /// of them NULL, may have nothing there. `size` is that of the whole page, where its header tells it.
  BufferPtr decompress(const parquet::Page& page, std::int64_t levels, std::optional<std::int64_t> size) {
    if (levels < 0 || levels > page.size()) damaged();
    const std::span values(page.data() + levels, static_cast<std::size_t>(page.size() - levels));
    const auto length = values.empty() ? std::optional(0U) : snappy_size(values);
    if (!length || *length > kMaxExpansion * values.size()) damaged();
    const std::int64_t bytes = levels + std::int64_t{*length};
    if (size && bytes != *size) damaged();
    PARQUET_THROW_NOT_OK(buffer_->Resize(bytes, /*shrink_to_fit=*/false));
    std::uint8_t* const out = buffer_->mutable_data();
    if (levels > 0) std::memcpy(out, page.data(), static_cast<std::size_t>(levels));
    if (!values.empty() && !snappy_decompress(values, {out + levels, *length})) damaged();
    return buffer_;
  }

  [[noreturn]] static void damaged() { throw parquet::ParquetException("a page is no data of Snappy, or cut short"); }

  static constexpr std::size_t kMaxExpansion = 22;  // copies of 64 bytes take 3

  std::unique_ptr<parquet::PageReader> stored_;
  std::shared_ptr<arrow::ResizableBuffer> buffer_;
};

/// Pages whose errors name their column chunk.
class NamedPages final : public parquet::PageReader {
 public:
  /// `values` is how many values all pages have together, where this is known.
  NamedPages(std::unique_ptr<parquet::PageReader> pages, std::string name, std::optional<std::int64_t> values)
      : pages_(std::move(pages)), name_(std::move(name)), values_(values) {}

  PagePtr NextPage() override {
    try {
      PagePtr page = pages_->NextPage();
      if (values_) count(page.get());
      return page;
    } catch (const parquet::ParquetStatusException& error) {
      throw parquet::ParquetStatusException(error.status().WithMessage(name_, ": ", error.status().message()));
    } catch (const parquet::ParquetException& error) {
      throw parquet::ParquetException(name_ + ": " + error.what());
    }
  }

  void set_max_page_header_size(std::uint32_t size) override { pages_->set_max_page_header_size(size); }

 private:
  /// Adds a page, or the end of all.
  void count(const parquet::Page* page) {
    const bool is_data = page != nullptr && page->type() != parquet::PageType::DICTIONARY_PAGE;
    if (is_data) {
      const auto& data = static_cast<const parquet::DataPage&>(*page);
      const bool has_rows = page->type() == parquet::PageType::DATA_PAGE_V2;
      check_rows(data.num_values(), has_rows ? static_cast<const parquet::DataPageV2&>(data).num_rows() : -1);
      counted_ += data.num_values();
      ++data_pages_;
    }
    if (counted_ <= *values_ && (page != nullptr || counted_ == *values_)) return;
    throw parquet::ParquetException("its first " + std::to_string(data_pages_) + " data pages have " +
                                    std::to_string(counted_) + " rows, and the row group has " +
                                    std::to_string(*values_));
  }

  void check_rows(std::int64_t values, std::int64_t rows) const {
    if (rows < 0 || rows == values) return;
    throw parquet::ParquetException("data page " + std::to_string(data_pages_) + " has " + std::to_string(values) +
                                    " values in " + std::to_string(rows) + " rows");
  }

  std::unique_ptr<parquet::PageReader> pages_;
  std::string name_;
  std::optional<std::int64_t> values_;
  std::int64_t counted_ = 0;     // values of the pages that were read
  std::int64_t data_pages_ = 0;  // that were read
};

class CheckedRowGroup final : public parquet::RowGroupReader::Contents {
 public:
  CheckedRowGroup(std::shared_ptr<parquet::RowGroupReader> whole, std::shared_ptr<parquet::FileMetaData> metadata,
                  int row_group, const ColumnarFile& file, const parquet::ReaderProperties& properties)
      : whole_(std::move(whole)),
        metadata_(std::move(metadata)),
        row_group_(row_group),
        file_(file),
        properties_(properties) {}

  const parquet::RowGroupMetaData* metadata() const override { return whole_->metadata(); }
  const parquet::ReaderProperties* properties() const override { return &properties_; }

  std::unique_ptr<parquet::PageReader> GetColumnPageReader(int leaf) override {
    const auto chunk = metadata()->ColumnChunk(leaf);
    if (chunk->crypto_metadata() != nullptr) return whole_->GetColumnPageReader(leaf);
    PARQUET_ASSIGN_OR_THROW(const std::int64_t file_bytes, file_.input->GetSize());
    return open_decompressed_pages(stream_of(range_of(*chunk, file_bytes)), *chunk, properties_,
                                   {*metadata_, row_group_, leaf});
  }

 private:
  /// Streams the bytes of a column chunk. A page is decoded while it is in the cache; those in memory need no copy, and
  /// of files elsewhere each read is a request.
  std::shared_ptr<arrow::io::InputStream> stream_of(const ByteRange& bytes) {
    constexpr std::int64_t kAhead = std::int64_t{32} * 1024;  // headers, and small pages
    if (is_remote(file_.name) || file_.input->supports_zero_copy()) {
      return properties_.GetStream(file_.input, bytes.begin, bytes.end - bytes.begin);
    }
    return std::make_shared<RangeStream>(file_.input, bytes.begin, bytes.end, kAhead, properties_.memory_pool());
  }

  std::shared_ptr<parquet::RowGroupReader> whole_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  int row_group_;
  ColumnarFile file_;
  parquet::ReaderProperties properties_;
};

}  // namespace

std::unique_ptr<parquet::PageReader> open_pages(std::shared_ptr<arrow::io::InputStream> stream,
                                                const parquet::ColumnChunkMetaData& chunk,
                                                parquet::Compression::type codec,
                                                const parquet::ReaderProperties& properties, const ChunkPlace& place) {
  const bool always_compressed = marks_are_wrong(place.file);
  stream = with_checksums(std::move(stream));
#if ARROW_VERSION_MAJOR >= 25
  return parquet::PageReader::Open(std::move(stream), chunk.num_values(), codec, properties,
                                   *place.file.schema()->Column(place.leaf), always_compressed);
#else
  return parquet::PageReader::Open(std::move(stream), chunk.num_values(), codec, properties, always_compressed);
#endif
}

std::unique_ptr<parquet::PageReader> open_decompressed_pages(std::shared_ptr<arrow::io::InputStream> stream,
                                                             const parquet::ColumnChunkMetaData& chunk,
                                                             const parquet::ReaderProperties& properties,
                                                             const ChunkPlace& place, PageFilter filter,
                                                             std::optional<std::int64_t> rows) {
  const bool is_ours = is_decompressed_here(chunk, place.file);
  const auto codec = is_ours ? parquet::Compression::UNCOMPRESSED : chunk.compression();
  auto pages = open_pages(std::move(stream), chunk, codec, properties, place);
  const bool is_filtered = filter != nullptr;
  if (is_filtered) pages->set_data_page_filter(std::move(filter));
  if (is_ours) pages = std::make_unique<SnappyPages>(std::move(pages), properties.memory_pool());
  const bool has_one_value_a_row = place.file.schema()->Column(place.leaf)->max_repetition_level() == 0;
  std::optional<std::int64_t> values;
  if (has_one_value_a_row && !is_filtered) values = rows ? *rows : place.file.RowGroup(place.row_group)->num_rows();
  return std::make_unique<NamedPages>(std::move(pages), name_of(place), values);
}

std::unique_ptr<parquet::ParquetFileReader::Contents> with_checked_pages(
    const ColumnarFile& file, std::shared_ptr<parquet::FileMetaData> metadata,
    const parquet::ReaderProperties& properties) {
  auto whole = parquet::ParquetFileReader::Contents::Open(file.input, properties, std::move(metadata));
  parquet::ParquetFileReader::Contents& contents = *whole;
  return std::make_unique<FileOfRowGroups>(std::move(whole), [&contents, file, properties](int i) {
    return std::make_unique<CheckedRowGroup>(contents.GetRowGroup(i), contents.metadata(), i, file, properties);
  });
}

}  // namespace skyrank::datasets
