#include "datasets/stream/row_stream.hpp"

#include <arrow/chunked_array.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <algorithm>
#include <skyrank/error.hpp>
#include <utility>
#include <vector>

#include "datasets/arrow/arrow_table.hpp"
#include "datasets/arrow/arrow_types.hpp"
#include "datasets/input/input.hpp"
#include "datasets/stream/growing_file.hpp"
#include "datasets/stream/stream_reader.hpp"

namespace skyrank::datasets {

RowStream::RowStream(const std::filesystem::path& file, const Table& schema, StreamOptions options)
    : options_(std::move(options)), schema_(to_arrow(schema)->schema()) {
  ReadOptions reading = options_.reading;
  reading.columns.emplace();
  for (const Column& column : schema.columns()) {
    reading.columns->push_back(column.name());
    reading.types[column.name()] = {.type = column.type(), .any_unit = false, .name = to_string(column.type())};
  }
  auto bytes = std::make_unique<GrowingFile>(file, options_.follow, reading.stop);
  name_ = bytes->name();
  if (!bytes->is_regular()) options_.skip_rows = 0;
  switch (reading.format.value_or(Format::parquet)) {
    case Format::tsv: reading.delimiter = reading.delimiter.value_or('\t'); [[fallthrough]];
    case Format::csv: reader_ = csv_reader(std::move(bytes), reading); break;
    case Format::jsonl: reader_ = json_reader(std::move(bytes), reading); break;
    case Format::arrow: reader_ = arrow_reader(std::move(bytes)); break;
    case Format::parquet: throw DataError(name_ + ": a stream is jsonl, csv, tsv or arrow");
  }
}

RowStream::~RowStream() = default;

std::optional<Table> RowStream::next() {
  if (!fill()) return std::nullopt;
  const std::int64_t left = rows_->num_rows() - begin_;
  const std::int64_t size = options_.max_rows > 0 ? std::min(left, options_.max_rows) : left;
  const auto rows = rows_->Slice(begin_, size);
  begin_ += size;
  if (rows->num_columns() == 0) return Table::with_rows(size);
  return to_skyrank(rows, name_);
}

/// Reads until there is a row to return; returns false at the end.
bool RowStream::fill() {
  while (rows_ == nullptr || begin_ == rows_->num_rows()) {
    const auto read = reader_->read();
    if (read == nullptr) {
      if (skipped_ == options_.skip_rows) return false;
      throw DataError(name_ + ": has " + std::to_string(skipped_) + " rows, but " + std::to_string(options_.skip_rows) +
                      " were taken from it before");
    }
    const std::int64_t skip = std::min(options_.skip_rows - skipped_, read->num_rows());
    skipped_ += skip;
    begin_ = skip;
    rows_ = skip < read->num_rows() ? typed(*read) : read;
  }
  return true;
}

/// Returns rows with the columns of the schema.
std::shared_ptr<arrow::Table> RowStream::typed(const arrow::Table& rows) const {
  std::vector<std::shared_ptr<arrow::ChunkedArray>> columns;
  arrow::FieldVector fields;
  for (const auto& field : schema_->fields()) {
    auto values = rows.GetColumnByName(field->name());
    if (values == nullptr) throw DataError(name_ + ": there is no column '" + field->name() + "'");
    if (normal_type(values->type()) == nullptr) {
      refuse_type(name_, {.name = field->name(), .type = values->type()->ToString()});
    }
    values = normalise(values, name_, field->name());
    if (values == nullptr) refuse_type(name_, {.name = field->name(), .type = "bytes"});
    if (!type_of_values(*values->type()).Equals(*field->type())) {
      values = convert(values, field->type(), name_, field->name());
    }
    fields.push_back(arrow::field(field->name(), values->type()));
    columns.push_back(std::move(values));
  }
  return arrow::Table::Make(arrow::schema(std::move(fields)), std::move(columns), rows.num_rows());
}

}  // namespace skyrank::datasets
