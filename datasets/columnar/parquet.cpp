#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/config.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "datasets/arrow/arrow_schema.hpp"
#include "datasets/arrow/arrow_threads.hpp"
#include "datasets/arrow/arrow_types.hpp"
#include "datasets/columnar/column_pages.hpp"
#include "datasets/columnar/columnar.hpp"
#include "datasets/columnar/flat_column.hpp"
#include "datasets/columnar/footer/parquet_errors.hpp"
#include "datasets/columnar/footer/parquet_footer.hpp"
#include "datasets/columnar/int96.hpp"
#include "datasets/columnar/memory_reserve.hpp"
#include "datasets/input/input.hpp"

// Parquet files by Arrow's reader: whole tables, row groups, and dictionaries. flat_column.cpp decodes plain columns of
// a row group, which is faster; all other columns are Arrow's. Each call turns Arrow's errors into a DataError that
// names file and column.
namespace skyrank::datasets {
namespace {

arrow::Result<std::unique_ptr<parquet::arrow::FileReader>> open(const ColumnarFile& file, bool threads,
                                                                std::shared_ptr<parquet::FileMetaData> metadata,
                                                                const std::vector<int>& dictionary_leaves = {}) {
  parquet::ArrowReaderProperties properties;
  properties.set_use_threads(threads);
  for (const int leaf : dictionary_leaves) properties.set_read_dictionary(leaf, true);
  // Column chunks are read when they are decoded, rather than all of them ahead.
  properties.set_pre_buffer(false);
  arrow::MemoryPool* pool = decoding_pool(file.size);
  const parquet::ReaderProperties storage(pool);
  auto whole = parquet::ParquetFileReader::Contents::Open(file.input, storage, std::move(metadata));
  auto pages = std::make_unique<parquet::ParquetFileReader>();
  pages->Open(with_checked_pages(std::move(whole), file.input, storage));
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

using FileReaderPtr = std::unique_ptr<parquet::arrow::FileReader>;
using TablePtr = std::shared_ptr<arrow::Table>;

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

/// Reads fields of some row groups, or of all where none are named.
arrow::Result<std::shared_ptr<arrow::Table>> read_table(const ColumnarFile& file, FileReaderPtr reader,
                                                        const std::vector<int>& indices, bool threads,
                                                        const std::vector<int>* groups = nullptr) {
  const parquet::FileMetaData& all = *reader->parquet_reader()->metadata();
  if (indices.empty()) {
    const std::int64_t rows = groups == nullptr ? all.num_rows() : rows_of(all, *groups);
    return arrow::Table::Make(arrow::schema({}), std::vector<std::shared_ptr<arrow::ChunkedArray>>{}, rows);
  }
  // The reader counts leaves of the schema's tree.
  std::vector<int> leaves;
  for (const int index : indices) {
    leaves.push_back(reader->manifest().schema_fields.at(static_cast<std::size_t>(index)).column_index);
  }
  const std::vector<int> chosen = groups == nullptr ? all_groups(all) : *groups;
  refuse_wide_int96(file, *reader->parquet_reader(), chosen, leaves);
  try {
    auto table = groups == nullptr ? reader->ReadTable(leaves) : reader->ReadRowGroups(*groups, leaves);
    if (!table.ok()) return of_column(*reader, chosen, leaves, table.status());
    if ((*table)->num_rows() != rows_of(all, chosen)) {
      return of_column(*reader, chosen, leaves, arrow::Status::Invalid("its pages lack rows of its row groups"));
    }
    return table;
  } catch (...) {
    // Tasks that have begun use the reader, and the reader its file; neither may go before them.
    static_cast<void>(file.input->Close());
    // NOLINTNEXTLINE(bugprone-unused-return-value): it stays, for the tasks
    if (threads && !arrow_tasks_have_ended()) static_cast<void>(reader.release());
    throw;
  }
}

/// Reads fields of one row group: those of flat columns here, the others by Arrow.
arrow::Result<TablePtr> read_row_group(const ColumnarFile& file, FileReaderPtr reader, int group,
                                       const std::vector<int>& indices) {
  const parquet::arrow::SchemaManifest& manifest = reader->manifest();
  std::vector<std::shared_ptr<arrow::Array>> flat(indices.size());
  const auto row_group = reader->parquet_reader()->RowGroup(group);
  std::vector<int> others;
  arrow::FieldVector fields;
  for (std::size_t i = 0; i < flat.size(); ++i) {
    const auto& field = manifest.schema_fields.at(static_cast<std::size_t>(indices[i]));
    flat[i] = in_chunk(group, field.field->name(), [&] {
      return read_flat_column(*row_group, field.column_index, field.field->type(), decoding_pool(file.size));
    });
    fields.push_back(field.field);
    if (flat[i] == nullptr) others.push_back(indices[i]);
  }
  const std::int64_t rows = row_group->metadata()->num_rows();
  TablePtr rest;
  if (!others.empty() || flat.empty()) {
    const std::vector<int> groups = {group};
    ARROW_ASSIGN_OR_RAISE(rest, read_table(file, std::move(reader), others, false, &groups));
    if (rest->num_rows() != rows) return arrow::Status::Invalid("a row group has columns of different lengths");
  }
  std::vector<std::shared_ptr<arrow::ChunkedArray>> columns;
  int next = 0;
  for (std::size_t i = 0; i < flat.size(); ++i) {
    columns.push_back(flat[i] != nullptr ? std::make_shared<arrow::ChunkedArray>(flat[i]) : rest->column(next++));
    fields[i] = fields[i]->WithType(columns.back()->type());
  }
  return arrow::Table::Make(arrow::schema(std::move(fields)), std::move(columns), rows);
}

using MetadataPtr = std::shared_ptr<parquet::FileMetaData>;

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
    ARROW_ASSIGN_OR_RAISE(auto reader, open(file, threads, metadata));
    return read_table(file, std::move(reader), indices, threads);
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
  return guarded(file, [&]() -> arrow::Result<std::shared_ptr<arrow::Table>> {
    ARROW_ASSIGN_OR_RAISE(auto reader, open(file, threads, metadata, selection.dictionary_leaves));
    return read_table(file, std::move(reader), selection.fields, threads, &selection.groups);
  });
}

std::shared_ptr<arrow::Array> parquet_codes(const ColumnarFile& file,
                                            const std::shared_ptr<parquet::FileMetaData>& metadata, int group,
                                            int field) {
  return guarded(file, [&]() -> arrow::Result<std::shared_ptr<arrow::Array>> {
    ARROW_ASSIGN_OR_RAISE(auto reader, open(file, false, metadata));
    const auto& stored = reader->manifest().schema_fields.at(static_cast<std::size_t>(field));
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
    const int leaf = reader->manifest().schema_fields.at(static_cast<std::size_t>(field)).column_index;
    const auto row_group = reader->parquet_reader()->RowGroup(group);
    const auto chunk = row_group->metadata()->ColumnChunk(leaf);
    const auto statistics = chunk->is_stats_set() ? chunk->statistics() : nullptr;
    const bool is_empty = statistics != nullptr && statistics->HasNullCount() && statistics->num_values() == 0;
    if (is_empty && !chunk->has_dictionary_page()) return Texts(std::in_place);
    return dictionary_texts(*row_group, leaf);
  });
}

std::shared_ptr<arrow::Table> parquet_row_group(const ColumnarFile& file,
                                                const std::shared_ptr<parquet::FileMetaData>& metadata, int group,
                                                const std::vector<int>& fields) {
  return guarded(file, [&]() -> arrow::Result<std::shared_ptr<arrow::Table>> {
    ARROW_ASSIGN_OR_RAISE(auto reader, open(file, false, metadata));
    return read_row_group(file, std::move(reader), group, fields);
  });
}

}  // namespace skyrank::datasets
