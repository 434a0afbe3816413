#include <arrow/array.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/config.h>
#include <arrow/util/thread_pool.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "datasets/arrow/arrow_schema.hpp"
#include "datasets/arrow/arrow_threads.hpp"
#include "datasets/arrow/arrow_types.hpp"
#include "datasets/columnar/column_pages.hpp"
#include "datasets/columnar/columnar.hpp"
#include "datasets/columnar/decode/flat_column.hpp"
#include "datasets/columnar/decode/joined_codes.hpp"
#include "datasets/columnar/footer/parquet_errors.hpp"
#include "datasets/columnar/footer/parquet_footer.hpp"
#include "datasets/columnar/int96.hpp"
#include "datasets/columnar/memory_reserve.hpp"
#include "datasets/columnar/page_filter.hpp"
#include "datasets/input/input.hpp"
#include "datasets/input/uri.hpp"
#include "engine/checked_size.hpp"

// Parquet files by Arrow's reader: row groups, and dictionaries. flat_column.cpp decodes flat columns, which is
// faster; all other columns are Arrow's. Each call turns Arrow's errors into a DataError that names file and column.
namespace skyrank::datasets {
namespace {

using FileReaderPtr = std::shared_ptr<parquet::arrow::FileReader>;
using MetadataPtr = std::shared_ptr<parquet::FileMetaData>;
using TablePtr = std::shared_ptr<arrow::Table>;
using ValuesPtr = std::shared_ptr<arrow::ChunkedArray>;

arrow::Result<FileReaderPtr> open(const ColumnarFile& file, bool threads, MetadataPtr metadata,
                                  const std::vector<int>& dictionary_leaves = {}) {
  parquet::ArrowReaderProperties properties;
  properties.set_use_threads(threads);
  for (const int leaf : dictionary_leaves) properties.set_read_dictionary(leaf, true);
  // Column chunks are read when they are decoded, rather than all of them ahead.
  properties.set_pre_buffer(false);
  arrow::MemoryPool* pool = decoding_pool(file.size);
  auto pages = std::make_unique<parquet::ParquetFileReader>();
  pages->Open(with_checked_pages(file, std::move(metadata), parquet::ReaderProperties(pool)));
#if ARROW_VERSION_MAJOR >= 23
  return parquet::arrow::FileReader::Make(pool, std::move(pages), properties);
#else
  std::unique_ptr<parquet::arrow::FileReader> reader;
  ARROW_RETURN_NOT_OK(parquet::arrow::FileReader::Make(pool, std::move(pages), properties, &reader));
  return reader;
#endif
}

arrow::Result<ParquetFileInfo> read_info(const ColumnarFile& file) {
  ParquetFileInfo info{read_footer(file), nullptr};
  ARROW_ASSIGN_OR_RAISE(const auto reader, open(file, false, info.metadata));
  ARROW_RETURN_NOT_OK(reader->GetSchema(&info.schema));
  check_schema(*info.schema, file.name);
  return info;
}

std::vector<int> all_groups(const parquet::FileMetaData& metadata) {
  std::vector<int> groups(static_cast<std::size_t>(metadata.num_row_groups()));
  std::iota(groups.begin(), groups.end(), 0);
  return groups;
}

std::int64_t rows_of(const parquet::FileMetaData& metadata, const std::vector<int>& groups) {
  std::int64_t rows = 0;
  for (const int group : groups) rows += metadata.RowGroup(group)->num_rows();
  return rows;
}

/// Returns the failure to read several columns as that of the column at fault, which is found by reading each alone.
arrow::Status of_column(parquet::arrow::FileReader& reader, const std::vector<int>& groups,
                        const std::vector<int>& leaves, const arrow::Status& failure) {
  if (!failure.IsInvalid() && !failure.IsIOError()) return failure;
  const parquet::FileMetaData& metadata = *reader.parquet_reader()->metadata();
  for (const int leaf : leaves) {
    const auto column = reader.ReadRowGroups(groups, {leaf});
    if (column.ok() && (*column)->num_rows() == rows_of(metadata, groups)) continue;
    const std::string& message = column.ok() ? failure.message() : column.status().message();
    if (message.starts_with("column ")) return failure.WithMessage(message);
    return failure.WithMessage("column '", metadata.schema()->Column(leaf)->path()->ToDotString(), "': ", message);
  }
  return failure;
}

const parquet::arrow::SchemaField& stored_field(const parquet::arrow::FileReader& reader, int field) {
  return reader.manifest().schema_fields.at(static_cast<std::size_t>(field));
}

/// Reads fields of some row groups by Arrow.
arrow::Result<TablePtr> read_by_arrow(const ColumnarFile& file, FileReaderPtr reader, const std::vector<int>& groups,
                                      const std::vector<int>& fields, bool threads) {
  // The reader counts leaves of the schema's tree.
  std::vector<int> leaves;
  for (const int field : fields) leaves.push_back(stored_field(*reader, field).column_index);
  refuse_wide_int96(file, *reader->parquet_reader(), groups, leaves);
  try {
    auto table = reader->ReadRowGroups(groups, leaves);
    if (!table.ok()) return of_column(*reader, groups, leaves, table.status());
    if ((*table)->num_rows() != rows_of(*reader->parquet_reader()->metadata(), groups)) {
      return of_column(*reader, groups, leaves, arrow::Status::Invalid("its pages lack rows of its row groups"));
    }
    return table;
  } catch (...) {
    // Tasks that have begun use the reader, and the reader its file; neither may go before them.
    static_cast<void>(file.input->Close());
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): it stays, for the tasks
    if (threads && !arrow_tasks_have_ended()) static_cast<void>(new FileReaderPtr(std::move(reader)));
    throw;
  }
}

/// Fields of some row groups that are decoded here, in pieces: a field of a row group each, or of some of its pages.
class FlatFields {
 public:
  FlatFields(ColumnarFile file, FileReaderPtr reader, const ParquetSelection& selection)
      : file_(std::move(file)),
        reader_(std::move(reader)),
        metadata_(reader_->parquet_reader()->metadata()),
        groups_(selection.groups),
        is_one_file_(selection.is_one_file) {
    for (const int index : selection.fields) {
      const auto& stored = stored_field(*reader_, index);
      const parquet::ColumnDescriptor& column = *metadata_->schema()->Column(stored.column_index);
      const bool is_number = is_flat_number(*stored.field->type(), column);
      const bool may_be_codes = std::ranges::count(selection.dictionary_leaves, stored.column_index) > 0 ||
                                (is_one_file_ && !is_remote(file_.name));
      if (!is_number && !(may_be_codes && is_flat_text(*stored.field->type(), column))) continue;
      fields_.push_back({index, stored.column_index, stored.field, is_number, nullptr, {}, nullptr});
      if (!is_number) fields_.back().room = room_of_dictionaries();
    }
    pages_.resize(checked_multiply(fields_.size(), groups_.size(), "the number of column chunks"));
  }

  /// Returns the number of column chunks.
  std::size_t chunks() const { return pages_.size(); }

  /// Divides the pages of a chunk into ranges of at least so many rows. Threads divide other ones at the same time.
  void divide(std::size_t chunk, std::int64_t rows) {
    const int group = groups_[chunk % groups_.size()];
    if (metadata_->RowGroup(group)->num_rows() / 2 < rows) return;
    pages_[chunk] = divide_pages(file_, metadata_, group, fields_[chunk / groups_.size()].leaf, rows);
  }

  /// Returns the number of pieces; they are made once chunks are divided, or remain whole.
  std::size_t make_pieces() {
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      std::vector<std::int64_t> rows;
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        const std::vector<PageRange>& pages = pages_[f * groups_.size() + g];
        if (pages.empty()) {
          pieces_.push_back({f, rows.size(), groups_[g], nullptr});
          rows.push_back(metadata_->RowGroup(groups_[g])->num_rows());
        }
        for (const PageRange& range : pages) {
          pieces_.push_back({f, rows.size(), groups_[g], &range});
          rows.push_back(range.rows);
        }
      }
      Field& field = fields_[f];
      field.strings.resize(field.is_number ? 0 : rows.size());
      if (!field.is_number) continue;
      field.numbers = std::make_unique<FlatNumbers>(field.stored->type(), rows, decoding_pool(file_.size));
    }
    return pieces_.size();
  }

  /// Returns true if there are pieces that are not a whole row group.
  bool are_divided() const { return pieces_.size() > chunks(); }

  /// Reads a piece. Threads read other ones at the same time.
  void read(std::size_t number) {
    const Piece& piece = pieces_[number];
    Field& field = fields_[piece.field];
    in_chunk(piece.group, field.stored->name(), [&] {
      const bool is_whole = piece.pages == nullptr;
      const auto group = is_whole ? reader_->parquet_reader()->RowGroup(piece.group)
                                  : open_page_range(file_, metadata_, piece.group, *piece.pages);
      if (field.is_number) return field.numbers->read(piece.part, *group, field.leaf);
      const std::int64_t rows = is_whole ? group->metadata()->num_rows() : piece.pages->rows;
      if (*field.room < 0) return;
      auto& codes = field.strings[piece.part];
      codes = read_flat_strings(*group, field.leaf, rows, decoding_pool(file_.size));
      if (codes != nullptr) return;
      constexpr std::int64_t kFewOfOne = 1024;
      const std::int64_t few = groups_.size() > 1 ? kFewTexts : kFewOfOne;
      codes = code_flat_strings(*group, field.leaf, rows, few, decoding_pool(file_.size));
      if (codes == nullptr || !takes(*field.room, bytes_of(*codes))) *field.room = -1;
    });
  }

  /// Returns a field's values, null where they are not decoded here, once all pieces are read.
  ValuesPtr take(int index, bool threads) {
    const auto field = std::ranges::find(fields_, index, &Field::index);
    if (field == fields_.end()) return nullptr;
    if (field->is_number) return std::make_shared<arrow::ChunkedArray>(field->numbers->finish());
    if (*field->room < 0) return nullptr;
    return std::make_shared<arrow::ChunkedArray>(
        joined_codes(field->strings, is_one_file_, threads, decoding_pool(file_.size)));
  }

 private:
  /// Bytes that the dictionaries which are made of a field may still take. Where all together take more, its strings
  /// come one by one: whichever thread finds out, the sum is the same.
  using Room = std::atomic<std::int64_t>;

  std::unique_ptr<Room> room_of_dictionaries() const {
    constexpr std::int64_t kFew = std::int64_t{1} << 20;
    constexpr std::int64_t kBytesOfRow = 8;
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();  // of one array
    const std::int64_t rows = std::min(rows_of(*metadata_, groups_), kMost / kBytesOfRow);
    return std::make_unique<Room>(std::min(kFew + kBytesOfRow * rows, kMost));
  }

  /// Takes bytes of the room, and returns true if it had them.
  static bool takes(Room& room, std::int64_t bytes) { return room.fetch_sub(bytes) >= bytes; }

  static std::int64_t bytes_of(const arrow::Array& codes) {
    constexpr std::int64_t kBytesOfEntry = 16;  // beside its text
    const auto& texts =
        static_cast<const arrow::StringArray&>(*static_cast<const arrow::DictionaryArray&>(codes).dictionary());
    return texts.total_values_length() + kBytesOfEntry * texts.length();
  }

  struct Field {
    int index = 0;
    int leaf = 0;
    std::shared_ptr<arrow::Field> stored;
    bool is_number = false;                // or a string
    std::unique_ptr<FlatNumbers> numbers;  // null: strings, or there are no pieces yet
    arrow::ArrayVector strings;            // by part
    std::unique_ptr<Room> room;            // null: numbers
  };

  /// Rows of a field that are read at once.
  struct Piece {
    std::size_t field = 0;
    std::size_t part = 0;  // among those of the field
    int group = 0;
    const PageRange* pages = nullptr;  // null: the whole row group
  };

  ColumnarFile file_;
  FileReaderPtr reader_;
  MetadataPtr metadata_;
  std::vector<int> groups_;
  bool is_one_file_;
  std::vector<Field> fields_;
  std::vector<std::vector<PageRange>> pages_;  // by field and row group; none where a chunk is read as a whole
  std::vector<Piece> pieces_;
};

/// Returns how many rows a piece has at least, so that all threads have some; nothing where one thread reads.
std::optional<std::int64_t> rows_of_piece(const parquet::FileMetaData& metadata, const ParquetSelection& selection,
                                          bool threads) {
  constexpr std::int64_t kPiecesOfThread = 2;
  if (!threads) return std::nullopt;
  const std::int64_t pieces = kPiecesOfThread * arrow::GetCpuThreadPoolCapacity();
  return std::max(selection.min_rows, rows_of(metadata, selection.groups) / pieces);
}

/// Reads the pieces of fields. Tasks share the fields, which they may outlive where the pool fails to take one. Returns
/// null where pages of a divided chunk are damaged: which ones, reading it as a whole tells.
std::shared_ptr<FlatFields> read_pieces(const ColumnarFile& file, const FileReaderPtr& reader,
                                        const ParquetSelection& selection, std::optional<std::int64_t> rows,
                                        bool threads) {
  auto flat = std::make_shared<FlatFields>(file, reader, selection);
  if (rows) run_each(flat->chunks() > 1, flat->chunks(), [=](std::size_t chunk) { flat->divide(chunk, *rows); });
  const std::size_t pieces = flat->make_pieces();
  try {
    run_each(threads && pieces > 1, pieces, [flat](std::size_t piece) { flat->read(piece); });
  } catch (const parquet::ParquetStatusException&) {
    throw;
  } catch (const parquet::ParquetException&) {
    if (!flat->are_divided()) throw;
    return nullptr;
  }
  return flat;
}

std::shared_ptr<FlatFields> read_flat(const ColumnarFile& file, const FileReaderPtr& reader,
                                      const ParquetSelection& selection, bool threads) {
  try {
    const auto rows = rows_of_piece(*reader->parquet_reader()->metadata(), selection, threads);
    auto flat = read_pieces(file, reader, selection, rows, threads);
    return flat != nullptr ? flat : read_pieces(file, reader, selection, std::nullopt, threads);
  } catch (...) {
    static_cast<void>(file.input->Close());
    throw;
  }
}

/// Reads fields of some row groups: flat ones here, the others by Arrow.
arrow::Result<TablePtr> read_fields(const ColumnarFile& file, const MetadataPtr& metadata,
                                    const ParquetSelection& selection, bool threads) {
  ARROW_ASSIGN_OR_RAISE(const FileReaderPtr reader, open(file, threads, metadata, selection.dictionary_leaves));
  const auto flat = read_flat(file, reader, selection, threads);
  std::vector<ValuesPtr> columns;
  std::vector<int> others;
  for (const int field : selection.fields) {
    columns.push_back(flat->take(field, threads));
    if (columns.back() == nullptr) others.push_back(field);
  }
  TablePtr rest;
  if (!others.empty()) {
    ARROW_ASSIGN_OR_RAISE(rest, read_by_arrow(file, reader, selection.groups, others, threads));
  }
  arrow::FieldVector fields;
  int next = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] == nullptr) columns[i] = rest->column(next++);
    fields.push_back(stored_field(*reader, selection.fields[i]).field->WithType(columns[i]->type()));
  }
  return arrow::Table::Make(arrow::schema(std::move(fields)), std::move(columns), rows_of(*metadata, selection.groups));
}

template <class Read>
auto guarded(const ColumnarFile& file, const Read& read) {
  const MemoryReserve reserve;
  auto result = with_parquet_errors(file.name, read);
  check(result.status(), file.name, kDamagedParquet);
  reserve.check();
  return *std::move(result);
}

/// Returns true if all row groups have dictionaries of a field: of other values, Arrow makes dictionaries in the order
/// in which they come.
bool all_tell_order(const ColumnarFile& file, const MetadataPtr& metadata, int field) {
  return std::ranges::all_of(all_groups(*metadata),
                             [&](int group) { return parquet_dictionary(file, metadata, group, field).has_value(); });
}

}  // namespace

std::shared_ptr<arrow::Table> parquet_table(const ColumnarFile& file, const std::vector<int>& indices, bool threads) {
  const auto metadata = guarded(file, [&]() -> arrow::Result<MetadataPtr> { return read_footer(file); });
  auto table = guarded(file, [&]() -> arrow::Result<TablePtr> {
    return read_fields(file, metadata, {all_groups(*metadata), indices, {}, /*is_one_file=*/false}, threads);
  });
  for (int i = 0; i < table->num_columns(); ++i) {
    const auto& column = table->column(i);
    const int field = indices[static_cast<std::size_t>(i)];
    if (!is_ordered_dictionary(*column->type()) || all_tell_order(file, metadata, field)) continue;
    const auto values = without_order(column);
    auto changed = table->SetColumn(i, table->field(i)->WithType(values->type()), values);
    check(changed.status(), file.name, kDamagedParquet);
    table = *std::move(changed);
  }
  return table;
}

ParquetFileInfo parquet_info(const ColumnarFile& file) {
  return guarded(file, [&] { return read_info(file); });
}

std::shared_ptr<arrow::Schema> parquet_schema(const ColumnarFile& file) { return parquet_info(file).schema; }

std::shared_ptr<arrow::Table> parquet_row_groups(const ColumnarFile& file,
                                                 const std::shared_ptr<parquet::FileMetaData>& metadata,
                                                 const ParquetSelection& selection, bool threads) {
  return guarded(file, [&] { return read_fields(file, metadata, selection, threads); });
}

std::shared_ptr<arrow::Array> parquet_codes(const ColumnarFile& file,
                                            const std::shared_ptr<parquet::FileMetaData>& metadata, int group,
                                            int field) {
  return guarded(file, [&]() -> arrow::Result<std::shared_ptr<arrow::Array>> {
    ARROW_ASSIGN_OR_RAISE(auto reader, open(file, false, metadata));
    const auto& stored = stored_field(*reader, field);
    const auto row_group = reader->parquet_reader()->RowGroup(group);
    return in_chunk(group, stored.field->name(), [&] {
      return read_flat_codes(*row_group, stored.column_index, stored.field->type(), decoding_pool(file.size));
    });
  });
}

std::optional<std::vector<std::string>> parquet_dictionary(const ColumnarFile& file,
                                                           const std::shared_ptr<parquet::FileMetaData>& metadata,
                                                           int group, int field) {
  using Texts = std::optional<std::vector<std::string>>;
  return guarded(file, [&]() -> arrow::Result<Texts> {
    ARROW_ASSIGN_OR_RAISE(auto reader, open(file, false, metadata));
    const int leaf = stored_field(*reader, field).column_index;
    const auto row_group = reader->parquet_reader()->RowGroup(group);
    const auto chunk = row_group->metadata()->ColumnChunk(leaf);
    const auto statistics = chunk->is_stats_set() ? chunk->statistics() : nullptr;
    const bool is_empty = statistics != nullptr && statistics->HasNullCount() && statistics->num_values() == 0;
    if (is_empty && !chunk->has_dictionary_page()) return Texts(std::in_place);
    return dictionary_texts(*row_group, leaf);
  });
}

}  // namespace skyrank::datasets
