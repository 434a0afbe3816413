#include "datasets/columnar/columnar_source.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/io/interfaces.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <algorithm>
#include <skyrank/error.hpp>
#include <utility>

#include "datasets/arrow/arrow_table.hpp"
#include "datasets/arrow/arrow_threads.hpp"
#include "datasets/arrow/arrow_types.hpp"
#include "engine/column_traits.hpp"
#include "engine/placeholder_column.hpp"

namespace skyrank::datasets {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;
using ValuesPtr = std::shared_ptr<arrow::ChunkedArray>;
using TablePtr = std::shared_ptr<arrow::Table>;

UnsupportedColumn unsupported_column(const arrow::Field& field, std::string reason = {}) {
  return {.name = field.name(), .type = field.type()->ToString(), .reason = std::move(reason)};
}

/// Fields of a file that are read, and those that cannot be.
struct ChosenFields {
  std::vector<int> fields;
  std::vector<UnsupportedColumn> unsupported;
};

/// Fields of the columns that are read, in the order of the columns; nothing where `read` is to say what is wrong.
std::optional<ChosenFields> fields_of(const arrow::Schema& schema, const ReadOptions& options, const std::string& file,
                                      const TextSample& sample) {
  const bool is_demanded = options.columns && !options.skip_unsupported;
  std::vector<std::string> names = options.columns ? *options.columns : schema.field_names();
  ChosenFields chosen;
  for (const auto& field : schema.fields()) {
    if (normal_type(field->type()) == nullptr) chosen.unsupported.push_back(unsupported_column(*field));
  }
  for (const std::string& name : names) {
    const std::vector<int> indices = schema.GetAllFieldIndices(name);
    if (indices.size() != 1) return std::nullopt;
    const arrow::Field& field = *schema.field(indices.front());
    if (normal_type(field.type()) == nullptr) {
      if (is_demanded) return std::nullopt;
      continue;
    }
    const auto reason = is_bytes(*field.type()) ? sample(indices.front()) : std::nullopt;
    if (!reason) {
      chosen.fields.push_back(indices.front());
      continue;
    }
    UnsupportedColumn no_text = unsupported_column(field, *reason);
    if (is_demanded) refuse_type(file, no_text);
    chosen.unsupported.push_back(std::move(no_text));
  }
  // Columns are read in the order of the file.
  if (!std::is_sorted(chosen.fields.begin(), chosen.fields.end())) return std::nullopt;
  return chosen;
}

Table empty_table(const arrow::Schema& schema, ChosenFields& chosen, const std::string& file) {
  if (chosen.fields.empty()) return Table::with_rows(0).with_unsupported(std::move(chosen.unsupported));
  arrow::FieldVector named;
  std::vector<ValuesPtr> values;
  for (const int field : chosen.fields) {
    const TypePtr type = normal_type(schema.field(field)->type());
    named.push_back(arrow::field(schema.field(field)->name(), type));
    values.push_back(std::make_shared<arrow::ChunkedArray>(arrow::ArrayVector{}, type));
  }
  return to_skyrank(arrow::Table::Make(arrow::schema(std::move(named)), std::move(values), 0), file)
      .with_unsupported(std::move(chosen.unsupported));
}

/// Returns values in their normal type. Bytes were taken for text by a sample, and all have to be. The source knows the
/// order of categories; what Arrow makes a dictionary of values that are stored without one is in any order.
ValuesPtr normal_values(const ValuesPtr& values, const std::string& file, const std::string& name) {
  ValuesPtr normal = normalise(values, file, name);
  if (normal != nullptr) return without_order(normal);
  refuse_type(file, {.name = name,
                     .type = values->type()->ToString(),
                     .reason = "some of its values are not UTF-8 text, though those that were looked at first are"});
}

}  // namespace

std::optional<SourceFields> source_fields(const arrow::Schema& schema, const ReadOptions& options,
                                          const std::string& file, const TextSample& sample) {
  auto chosen = fields_of(schema, options, file, sample);
  if (!chosen) return std::nullopt;
  Table table = empty_table(schema, *chosen, file);
  return SourceFields{std::move(chosen->fields), std::move(table)};
}

std::optional<std::string> reason_against_text(std::span<const FileUnit> units, const SampleReader& read) {
  constexpr std::int64_t kSampleRows = 1000;
  std::int64_t first_row = 0;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const bool is_looked_at = i == 0 || i == units.size() / 2 || i + 1 == units.size();
    if (is_looked_at && units[i].rows > 0) {
      const ValuesPtr values = read(units[i], std::min(units[i].rows, kSampleRows));
      if (auto reason = reason_against_text(*values, first_row)) return reason;
    }
    first_row += units[i].rows;
  }
  return std::nullopt;
}

namespace {

/// Returns the order of a field that is an ordered dictionary, null where a unit does not tell.
std::shared_ptr<const exec::Categories> order_of_field(int field, const std::string& column,
                                                       const std::vector<FileUnit>& units, const std::string& file,
                                                       const ReadDictionary& read) {
  std::shared_ptr<const exec::Categories> order;
  std::vector<std::string> last;
  for (const FileUnit& unit : units) {
    auto texts = read(unit, field);
    if (!texts) return nullptr;
    if (order != nullptr && *texts == last) continue;
    last = *texts;
    const auto next = ordered_categories(*std::move(texts), file, column);
    order = order == nullptr ? next : united_categories(order, next, file, column);
  }
  return order;
}

}  // namespace

void set_orders(SourceFields& columns, const arrow::Schema& stored, const std::vector<FileUnit>& units,
                const std::string& file, const ReadDictionary& read) {
  std::vector<Column> all = columns.schema.columns();
  bool any = false;
  for (std::size_t c = 0; c < all.size(); ++c) {
    if (!is_ordered_dictionary(*stored.field(columns.fields[c])->type())) continue;
    if (all[c].type() != Type::string) continue;
    any = true;
    exec::ColumnTraits traits;
    traits.order = order_of_field(columns.fields[c], all[c].name(), units, file, read);
    all[c] = exec::with_traits(
        all[c], traits.order == nullptr ? nullptr : std::make_shared<const exec::ColumnTraits>(std::move(traits)));
  }
  if (any) columns.schema = Table(std::move(all)).with_unsupported(columns.schema.unsupported());
}

/// Counts the bytes that are read, from any thread.
class ColumnarSource::Meter {
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

ColumnarSource::ColumnarSource(std::vector<TableFile> files, std::shared_ptr<arrow::Schema> stored,
                               SourceFields columns, std::vector<FileUnit> units, std::uint64_t bytes,
                               const ReadOptions& options)
    : files_(std::move(files)),
      stored_(std::move(stored)),
      columns_(std::move(columns)),
      places_(std::move(units)),
      bytes_(bytes),
      options_(options) {
  for (const FileUnit& unit : places_) units_.push_back({unit.rows, unit.text_bytes});
}

std::vector<std::string> ColumnarSource::stored_names() const { return stored_->field_names(); }

std::optional<ZoneStatistics> ColumnarSource::read_zones(std::size_t, const ColumnarFile&, int, int) const {
  return std::nullopt;
}

std::shared_ptr<arrow::Array> ColumnarSource::read_codes(std::size_t, const ColumnarFile&, int, int) const {
  return nullptr;
}

SourceRows ColumnarSource::read(std::span<const std::size_t> units, std::span<const int> columns) const {
  // Units that are read one by one are read by several threads.
  const bool threads = options_.threads != 1 && (units.size() > 1 || units_.size() == 1);
  return counted([&](Meter& meter) {
    const bool is_one_file =
        std::ranges::all_of(units, [&](std::size_t unit) { return places_[unit].file == places_[units.front()].file; });
    Selection selection{.units = {}, .fields = {}, .is_one_file = is_one_file, .threads = threads};
    for (const int column : columns) selection.fields.push_back(columns_.fields[static_cast<std::size_t>(column)]);
    std::vector<TablePtr> tables;
    for (std::size_t f = 0; f < files_.size(); ++f) {
      selection.units.clear();
      for (const std::size_t unit : units) {
        if (places_[unit].file == f) selection.units.push_back(places_[unit].index);
      }
      if (!selection.units.empty()) tables.push_back(read_file(f, selection, meter));
    }
    return in_schema(tables, columns);
  });
}

SourceRows ColumnarSource::read_rows(std::span<const RowId> rows, std::span<const int> columns) const {
  return counted([&](Meter& meter) {
    std::vector<Column> all;
    const auto count = static_cast<std::int64_t>(rows.size());
    for (const Column& column : columns_.schema.columns())
      all.push_back(exec::placeholder_column(column.name(), column.type(), count));
    std::vector<std::vector<UnitValues>> parts = read_parts(by_unit(rows), columns, meter);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      std::vector<UnitValues> values;
      for (std::vector<UnitValues>& part : parts) values.push_back(std::move(part[i]));
      all[static_cast<std::size_t>(columns[i])] = chosen(values, columns[i]);
    }
    return all.empty() ? Table::with_rows(count) : Table(std::move(all));
  });
}

template <class Read>
SourceRows ColumnarSource::counted(const Read& read) const {
  Meter meter(options_.progress, bytes_);
  SourceRows rows;
  rows.table = read(meter);
  meter.finish();
  rows.bytes = meter.bytes();
  return rows;
}

/// Runs `read` with an open file. Where the file changed meanwhile, this is the error to report.
template <class Read>
auto ColumnarSource::with_file(std::size_t f, Meter& meter, const Read& read) const {
  std::unique_lock lock(mutex_);  // files are opened again where they were closed
  DataFile& data = *files_[f].data;
  const ColumnarFile file{data.reader(meter.counter()), data.size(), files_[f].name};
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

std::optional<ZoneStatistics> ColumnarSource::zones(std::size_t unit, int column) const {
  const FileUnit& place = places_[unit];
  const int field = columns_.fields[static_cast<std::size_t>(column)];
  // A request for each zone takes longer than one for the column.
  if (files_[place.file].data->is_remote()) return std::nullopt;
  const Progress none;
  Meter meter(none, bytes_);
  std::optional<ZoneStatistics> zones = with_file(
      place.file, meter, [&](const ColumnarFile& file) { return read_zones(place.file, file, place.index, field); });
  if (zones) zones->bytes = meter.bytes();
  return zones;
}

std::optional<UnitCodes> ColumnarSource::codes(std::size_t unit, int column) const {
  const FileUnit& place = places_[unit];
  Meter meter(options_.progress, bytes_);
  const auto stored = with_file(place.file, meter, [&](const ColumnarFile& file) {
    return read_codes(place.file, file, place.index, columns_.fields[static_cast<std::size_t>(column)]);
  });
  if (stored == nullptr) return std::nullopt;
  meter.finish();
  const auto& array = static_cast<const arrow::DictionaryArray&>(*stored);
  const std::shared_ptr<arrow::ArrayData> indices = array.indices()->data()->Copy();
  indices->type = arrow::uint32();
  const Column& announced = schema().column(column);
  const std::string& file = files_[place.file].name;
  const auto as_column = [&](const std::shared_ptr<arrow::Array>& values) {
    const ValuesPtr normal = normal_values(std::make_shared<arrow::ChunkedArray>(values), file, announced.name());
    const auto schema = arrow::schema({arrow::field(announced.name(), normal->type())});
    return to_skyrank(arrow::Table::Make(schema, {normal}), file).column(0);
  };
  return UnitCodes{as_column(arrow::MakeArray(indices)),
                   exec::with_traits(as_column(array.dictionary()), exec::traits_of(announced.data())), meter.bytes()};
}

TablePtr ColumnarSource::read_file(std::size_t f, const Selection& selection, Meter& meter) const {
  const TablePtr stored = with_file(f, meter, [&](const ColumnarFile& file) { return read_units(f, file, selection); });
  const std::vector<int>& fields = selection.fields;
  std::vector<ValuesPtr> values;
  arrow::FieldVector named;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string& name = stored_->field(fields[i])->name();
    values.push_back(normal_values(stored->column(static_cast<int>(i)), files_[f].name, name));
    named.push_back(arrow::field(name, values.back()->type()));
  }
  return arrow::Table::Make(arrow::schema(std::move(named)), std::move(values), stored->num_rows());
}

/// A table of all columns of the schema, of which some were read.
Table ColumnarSource::in_schema(const std::vector<TablePtr>& tables, std::span<const int> columns) const {
  std::int64_t rows = 0;
  for (const TablePtr& table : tables) rows += table->num_rows();
  if (columns_.schema.columns().empty()) return Table::with_rows(rows).with_unsupported(columns_.schema.unsupported());
  std::vector<Column> all;
  for (const Column& column : columns_.schema.columns())
    all.push_back(exec::placeholder_column(column.name(), column.type(), rows));
  if (!columns.empty() && rows > 0) {
    auto joined = arrow::ConcatenateTables(tables);
    check(joined.status(), files_.front().name, "joining files");
    const Table read = to_skyrank(*std::move(joined), files_.front().name);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      all[static_cast<std::size_t>(columns[i])] = exec::with_traits(
          read.column(static_cast<int>(i)), exec::traits_of(columns_.schema.column(columns[i]).data()));
    }
  }
  return Table(std::move(all)).with_unsupported(columns_.schema.unsupported());
}

/// The values of columns in some rows, by unit. A unit's file is opened once for all columns.
std::vector<std::vector<UnitValues>> ColumnarSource::read_parts(const std::vector<RowsOfUnit>& parts,
                                                                std::span<const int> columns, Meter& meter) const {
  std::vector<int> fields;
  for (const int column : columns) fields.push_back(columns_.fields[static_cast<std::size_t>(column)]);
  std::vector<std::vector<UnitValues>> values(parts.size());
  run_each(options_.threads != 1 && parts.size() > 1, parts.size(), [&](std::size_t part) {
    const FileUnit& unit = places_[parts[part].unit];
    values[part] = with_file(unit.file, meter, [&](const ColumnarFile& file) {
      return read_values(unit.file, file, unit.index, fields, parts[part].rows);
    });
  });
  return values;
}

/// The chosen values of units, in their order.
Column ColumnarSource::chosen(const std::vector<UnitValues>& parts, int column) const {
  if (parts.empty()) return columns_.schema.column(column);
  const std::string& name = columns_.schema.column(column).name();
  arrow::ArrayVector chunks;
  for (const UnitValues& part : parts) {
    chunks.insert(chunks.end(), part.values->chunks().begin(), part.values->chunks().end());
  }
  const std::string& file = files_.front().name;
  const ValuesPtr normal = normal_values(std::make_shared<arrow::ChunkedArray>(std::move(chunks)), file, name);
  const auto schema = arrow::schema({arrow::field(name, normal->type())});
  Column values = exec::with_traits(to_skyrank(arrow::Table::Make(schema, {normal}), file).column(0),
                                    exec::traits_of(columns_.schema.column(column).data()));
  if (std::ranges::none_of(parts, [](const UnitValues& part) { return part.places.has_value(); })) return values;
  std::vector<RowId> places;
  std::int64_t begin = 0;
  for (const UnitValues& part : parts) {
    const std::int64_t length = part.values->length();
    for (std::int64_t i = 0; !part.places && i < length; ++i) places.push_back(begin + i);
    for (const std::int64_t place : part.places.value_or(std::vector<std::int64_t>())) places.push_back(begin + place);
    begin += length;
  }
  return take(values, places);
}

}  // namespace skyrank::datasets
