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
#include <cstring>
#include <skyrank/error.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "datasets/columnar/checks/true_bounds.hpp"
#include "datasets/columnar/column_pages.hpp"
#include "datasets/columnar/decode/flat_column.hpp"
#include "datasets/columnar/footer/parquet_errors.hpp"
#include "datasets/columnar/int96.hpp"
#include "datasets/input/input.hpp"
#include "datasets/input/range_stream.hpp"
#include "datasets/input/uri.hpp"

namespace skyrank::datasets {
namespace {

using MetadataPtr = std::shared_ptr<parquet::FileMetaData>;
using PagePtr = std::shared_ptr<parquet::Page>;

/// Returns true if a page of a column that is not nested has a value, or a NULL, for each of its rows.
bool has_values_of_rows(const parquet::DataPageStats& page) {
  return !page.num_rows || *page.num_rows == page.num_values;
}

/// Bytes that a look at the header of a page reads at once. A header has less than 100 as a rule; where all pages are
/// read, small ones come with it.
enum class Ahead : std::int64_t { header = 512, small_pages = std::int64_t{32} * 1024 };

std::shared_ptr<RangeStream> stream_of(const std::shared_ptr<arrow::io::RandomAccessFile>& file, const ByteRange& bytes,
                                       arrow::MemoryPool* pool, Ahead ahead = Ahead::header) {
  return std::make_shared<RangeStream>(file, bytes.begin, bytes.end, static_cast<std::int64_t>(ahead), pool);
}

/// Collects bounds of pages, as bytes of the values.
class BoundsBuilder {
 public:
  explicit BoundsBuilder(std::size_t width) : width_(width) {}

  /// Adds the next page, of so many rows. Bounds of another size than a value's are not known, nor are numbers of NULLs
  /// that the page cannot have.
  void add(std::int64_t rows, const std::string& min, const std::string& max, std::optional<std::int64_t> nulls) {
    const bool has_bounds = min.size() == width_ && max.size() == width_;
    if (nulls && (*nulls < 0 || *nulls > rows || (*nulls == rows && has_bounds))) nulls.reset();
    rows_.push_back(rows);
    nulls_.push_back(nulls);
    known_.push_back(has_bounds);
    append(has_bounds ? min : std::string(width_, '\0'), min_);
    append(has_bounds ? max : std::string(width_, '\0'), max_);
  }

  /// Adds the next page by its header. Returns false if that tells nothing, and no earlier page's did.
  bool add(const parquet::DataPageStats& page) {
    const parquet::EncodedStatistics* const told = page.encoded_statistics;
    if (told == nullptr || (!told->is_set() && rows_.empty())) return false;
    const bool is_known = told->has_min && told->has_max;
    add(page.num_values, is_known ? told->min() : "", is_known ? told->max() : "",
        told->has_null_count ? std::optional(told->null_count) : std::nullopt);
    return true;
  }

  /// Says in which order the bounds of the pages are.
  void set_order(parquet::BoundaryOrder::type order) { order_ = order; }

  /// Returns true if the pages' bounds are in order, and together those of the chunk: each of its bounds is that of a
  /// page. NaN is never a bound, as a writer that lets it in may have lost every other bound by it.
  bool add_up_to(const parquet::EncodedStatistics& chunk, const arrow::DataType& type) const {
    switch (type.id()) {
      case arrow::Type::UINT32: return add_up_to<std::uint32_t>(chunk);
      case arrow::Type::INT32:
      case arrow::Type::DATE32: return add_up_to<std::int32_t>(chunk);
      case arrow::Type::UINT64: return add_up_to<std::uint64_t>(chunk);
      case arrow::Type::INT64:
      case arrow::Type::TIMESTAMP: return add_up_to<std::int64_t>(chunk);
      case arrow::Type::FLOAT: return add_up_to<float>(chunk);
      case arrow::Type::DOUBLE: return add_up_to<double>(chunk);
      default: return false;
    }
  }

  PageBounds finish(const std::shared_ptr<arrow::DataType>& type) {
    return {std::move(rows_), array_of(min_, type), array_of(max_, type), std::move(nulls_)};
  }

 private:
  template <class T>
  bool add_up_to(const parquet::EncodedStatistics& chunk) const {
    if (!chunk.has_min || !chunk.has_max || chunk.min().size() != sizeof(T) || chunk.max().size() != sizeof(T)) {
      return false;
    }
    std::optional<T> least;
    std::optional<T> greatest;
    std::optional<T> last_min;
    std::optional<T> last_max;
    for (std::size_t page = 0; page < known_.size(); ++page) {
      if (!known_[page]) continue;
      const T min = value_at<T>(min_.data() + page * sizeof(T));
      const T max = value_at<T>(max_.data() + page * sizeof(T));
      if (!(min <= max)) return false;
      if (last_min && (is_out_of_order(*last_min, min) || is_out_of_order(*last_max, max))) return false;
      last_min = min;
      last_max = max;
      least = std::min(min, least.value_or(min));
      greatest = std::max(max, greatest.value_or(max));
    }
    return least == value_at<T>(chunk.min().data()) && greatest == value_at<T>(chunk.max().data());
  }

  template <class T>
  bool is_out_of_order(T before, T after) const {
    return order_ == parquet::BoundaryOrder::Ascending    ? after < before
           : order_ == parquet::BoundaryOrder::Descending ? before < after
                                                          : false;
  }

  template <class T>
  static T value_at(const void* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
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

  std::size_t width_;
  parquet::BoundaryOrder::type order_ = parquet::BoundaryOrder::Unordered;
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

  /// Number of values of all pages.
  std::int64_t total() const { return begin_; }
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

  PagePtr NextPage() override {
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
  PagePtr pending_;                                       // follows the dictionary
};

/// A page that was read before.
class OnePage final : public parquet::PageReader {
 public:
  explicit OnePage(PagePtr page) : page_(std::move(page)) {}

  PagePtr NextPage() override { return std::exchange(page_, nullptr); }
  void set_max_page_header_size(std::uint32_t) override {}

 private:
  PagePtr page_;
};

/// A row group of which a column chunk has some pages alone.
class RangeRowGroup final : public parquet::RowGroupReader::Contents {
 public:
  RangeRowGroup(const ColumnarFile& file, std::shared_ptr<parquet::FileMetaData> metadata, int row_group,
                PageRange range)
      : input_(file.input),
        file_(std::move(metadata)),
        properties_(decoding_pool(file.size)),
        row_group_(row_group),
        metadata_(file_->RowGroup(row_group)),
        range_(range) {}

  const parquet::RowGroupMetaData* metadata() const override { return metadata_.get(); }
  const parquet::ReaderProperties* properties() const override { return &properties_; }

  std::unique_ptr<parquet::PageReader> GetColumnPageReader(int leaf) override {
    const auto chunk = metadata_->ColumnChunk(leaf);
    auto pages = open_decompressed_pages(stream_of(input_, range_.pages, properties_.memory_pool(), Ahead::small_pages),
                                         *chunk, properties_, {*file_, row_group_, leaf}, {}, range_.rows);
    if (range_.dictionary == nullptr) return pages;
    return std::make_unique<PagesAndDictionary>(std::move(pages), std::make_unique<OnePage>(range_.dictionary));
  }

 private:
  std::shared_ptr<arrow::io::RandomAccessFile> input_;
  std::shared_ptr<parquet::FileMetaData> file_;
  parquet::ReaderProperties properties_;
  int row_group_;
  std::unique_ptr<parquet::RowGroupMetaData> metadata_;
  PageRange range_;
};

/// A row group of which only wanted pages are read.
class FilteredRowGroup final : public parquet::RowGroupReader::Contents {
 public:
  FilteredRowGroup(std::shared_ptr<arrow::io::RandomAccessFile> input, std::shared_ptr<parquet::FileMetaData> file,
                   const parquet::ReaderProperties& properties, int row_group, WantedRows& rows)
      : input_(std::move(input)),
        file_(std::move(file)),
        properties_(properties),
        row_group_(row_group),
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
    auto stream = stream_of(input_, bytes, properties_.memory_pool());
    const auto filter = [stream, &rows = rows_](const parquet::DataPageStats& page) {
      if (!has_values_of_rows(page)) throw parquet::ParquetException("a data page has other values than rows");
      if (rows.next_page(page.num_values)) return false;
      stream->pass_over_next();
      return true;
    };
    return open_decompressed_pages(stream, chunk, properties_, {*file_, row_group_, leaf}, filter);
  }

  std::shared_ptr<arrow::io::RandomAccessFile> input_;
  std::shared_ptr<parquet::FileMetaData> file_;
  parquet::ReaderProperties properties_;
  int row_group_;
  std::unique_ptr<parquet::RowGroupMetaData> metadata_;
  WantedRows& rows_;
};

/// Reads columns of a row group, some pages of each. What Arrow makes of all columns of the file is made once.
class FilteredColumns {
 public:
  FilteredColumns(const ColumnarFile& file, const MetadataPtr& metadata, int row_group)
      : file_(file), metadata_(metadata), row_group_(row_group), pool_(decoding_pool(file.size)) {
    const parquet::ReaderProperties properties(pool_);
    auto whole = parquet::ParquetFileReader::Contents::Open(file.input, properties, metadata);
    auto filtered = std::make_unique<parquet::ParquetFileReader>();
    filtered->Open(std::make_unique<FileOfRowGroups>(std::move(whole), [this, properties](int i) {
      return std::make_unique<FilteredRowGroup>(file_.input, metadata_, properties, i, *rows_);
    }));
#if ARROW_VERSION_MAJOR >= 23
    PARQUET_ASSIGN_OR_THROW(reader_, parquet::arrow::FileReader::Make(pool_, std::move(filtered)));
#else
    PARQUET_THROW_NOT_OK(parquet::arrow::FileReader::Make(pool_, std::move(filtered), &reader_));
#endif
    all_pages_.Open(with_checked_pages(file, metadata, properties));
  }

  std::shared_ptr<arrow::ChunkedArray> read(int field, WantedRows& rows) {
    rows_ = &rows;
    const auto& stored = reader_->manifest().schema_fields.at(static_cast<std::size_t>(field));
    // All rows are looked at, as the pages that are not wanted are part of the answer elsewhere.
    refuse_wide_int96(file_, all_pages_, {row_group_}, {stored.column_index});
    const auto& type = stored.field->type();
    if (is_flat_number(*type, *metadata_->schema()->Column(stored.column_index))) {
      return std::make_shared<arrow::ChunkedArray>(
          read_kept_numbers(*reader_->parquet_reader()->RowGroup(row_group_), stored.column_index, type, pool_));
    }
    std::shared_ptr<arrow::ChunkedArray> values;
    // Arrow counts top-level fields here, and leaves elsewhere.
    PARQUET_THROW_NOT_OK(reader_->RowGroup(row_group_)->Column(field)->Read(&values));
    return values;
  }

 private:
  const ColumnarFile& file_;
  const MetadataPtr& metadata_;
  int row_group_;
  arrow::MemoryPool* pool_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  parquet::ParquetFileReader all_pages_;
  WantedRows* rows_ = nullptr;  // of the column that is being read
};

/// Calls see(page) for the data pages of a column chunk, of which the headers alone are read. Returns false if it did
/// so for one of them, which is the last then.
template <class See>
bool see_pages(const ColumnarFile& file, const ChunkPlace& place, const parquet::ColumnChunkMetaData& chunk,
               const See& see) {
  PARQUET_ASSIGN_OR_THROW(const std::int64_t file_bytes, file.input->GetSize());
  // The dictionary comes first, and has no bounds.
  const parquet::ReaderProperties properties(decoding_pool(file.size));
  const auto stream =
      stream_of(file.input, {chunk.data_page_offset(), range_of(chunk, file_bytes).end}, properties.memory_pool());
  const auto pages = open_pages(stream, chunk, parquet::Compression::UNCOMPRESSED, properties, place);
  pages->set_data_page_filter([&](const parquet::DataPageStats& page) {
    if (!see(page)) return false;
    stream->pass_over_next();
    return true;
  });
  return pages->NextPage() == nullptr;
}

/// The bounds of a column chunk's pages in the file's index, and where the pages begin.
struct PageIndex {
  std::shared_ptr<parquet::ColumnIndex> bounds;
  std::shared_ptr<parquet::OffsetIndex> places;
};

std::optional<PageIndex> index_of(const ColumnarFile& file, const MetadataPtr& metadata, int row_group, int leaf) {
  const auto chunk = metadata->RowGroup(row_group)->ColumnChunk(leaf);
  if (!chunk->GetColumnIndexLocation() || !chunk->GetOffsetIndexLocation()) return std::nullopt;
  const parquet::ReaderProperties properties;
  const auto indexes = parquet::PageIndexReader::Make(file.input.get(), metadata, properties)->RowGroup(row_group);
  if (indexes == nullptr) return std::nullopt;
  PageIndex index{indexes->GetColumnIndex(leaf), indexes->GetOffsetIndex(leaf)};
  if (index.bounds == nullptr || index.places == nullptr) return std::nullopt;
  return index;
}

/// Adds all pages, of which the headers tell the rows, with the bounds of the index. Returns false if the index has
/// other pages, or other rows in them.
bool add_by_index(const PageIndex& index, const std::vector<std::int64_t>& rows, BoundsBuilder& bounds) {
  bounds.set_order(index.bounds->boundary_order());
  const auto& places = index.places->page_locations();
  if (places.size() != rows.size() || index.bounds->null_pages().size() != rows.size()) return false;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (places[i].first_row_index != begin) return false;
    begin += rows[i];
    const bool all_null = index.bounds->null_pages()[i];
    const std::string none;
    std::optional<std::int64_t> nulls;
    if (index.bounds->has_null_counts()) nulls = index.bounds->null_counts().at(i);
    if (nulls && all_null != (*nulls == rows[i])) nulls.reset();
    bounds.add(rows[i], all_null ? none : index.bounds->encoded_min_values().at(i),
               all_null ? none : index.bounds->encoded_max_values().at(i), nulls);
  }
  return true;
}

std::optional<PageBounds> read_bounds(const ColumnarFile& file, const MetadataPtr& metadata, int row_group, int leaf,
                                      const std::shared_ptr<arrow::DataType>& type) {
  const parquet::ColumnDescriptor& column = *metadata->schema()->Column(leaf);
  const auto group = metadata->RowGroup(row_group);
  const auto chunk = group->ColumnChunk(leaf);
  const auto told = statistics_of(*metadata, row_group, leaf);
  if (!is_flat_number(*type, column) || !told || chunk->crypto_metadata() != nullptr) return std::nullopt;
  const auto index = index_of(file, metadata, row_group, leaf);
  BoundsBuilder bounds(static_cast<std::size_t>(parquet::GetTypeByteSize(column.physical_type())));
  std::vector<std::int64_t> rows;
  std::int64_t total = 0;
  const bool has_bounds = see_pages(file, {*metadata, row_group, leaf}, *chunk, [&](const auto& page) {
    rows.push_back(page.num_values);
    total += page.num_values;
    return has_values_of_rows(page) && (index || bounds.add(page));
  });
  if (!has_bounds || total != group->num_rows()) return std::nullopt;
  if (index && !add_by_index(*index, rows, bounds)) return std::nullopt;
  if (!bounds.add_up_to(*told, *type)) return std::nullopt;
  return bounds.finish(type);
}

std::vector<PageRange> ranges_by_headers(const ColumnarFile& file, const MetadataPtr& metadata, const ChunkPlace& place,
                                         std::int64_t rows) {
  const auto group = metadata->RowGroup(place.row_group);
  const auto chunk = group->ColumnChunk(place.leaf);
  if (chunk->crypto_metadata() != nullptr) return {};
  PARQUET_ASSIGN_OR_THROW(const std::int64_t file_bytes, file.input->GetSize());
  const ByteRange bytes = range_of(*chunk, file_bytes);
  const parquet::ReaderProperties properties(decoding_pool(file.size));
  const auto stream = stream_of(file.input, bytes, properties.memory_pool());
  std::vector<PageRange> ranges;
  std::int64_t total = 0;
  bool is_flat = true;
  const auto see = [&](const parquet::DataPageStats& page) {
    const std::int64_t begin = stream->looked_from();
    if (ranges.empty() || ranges.back().rows >= rows) {
      if (!ranges.empty()) ranges.back().pages.end = begin;
      ranges.push_back({nullptr, {begin, bytes.end}});
    }
    is_flat = is_flat && has_values_of_rows(page) && page.num_values >= 0;
    ranges.back().rows += page.num_values;
    total += page.num_values;
    stream->pass_over_next();
    return true;
  };
  const std::shared_ptr pages = open_decompressed_pages(stream, *chunk, properties, place, see);
  const auto dictionary = pages->NextPage();  // all data pages are passed over
  if (dictionary != nullptr && pages->NextPage() != nullptr) return {};
  if (ranges.empty() || !is_flat || total != group->num_rows()) return {};
  PARQUET_ASSIGN_OR_THROW(ranges.back().pages.end, stream->Tell());  // what follows is no page
  if (dictionary == nullptr) return ranges;
  const auto kept = std::make_shared<const std::pair<std::shared_ptr<parquet::PageReader>, PagePtr>>(pages, dictionary);
  for (PageRange& range : ranges) range.dictionary = PagePtr(kept, dictionary.get());  // whose memory is the reader's
  return ranges;
}

}  // namespace

std::optional<PageBounds> read_page_bounds(const ColumnarFile& file,
                                           const std::shared_ptr<parquet::FileMetaData>& metadata, int row_group,
                                           int leaf, const std::shared_ptr<arrow::DataType>& type) {
  try {
    return read_bounds(file, metadata, row_group, leaf, type);
  } catch (const parquet::ParquetException&) {
    return std::nullopt;
  } catch (const std::out_of_range&) {  // indexes of different lengths
    return std::nullopt;
  }
}

std::vector<PageRange> divide_pages(const ColumnarFile& file, const std::shared_ptr<parquet::FileMetaData>& metadata,
                                    int row_group, int leaf, std::int64_t rows) {
  if (is_remote(file.name)) return {};  // each look at a header is a request there
  try {
    return ranges_by_headers(file, metadata, {*metadata, row_group, leaf}, rows);
  } catch (const parquet::ParquetException&) {
    return {};
  }
}

std::shared_ptr<parquet::RowGroupReader> open_page_range(const ColumnarFile& file,
                                                         const std::shared_ptr<parquet::FileMetaData>& metadata,
                                                         int row_group, const PageRange& range) {
  return std::make_shared<parquet::RowGroupReader>(std::make_unique<RangeRowGroup>(file, metadata, row_group, range));
}

std::vector<UnitValues> read_pages(const ColumnarFile& file, const std::shared_ptr<parquet::FileMetaData>& metadata,
                                   int row_group, std::span<const int> fields, std::span<const std::int64_t> rows) {
  return with_parquet_errors(file.name, [&] {
    FilteredColumns columns(file, metadata, row_group);
    std::vector<UnitValues> values;
    for (const int field : fields) {
      const std::string& name = metadata->schema()->group_node()->field(field)->name();
      WantedRows wanted(rows);
      auto read = in_chunk(row_group, name, [&] { return columns.read(field, wanted); });
      const bool is_whole = wanted.total() == metadata->RowGroup(row_group)->num_rows();
      if (wanted.found() != rows.size() || !is_whole || read->length() != wanted.kept()) {
        throw DataError(file.name + ": " + kDamagedParquet + ": column '" + name + "' of row group " +
                        std::to_string(row_group) + ": pages do not have the rows that the file's metadata names");
      }
      values.push_back({std::move(read), wanted.places()});
    }
    return values;
  });
}

}  // namespace skyrank::datasets
