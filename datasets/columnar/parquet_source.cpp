#include "datasets/columnar/parquet_source.hpp"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/chunked_array.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/parallel.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <numeric>
#include <skyrank/error.hpp>
#include <utility>

#include "datasets/arrow/arrow_table.hpp"
#include "datasets/arrow/arrow_types.hpp"
#include "datasets/columnar/checks/chunk_places.hpp"
#include "datasets/columnar/checks/true_bounds.hpp"
#include "datasets/columnar/columnar.hpp"
#include "datasets/columnar/decode/flat_column.hpp"
#include "datasets/columnar/footer/parquet_errors.hpp"
#include "datasets/columnar/footer/parquet_read_cost.hpp"
#include "datasets/columnar/page_filter.hpp"
#include "datasets/input/uri.hpp"
#include "engine/checked_size.hpp"

namespace skyrank::datasets {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;
using ValuesPtr = std::shared_ptr<arrow::ChunkedArray>;
using TablePtr = std::shared_ptr<arrow::Table>;

/// The type in which the statistics of a column of `type` come: that of single values.
TypePtr type_of_bound(const TypePtr& type) {
  const TypePtr values =
      type->id() == arrow::Type::DICTIONARY ? static_cast<const arrow::DictionaryType&>(*type).value_type() : type;
  const bool is_text = arrow::is_string(values->id()) || values->id() == arrow::Type::STRING_VIEW;
  return is_text ? arrow::utf8() : values;
}

/// A bound of a column in one row group.
using Bound = std::shared_ptr<arrow::Scalar>;

struct Bounds {
  Bound min;  // null: not known
  Bound max;
  std::optional<std::int64_t> nulls;
};

Bounds bounds_of(const parquet::FileMetaData& file, int row_group, int leaf) {
  Bounds bounds;
  const auto statistics = statistics_of(file, row_group, leaf);
  if (!statistics) return bounds;
  if (statistics->has_null_count) bounds.nulls = statistics->null_count;
  if (!statistics->has_min) return bounds;
  Bound min;
  Bound max;
  const auto values = file.RowGroup(row_group)->ColumnChunk(leaf)->statistics();
  if (values == nullptr || !parquet::arrow::StatisticsAsScalars(*values, &min, &max).ok()) return bounds;
  bounds.min = std::move(min);
  bounds.max = std::move(max);
  return bounds;
}

/// Bounds in their normal type.
std::optional<Column> column_of(const ValuesPtr& bounds, const std::string& file, const std::string& name) {
  const ValuesPtr normal = normalise(bounds, file, name);
  if (normal == nullptr) return std::nullopt;
  const auto schema = arrow::schema({arrow::field(name, normal->type())});
  return to_skyrank(arrow::Table::Make(schema, {normal}), file).column(0);
}

/// Bounds as a column of `type`; those of another type are not known.
std::optional<Column> column_of(const std::vector<Bound>& bounds, const TypePtr& type, const std::string& file,
                                const std::string& name) {
  arrow::ArrayVector values;
  for (Bound bound : bounds) {
    if (bound != nullptr && type->id() == arrow::Type::STRING && bound->type->id() == arrow::Type::BINARY) {
      bound = std::make_shared<arrow::StringScalar>(static_cast<const arrow::BinaryScalar&>(*bound).value);
    }
    const bool known = bound != nullptr && bound->type->Equals(*type);
    auto value = known ? arrow::MakeArrayFromScalar(*bound, 1) : arrow::MakeArrayOfNull(type, 1);
    if (!value.ok()) return std::nullopt;
    values.push_back(*std::move(value));
  }
  return column_of(std::make_shared<arrow::ChunkedArray>(std::move(values), type), file, name);
}

using MetadataPtr = std::shared_ptr<parquet::FileMetaData>;

/// Columns of Parquet are the leaves of the schema's tree; fields that are read are leaves themselves.
int leaf_of(const parquet::FileMetaData& metadata, int field) {
  const parquet::schema::NodePtr& node = metadata.schema()->group_node()->field(field);
  return metadata.schema()->GetColumnIndex(static_cast<const parquet::schema::PrimitiveNode&>(*node));
}

/// Returns the metadata of a column chunk.
std::unique_ptr<parquet::ColumnChunkMetaData> chunk_of(const parquet::FileMetaData& file, int row_group, int field) {
  return in_chunk(row_group, file.schema()->group_node()->field(field)->name(),
                  [&] { return file.RowGroup(row_group)->ColumnChunk(leaf_of(file, field)); });
}

std::vector<FileUnit> row_groups_of(const std::vector<MetadataPtr>& metadata) {
  std::vector<FileUnit> groups;
  for (std::size_t f = 0; f < metadata.size(); ++f) {
    for (int i = 0; i < metadata[f]->num_row_groups(); ++i) {
      groups.push_back({f, i, metadata[f]->RowGroup(i)->num_rows()});
    }
  }
  return groups;
}

/// Returns the bytes of all chunks that are to be read, and tells row groups those of their texts. What is wrong with
/// the chunks' metadata is found here, by the file's name.
std::uint64_t bytes_of(const std::vector<TableFile>& files, const std::vector<MetadataPtr>& metadata,
                       std::vector<FileUnit>& groups, const SourceFields& columns) {
  std::size_t bytes = 0;
  for (FileUnit& group : groups) {
    with_parquet_errors(files[group.file].name, [&] {
      std::size_t texts = 0;
      for (std::size_t c = 0; c < columns.fields.size(); ++c) {
        const auto chunk = chunk_of(*metadata[group.file], group.index, columns.fields[c]);
        bytes = checked_add(bytes, chunk->total_compressed_size(), "the size of all columns");
        if (columns.schema.column(static_cast<int>(c)).type() != Type::string) continue;
        texts =
            checked_add(texts, std::max<std::int64_t>(0, chunk->total_uncompressed_size()), "the size of all texts");
      }
      group.text_bytes = texts;
    });
  }
  return bytes;
}

/// Returns true if all values of a column chunk are indices into its dictionary: writers give that up within a chunk
/// where there are too many different values. Files that do not tell are taken to have done so, unless they name no
/// encoding in which a page of values may be.
bool has_indices_alone(const parquet::ColumnChunkMetaData& chunk) {
  const auto& pages = chunk.encoding_stats();
  if (may_have_indices(chunk)) {
    return std::ranges::all_of(chunk.encodings(), [](parquet::Encoding::type encoding) {
      return encoding == parquet::Encoding::PLAIN_DICTIONARY || encoding == parquet::Encoding::RLE ||
             encoding == parquet::Encoding::BIT_PACKED;
    });
  }
  return chunk.has_dictionary_page() &&
         std::ranges::all_of(pages,
                             [](const parquet::PageEncodingStats& page) {
                               const bool is_data = page.page_type == parquet::PageType::DATA_PAGE ||
                                                    page.page_type == parquet::PageType::DATA_PAGE_V2;
                               return !is_data || page.encoding == parquet::Encoding::RLE_DICTIONARY ||
                                      page.encoding == parquet::Encoding::PLAIN_DICTIONARY;
                             }) &&
         !pages.empty();
}

/// Returns true for strings of which a writer made no dictionary, as some never do, and others where a row group is
/// short: codes are made while they are read, unless few are equal.
bool may_make_codes(const parquet::ColumnChunkMetaData& chunk, const std::string& file) {
  return !chunk.has_dictionary_page() && !is_remote(file);
}

/// Returns the columns of strings that are stored as indices into dictionaries in all files: they are grouped by and
/// compared as indices, and their strings are not made.
std::vector<int> dictionary_leaves_of(const std::vector<MetadataPtr>& files, const arrow::Schema& schema,
                                      const std::vector<int>& fields) {
  const auto is_indices = [](const parquet::FileMetaData& file, int leaf) {
    for (int i = 0; i < file.num_row_groups(); ++i) {
      if (!has_indices_alone(*file.RowGroup(i)->ColumnChunk(leaf))) return false;
    }
    return true;
  };
  std::vector<int> leaves;
  for (const int field : fields) {
    const arrow::Type::type type = type_of_values(*schema.field(field)->type()).id();
    if (!arrow::is_string(type) && type != arrow::Type::STRING_VIEW) continue;
    const int leaf = leaf_of(*files.front(), field);
    if (std::ranges::all_of(files, [&](const MetadataPtr& file) { return is_indices(*file, leaf); })) {
      leaves.push_back(leaf);
    }
  }
  return leaves;
}

class ParquetSource final : public ColumnarSource {
 public:
  ParquetSource(std::vector<TableFile> files, std::vector<MetadataPtr> metadata, std::shared_ptr<arrow::Schema> stored,
                SourceFields columns, std::vector<FileUnit> row_groups, std::uint64_t bytes, const ReadOptions& options)
      : ColumnarSource(std::move(files), std::move(stored), std::move(columns), std::move(row_groups), bytes, options),
        metadata_(std::move(metadata)),
        dictionary_leaves_(dictionary_leaves_of(metadata_, stored_schema(), fields())),
        statistics_(fields().size()),
        costs_(fields().size()) {}

  std::optional<UnitStatistics> statistics(int column) const override {
    KeptStatistics& kept = statistics_[static_cast<std::size_t>(column)];
    std::call_once(kept.once, [&] { kept.statistics = read_statistics(column); });
    return kept.statistics;
  }

  std::optional<ReadCost> read_cost(int column) const override {
    KeptCost& kept = costs_[static_cast<std::size_t>(column)];
    std::call_once(kept.once, [&] { kept.cost = find_cost(column); });
    return kept.cost;
  }

  bool has_codes(int column) const override {
    const int field = fields()[static_cast<std::size_t>(column)];
    const parquet::FileMetaData& first = *metadata_.front();
    const bool is_text =
        is_flat_text(*stored_schema().field(field)->type(), *first.schema()->Column(leaf_of(first, field)));
    return std::ranges::all_of(places(), [&](const FileUnit& group) {
      const auto chunk = chunk_of(*metadata_[group.file], group.index, field);
      return has_indices_alone(*chunk) || (is_text && may_make_codes(*chunk, file(group.file).name));
    });
  }

 private:
  /// Bounds of a column in all row groups. Each query asks for them several times, and many small row groups take
  /// longer to tell them than to be left out by them.
  struct KeptStatistics {
    std::once_flag once;
    std::optional<UnitStatistics> statistics;
  };

  struct KeptCost {
    std::once_flag once;
    std::optional<ReadCost> cost;
  };

  /// Prices a column by some of its chunks, from all over the files.
  std::optional<ReadCost> find_cost(int column) const {
    constexpr std::size_t kLookedAt = 16;
    const int field = fields()[static_cast<std::size_t>(column)];
    ParquetReadCost cost(schema().column(column).type() == Type::string);
    const std::size_t step = std::max<std::size_t>(1, places().size() / kLookedAt);
    try {
      for (std::size_t i = 0; i < places().size(); i += step) {
        const FileUnit& group = places()[i];
        const auto chunk = chunk_of(*metadata_[group.file], group.index, field);
        cost.add(*chunk, has_indices_alone(*chunk));
      }
    } catch (const DataError&) {  // damaged, which matters only where the rows are read
      return std::nullopt;
    } catch (const parquet::ParquetException&) {
      return std::nullopt;
    }
    return cost.cost();
  }

  std::optional<UnitStatistics> read_statistics(int column) const {
    const int field = fields()[static_cast<std::size_t>(column)];
    std::vector<Bound> mins;
    std::vector<Bound> maxs;
    std::vector<std::optional<std::int64_t>> nulls;
    try {
      for (const FileUnit& group : places()) {
        const parquet::FileMetaData& metadata = *metadata_[group.file];
        Bounds bounds = bounds_of(metadata, group.index, leaf_of(metadata, field));
        mins.push_back(std::move(bounds.min));
        maxs.push_back(std::move(bounds.max));
        nulls.push_back(bounds.nulls);
      }
      const TypePtr type = type_of_bound(stored_schema().field(field)->type());
      const std::string& name = schema().column(column).name();
      auto min = column_of(mins, type, file(0).name, name);
      auto max = column_of(maxs, type, file(0).name, name);
      if (!min || !max) return std::nullopt;
      return UnitStatistics{*std::move(min), *std::move(max), std::move(nulls)};
    } catch (const DataError&) {  // bounds that are cut short may be no text
      return std::nullopt;
    } catch (const parquet::ParquetException&) {  // damaged, which matters only where the rows are read
      return std::nullopt;
    }
  }

  std::shared_ptr<arrow::Array> read_codes(std::size_t f, const ColumnarFile& file, int unit,
                                           int field) const override {
    return parquet_codes(file, metadata_[f], unit, field);
  }

  std::optional<ZoneStatistics> read_zones(std::size_t f, const ColumnarFile& file, int unit,
                                           int field) const override {
    const auto& stored = *stored_schema().field(field);
    auto bounds = read_page_bounds(file, metadata_[f], unit, leaf_of(*metadata_[f], field), stored.type());
    if (!bounds) return std::nullopt;
    auto min = column_of(std::make_shared<arrow::ChunkedArray>(bounds->min), file.name, stored.name());
    auto max = column_of(std::make_shared<arrow::ChunkedArray>(bounds->max), file.name, stored.name());
    if (!min || !max) return std::nullopt;
    return ZoneStatistics{std::move(bounds->rows), {*std::move(min), *std::move(max), std::move(bounds->nulls)}};
  }

  TablePtr read_units(std::size_t f, const ColumnarFile& file, const Selection& selection) const override {
    return parquet_row_groups(file, metadata_[f],
                              {selection.units, selection.fields, dictionary_leaves_, selection.is_one_file},
                              selection.threads);
  }

  std::vector<UnitValues> read_values(std::size_t f, const ColumnarFile& file, int unit, std::span<const int> fields,
                                      std::span<const std::int64_t> rows) const override {
    return read_pages(file, metadata_[f], unit, fields, rows);
  }

  std::vector<MetadataPtr> metadata_;  // by file
  std::vector<int> dictionary_leaves_;
  mutable std::vector<KeptStatistics> statistics_;  // by column
  mutable std::vector<KeptCost> costs_;             // likewise
};

/// Reads the first values of a field of bytes in a row group.
struct SampleOf {
  const std::vector<TableFile>& files;
  const std::vector<MetadataPtr>& metadata;
  int field = 0;

  ValuesPtr operator()(const FileUnit& group, std::int64_t rows) const {
    const TableFile& file = files[group.file];
    std::vector<std::int64_t> first(static_cast<std::size_t>(rows));
    std::iota(first.begin(), first.end(), std::int64_t{0});
    const std::vector<UnitValues> read = read_pages({file.data->reader({}), file.data->size(), file.name},
                                                    metadata[group.file], group.index, std::span(&field, 1), first);
    file.data->check_unchanged();
    if (files.size() > 1) file.data->close();
    return read.front().values;
  }
};

ParquetFileInfo info_of(const TableFile& file) {
  ParquetFileInfo info = parquet_info({file.data->reader({}), file.data->size(), file.name});
  file.data->check_unchanged();
  return info;
}

}  // namespace

std::shared_ptr<const ColumnarSource> parquet_source(std::vector<TableFile> files, const ReadOptions& options) {
  std::vector<MetadataPtr> metadata;
  std::shared_ptr<arrow::Schema> stored;
  for (const TableFile& file : files) {
    ParquetFileInfo info = info_of(file);
    if (files.size() > 1) file.data->close();
    if (stored == nullptr) stored = info.schema;
    if (!info.schema->Equals(*stored, /*check_metadata=*/false)) return nullptr;
    metadata.push_back(std::move(info.metadata));
  }
  std::vector<FileUnit> groups = row_groups_of(metadata);
  const auto sample = [&](int field) { return reason_against_text(groups, SampleOf{files, metadata, field}); };
  auto columns = source_fields(*stored, options, files.front().name, sample);
  if (!columns) return nullptr;
  const std::uint64_t bytes = bytes_of(files, metadata, groups, *columns);
  std::vector<int> leaves;
  for (const int field : columns->fields) leaves.push_back(leaf_of(*metadata.front(), field));
  for (std::size_t f = 0; f < files.size(); ++f) refuse_common_bytes(*metadata[f], leaves, files[f].name);
  set_orders(*columns, *stored, groups, files.front().name, [&](const FileUnit& group, int field) {
    const TableFile& file = files[group.file];
    auto texts = parquet_dictionary({file.data->reader({}), file.data->size(), file.name}, metadata[group.file],
                                    group.index, field);
    if (files.size() > 1) file.data->close();
    return texts;
  });
  return std::make_shared<ParquetSource>(std::move(files), std::move(metadata), std::move(stored), *std::move(columns),
                                         std::move(groups), bytes, options);
}

}  // namespace skyrank::datasets
