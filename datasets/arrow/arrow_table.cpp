#include "datasets/arrow/arrow_table.hpp"

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/c/abi.h>
#include <arrow/c/bridge.h>
#include <arrow/chunked_array.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <limits>
#include <skyrank/arrow.hpp>
#include <skyrank/error.hpp>
#include <utility>
#include <vector>

#include "datasets/arrow/arrow_types.hpp"
#include "datasets/input/input.hpp"

namespace skyrank::datasets {
namespace {

using ValuesPtr = std::shared_ptr<arrow::ChunkedArray>;

// 32-bit offsets cannot address more characters than this in one array.
bool needs_large_offsets(const arrow::ChunkedArray& values) {
  if (values.type()->id() != arrow::Type::STRING) return false;
  std::int64_t bytes = 0;
  for (const auto& chunk : values.chunks()) {
    bytes += static_cast<const arrow::StringArray&>(*chunk).total_values_length();
  }
  return bytes > std::numeric_limits<std::int32_t>::max();
}

// Names travel through the C data interface as C strings.
void refuse_nul(const std::string& column, const std::string& name) {
  if (column.find('\0') != std::string::npos) throw DataError(name + ": a column name holds a NUL character");
}

std::shared_ptr<arrow::Array> one_chunk(ValuesPtr values, const std::string& name, const std::string& column) {
  // A column without any value has no type; numbers can be compared and ranked.
  if (values->type()->id() == arrow::Type::NA) values = convert(values, arrow::float64(), name, column);
  if (values->num_chunks() == 1) return values->chunk(0);
  if (needs_large_offsets(*values)) values = convert(values, arrow::large_utf8(), name, column);
  if (values->num_chunks() == 0) {
    auto empty = arrow::MakeEmptyArray(values->type());
    check(empty.status(), name, "column '" + column + "'");
    return *std::move(empty);
  }
  auto joined = arrow::Concatenate(values->chunks());
  if (!joined.ok() && values->type()->id() == arrow::Type::DICTIONARY) {
    // More distinct strings in all chunks together than the index type can number.
    return one_chunk(convert(values, arrow::large_utf8(), name, column), name, column);
  }
  check(joined.status(), name, "column '" + column + "'");
  return *std::move(joined);
}

}  // namespace

Table to_skyrank(std::shared_ptr<arrow::Table> values, const std::string& name) {
  const std::int64_t rows = values->num_rows();
  const std::vector<std::string> names = values->ColumnNames();
  if (names.empty()) return Table::with_rows(rows);
  std::vector<ValuesPtr> columns = values->columns();
  values.reset();
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    refuse_nul(names[i], name);
    arrays.push_back(one_chunk(std::exchange(columns[i], nullptr), name, names[i]));
    fields.push_back(arrow::field(names[i], arrays.back()->type()));
  }
  const auto batch = arrow::RecordBatch::Make(arrow::schema(std::move(fields)), rows, std::move(arrays));
  ::ArrowArray array{};
  ::ArrowSchema schema{};
  check(arrow::ExportRecordBatch(*batch, &array, &schema), name, "table");
  return import_arrow(&array, &schema);
}

std::shared_ptr<arrow::RecordBatch> to_arrow(const Table& table) {
  ::ArrowArray array{};
  ::ArrowSchema schema{};
  export_arrow(table, &array, &schema);
  auto batch = arrow::ImportRecordBatch(&array, &schema);
  check(batch.status(), "table", "export");
  return *std::move(batch);
}

}  // namespace skyrank::datasets
