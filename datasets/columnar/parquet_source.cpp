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
#include <cmath>
#include <exception>
#include <mutex>
#include <numeric>
#include <skyrank/error.hpp>
#include <utility>

#include "datasets/arrow/arrow_table.hpp"
#include "datasets/arrow/arrow_types.hpp"
#include "datasets/columnar/columnar.hpp"
#include "datasets/columnar/page_filter.hpp"

namespace skyrank::datasets {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;
using ValuesPtr = std::shared_ptr<arrow::ChunkedArray>;
using TablePtr = std::shared_ptr<arrow::Table>;

bool is_bytes(const TypePtr& type) {
  const TypePtr values =
      type->id() == arrow::Type::DICTIONARY ? static_cast<const arrow::DictionaryType&>(*type).value_type() : type;
  return arrow::is_binary_like(values->id())
             ? !arrow::is_string(values->id())
             : values->id() == arrow::Type::LARGE_BINARY || values->id() == arrow::Type::BINARY_VIEW ||
                   values->id() == arrow::Type::FIXED_SIZE_BINARY;
}

/// The type in which the statistics of a column of `type` come: that of single values.
TypePtr type_of_bound(const TypePtr& type) {
  const TypePtr values =
      type->id() == arrow::Type::DICTIONARY ? static_cast<const arrow::DictionaryType&>(*type).value_type() : type;
  const bool is_text = arrow::is_string(values->id()) || values->id() == arrow::Type::STRING_VIEW;
  return is_text ? arrow::utf8() : values;
}

bool is_nan(const arrow::Scalar& value) {
  if (value.type->id() == arrow::Type::FLOAT) return std::isnan(static_cast<const arrow::FloatScalar&>(value).value);
  return value.type->id() == arrow::Type::DOUBLE && std::isnan(static_cast<const arrow::DoubleScalar&>(value).value);
}

/// A bound of a column in one row group.
using Bound = std::shared_ptr<arrow::Scalar>;

struct Bounds {
  Bound min;  // null: not known
  Bound max;
  std::optional<std::int64_t> nulls;
};

Bounds bounds_of(const parquet::ColumnChunkMetaData& chunk) {
  Bounds bounds;
  const auto statistics = chunk.is_stats_set() ? chunk.statistics() : nullptr;
  if (statistics == nullptr) return bounds;
  if (statistics->HasNullCount()) bounds.nulls = statistics->null_count();
  // Timestamps of 96 bits have no order that all writers share.
  if (!statistics->HasMinMax() || chunk.type() == parquet::Type::INT96) return bounds;
  Bound min;
  Bound max;
  if (!parquet::arrow::StatisticsAsScalars(*statistics, &min, &max).ok()) return bounds;
  // A writer that lets NaN in may have lost every other bound by it.
  if (min == nullptr || max == nullptr || is_nan(*min) || is_nan(*max)) return bounds;
  bounds.min = std::move(min);
  bounds.max = std::move(max);
  return bounds;
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
  const ValuesPtr normal = normalise(std::make_shared<arrow::ChunkedArray>(std::move(values), type), file, name);
  if (normal == nullptr) return std::nullopt;
  const auto schema = arrow::schema({arrow::field(name, normal->type())});
  return to_skyrank(arrow::Table::Make(schema, {normal}), file).column(0);
}

struct OpenFile {
  ParquetFile file;
  std::shared_ptr<parquet::FileMetaData> metadata;
  std::shared_ptr<arrow::Schema> schema;
};

/// A row group of one of the files.
struct RowGroup {
  std::size_t file = 0;
  int index = 0;
};

class ParquetSource final : public Source {
 public:
  ParquetSource(std::vector<OpenFile> files, std::vector<int> fields, Table schema, const ReadOptions& options)
      : files_(std::move(files)), fields_(std::move(fields)), schema_(std::move(schema)), options_(options) {
    for (std::size_t f = 0; f < files_.size(); ++f) {
      const parquet::FileMetaData& metadata = *files_[f].metadata;
      for (int i = 0; i < metadata.num_row_groups(); ++i) {
        const auto row_group = metadata.RowGroup(i);
        groups_.push_back({f, i});
        units_.push_back({row_group->num_rows()});
        for (const int field : fields_) {
          bytes_ += static_cast<std::uint64_t>(row_group->ColumnChunk(leaf_of(f, field))->total_compressed_size());
        }
      }
    }
  }

  const Table& schema() const override { return schema_; }
  const std::vector<SourceUnit>& units() const override { return units_; }
  std::uint64_t bytes() const override { return bytes_; }

  std::optional<UnitStatistics> statistics(int column) const override {
    const int field = fields_[static_cast<std::size_t>(column)];
    std::vector<Bound> mins;
    std::vector<Bound> maxs;
    std::vector<std::optional<std::int64_t>> nulls;
    try {
      for (const RowGroup& group : groups_) {
        const auto row_group = files_[group.file].metadata->RowGroup(group.index);
        Bounds bounds = bounds_of(*row_group->ColumnChunk(leaf_of(group.file, field)));
        mins.push_back(std::move(bounds.min));
        maxs.push_back(std::move(bounds.max));
        nulls.push_back(bounds.nulls);
      }
      const TypePtr type = type_of_bound(files_.front().schema->field(field)->type());
      const std::string& name = schema_.column(column).name();
      auto min = column_of(mins, type, files_.front().file.name, name);
      auto max = column_of(maxs, type, files_.front().file.name, name);
      if (!min || !max) return std::nullopt;
      return UnitStatistics{*std::move(min), *std::move(max), std::move(nulls)};
    } catch (const DataError&) {  // bounds that are cut short may be no text
      return std::nullopt;
    } catch (const parquet::ParquetException&) {  // damaged, which matters only where the rows are read
      return std::nullopt;
    }
  }

  SourceRows read(std::span<const std::size_t> units, std::span<const int> columns) const override {
    // Units that are read one by one are read by several threads.
    const bool threads = options_.threads != 1 && (units.size() > 1 || units_.size() == 1);
    return counted([&](Meter& meter) {
      std::vector<int> fields;
      for (const int column : columns) fields.push_back(fields_[static_cast<std::size_t>(column)]);
      std::vector<TablePtr> tables;
      for (std::size_t f = 0; f < files_.size(); ++f) {
        std::vector<int> groups;
        for (const std::size_t unit : units) {
          if (groups_[unit].file == f) groups.push_back(groups_[unit].index);
        }
        if (!groups.empty()) tables.push_back(read_groups(f, groups, fields, threads, meter));
      }
      return in_schema(tables, columns);
    });
  }

  SourceRows read_rows(std::span<const RowId> rows, std::span<const int> columns) const override {
    return counted([&](Meter& meter) {
      std::vector<Column> all;
      const auto count = static_cast<std::int64_t>(rows.size());
      for (const Column& column : schema_.columns()) all.push_back(absent_column(column.name(), column.type(), count));
      const std::vector<RowsOfUnit> parts = by_unit(rows);
      for (const int column : columns) {
        all[static_cast<std::size_t>(column)] = read_column(parts, column, meter);
      }
      return Table(std::move(all));
    });
  }

 private:
  /// Counts the bytes that are read, from any thread.
  class Meter {
   public:
    Meter(const Progress& progress, std::uint64_t total) : progress_(progress), total_(total) {}
    BytesRead counter() {
      return [this](std::uint64_t bytes) {
        const std::scoped_lock lock(mutex_);
        bytes_ += bytes;
        if (progress_) progress_(std::min(bytes_, total_), total_);
      };
    }
    void finish() {
      if (progress_) progress_(total_, total_);
    }
    std::uint64_t bytes() const { return bytes_; }

   private:
    const Progress& progress_;
    std::uint64_t total_;
    std::mutex mutex_;
    std::uint64_t bytes_ = 0;
  };

  /// Chosen rows of one unit, counted within it.
  struct RowsOfUnit {
    std::size_t unit = 0;
    std::vector<std::int64_t> rows;
  };

  template <class Read>
  SourceRows counted(const Read& read) const {
    Meter meter(options_.progress, bytes_);
    SourceRows rows;
    rows.table = read(meter);
    meter.finish();
    rows.bytes = meter.bytes();
    return rows;
  }

  /// Columns of Parquet are the leaves of the schema's tree; fields that are read are leaves themselves.
  int leaf_of(std::size_t file, int field) const {
    const parquet::FileMetaData& metadata = *files_[file].metadata;
    const parquet::schema::NodePtr& node = metadata.schema()->group_node()->field(field);
    return metadata.schema()->GetColumnIndex(static_cast<const parquet::schema::PrimitiveNode&>(*node));
  }

  /// Runs `read` with an open file. Where the file changed meanwhile, this is the error to report.
  template <class Read>
  auto with_file(std::size_t f, Meter& meter, const Read& read) const {
    std::unique_lock lock(mutex_);  // files are opened again where they were closed
    DataFile& data = *files_[f].file.data;
    const ColumnarFile file{data.reader(meter.counter()), data.size(), files_[f].file.name};
    lock.unlock();
    try {
      auto result = read(file);
      static_cast<void>(file.input->Close());
      lock.lock();
      data.check_unchanged();
      if (files_.size() > 1) data.close();
      return result;
    } catch (const DataError&) {
      if (!lock.owns_lock()) lock.lock();
      data.check_unchanged();
      throw;
    }
  }

  TablePtr read_groups(std::size_t f, const std::vector<int>& groups, const std::vector<int>& fields, bool threads,
                       Meter& meter) const {
    const TablePtr stored = with_file(f, meter, [&](const ColumnarFile& file) {
      return parquet_row_groups(file, files_[f].metadata, groups, fields, threads);
    });
    std::vector<ValuesPtr> values;
    arrow::FieldVector named;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string& name = files_[f].schema->field(fields[i])->name();
      values.push_back(normalise(stored->column(static_cast<int>(i)), files_[f].file.name, name));
      named.push_back(arrow::field(name, values.back()->type()));
    }
    return arrow::Table::Make(arrow::schema(std::move(named)), std::move(values), stored->num_rows());
  }

  /// A table of all columns of the schema, of which some were read.
  Table in_schema(const std::vector<TablePtr>& tables, std::span<const int> columns) const {
    std::int64_t rows = 0;
    for (const TablePtr& table : tables) rows += table->num_rows();
    if (schema_.columns().empty()) return Table::with_rows(rows).with_unsupported(schema_.unsupported());
    std::vector<Column> all;
    for (const Column& column : schema_.columns()) all.push_back(absent_column(column.name(), column.type(), rows));
    if (!columns.empty() && rows > 0) {
      auto joined = arrow::ConcatenateTables(tables);
      check(joined.status(), files_.front().file.name, "joining files");
      const Table read = to_skyrank(*std::move(joined), files_.front().file.name);
      for (std::size_t i = 0; i < columns.size(); ++i) {
        all[static_cast<std::size_t>(columns[i])] = read.column(static_cast<int>(i));
      }
    }
    return Table(std::move(all)).with_unsupported(schema_.unsupported());
  }

  std::vector<RowsOfUnit> by_unit(std::span<const RowId> rows) const {
    std::vector<RowsOfUnit> parts;
    std::int64_t begin = 0;
    std::size_t next = 0;
    for (std::size_t unit = 0; unit < units_.size() && next < rows.size(); ++unit) {
      const std::int64_t end = begin + units_[unit].rows;
      RowsOfUnit part{unit, {}};
      for (; next < rows.size() && rows[next] < end; ++next) part.rows.push_back(rows[next] - begin);
      if (!part.rows.empty()) parts.push_back(std::move(part));
      begin = end;
    }
    return parts;
  }

  Column read_column(const std::vector<RowsOfUnit>& parts, int column, Meter& meter) const {
    const int field = fields_[static_cast<std::size_t>(column)];
    const std::string& name = schema_.column(column).name();
    std::vector<PageValues> pages(parts.size());
    std::vector<std::exception_ptr> failures(parts.size());
    const auto read_part = [&](int i) {
      const auto part = static_cast<std::size_t>(i);
      const RowGroup& group = groups_[parts[part].unit];
      try {
        pages[part] = with_pages(group, field, parts[part].rows, meter);
      } catch (...) {
        failures[part] = std::current_exception();
      }
      return arrow::Status::OK();
    };
    static_cast<void>(
        arrow::internal::OptionalParallelFor(options_.threads != 1, static_cast<int>(parts.size()), read_part));
    for (const std::exception_ptr& failure : failures) {
      if (failure != nullptr) std::rethrow_exception(failure);
    }
    return chosen(pages, name);
  }

  PageValues with_pages(const RowGroup& group, int field, const std::vector<std::int64_t>& rows, Meter& meter) const {
    return with_file(group.file, meter, [&](const ColumnarFile& file) {
      return read_pages(file, files_[group.file].metadata, group.index, field, rows);
    });
  }

  /// The chosen values of pages, in their order.
  Column chosen(const std::vector<PageValues>& pages, const std::string& name) const {
    if (pages.empty()) return schema_.column(name);
    arrow::ArrayVector chunks;
    std::vector<RowId> places;
    std::int64_t begin = 0;
    for (const PageValues& page : pages) {
      for (const std::int64_t place : page.places) places.push_back(begin + place);
      begin += page.values->length();
      chunks.insert(chunks.end(), page.values->chunks().begin(), page.values->chunks().end());
    }
    const std::string& file = files_.front().file.name;
    const ValuesPtr normal = normalise(std::make_shared<arrow::ChunkedArray>(std::move(chunks)), file, name);
    const auto schema = arrow::schema({arrow::field(name, normal->type())});
    return take(to_skyrank(arrow::Table::Make(schema, {normal}), file).column(0), places);
  }

  std::vector<OpenFile> files_;
  std::vector<int> fields_;  // of the files, by column of the schema
  Table schema_;
  ReadOptions options_;
  std::vector<RowGroup> groups_;  // by unit
  std::vector<SourceUnit> units_;
  std::uint64_t bytes_ = 0;
  mutable std::mutex mutex_;
};

OpenFile open(ParquetFile file) {
  const ColumnarFile stored{file.data->reader({}), file.data->size(), file.name};
  ParquetFileInfo info = parquet_info(stored);
  file.data->check_unchanged();
  return {std::move(file), std::move(info.metadata), std::move(info.schema)};
}

/// Fields of the columns that are read, in the order of the columns; nothing where `read` is to say what is wrong.
std::optional<std::vector<int>> fields_of(const arrow::Schema& schema, const ReadOptions& options) {
  if (options.columns && !options.skip_unsupported) {
    for (const std::string& name : *options.columns) {
      const auto field = schema.GetFieldByName(name);
      if (field == nullptr || normal_type(field->type()) == nullptr) return std::nullopt;
    }
  }
  std::vector<std::string> names = options.columns ? *options.columns : schema.field_names();
  std::vector<int> fields;
  for (const std::string& name : names) {
    const std::vector<int> indices = schema.GetAllFieldIndices(name);
    if (indices.size() != 1) return std::nullopt;
    const TypePtr& type = schema.field(indices.front())->type();
    if (is_bytes(type)) return std::nullopt;
    if (normal_type(type) != nullptr) fields.push_back(indices.front());
  }
  // Columns are read in the order of the file.
  if (!std::is_sorted(fields.begin(), fields.end())) return std::nullopt;
  return fields;
}

Table empty_table(const arrow::Schema& schema, const std::vector<int>& fields, const std::string& file) {
  std::vector<UnsupportedColumn> unsupported;
  for (const auto& field : schema.fields()) {
    if (normal_type(field->type()) == nullptr) {
      unsupported.push_back({.name = field->name(), .type = field->type()->ToString()});
    }
  }
  if (fields.empty()) return Table::with_rows(0).with_unsupported(std::move(unsupported));
  arrow::FieldVector named;
  std::vector<ValuesPtr> values;
  for (const int field : fields) {
    const TypePtr type = normal_type(schema.field(field)->type());
    named.push_back(arrow::field(schema.field(field)->name(), type));
    values.push_back(std::make_shared<arrow::ChunkedArray>(arrow::ArrayVector{}, type));
  }
  return to_skyrank(arrow::Table::Make(arrow::schema(std::move(named)), std::move(values), 0), file)
      .with_unsupported(std::move(unsupported));
}

}  // namespace

std::shared_ptr<const Source> parquet_source(std::vector<ParquetFile> files, const ReadOptions& options) {
  std::vector<OpenFile> opened;
  for (ParquetFile& file : files) {
    opened.push_back(open(std::move(file)));
    if (files.size() > 1) opened.back().file.data->close();
    if (!opened.back().schema->Equals(*opened.front().schema, /*check_metadata=*/false)) return nullptr;
  }
  const auto fields = fields_of(*opened.front().schema, options);
  if (!fields) return nullptr;
  Table schema = empty_table(*opened.front().schema, *fields, opened.front().file.name);
  return std::make_shared<ParquetSource>(std::move(opened), *fields, std::move(schema), options);
}

}  // namespace skyrank::datasets
