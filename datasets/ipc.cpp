#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/reader.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <skyrank/error.hpp>
#include <string_view>
#include <utility>

#include "datasets/columnar.hpp"

namespace skyrank::datasets {
namespace {

constexpr const char* kWhat = "not an Arrow file that can be read";

std::string_view text_of(const ColumnarFile& file) {
  return {reinterpret_cast<const char*>(file.bytes->data()), static_cast<std::size_t>(file.bytes->size())};
}

bool is_stream(const ColumnarFile& file) { return !text_of(file).starts_with("ARROW1"); }

void refuse_feather1(const ColumnarFile& file) {
  if (!text_of(file).starts_with("FEA1")) return;
  throw DataError(file.name + ": is a Feather file of version 1; write it again as version 2 (Arrow IPC)");
}

arrow::Result<std::shared_ptr<arrow::Schema>> read_schema(const ColumnarFile& file) {
  auto input = open_buffer(file.bytes, {});
  if (is_stream(file)) {
    ARROW_ASSIGN_OR_RAISE(const auto reader, arrow::ipc::RecordBatchStreamReader::Open(std::move(input)));
    return reader->schema();
  }
  ARROW_ASSIGN_OR_RAISE(const auto reader, arrow::ipc::RecordBatchFileReader::Open(input));
  return reader->schema();
}

arrow::Result<std::shared_ptr<arrow::Table>> read_table(const ColumnarFile& file, const std::vector<int>& indices,
                                                        bool threads, const BytesRead& on_read) {
  ARROW_ASSIGN_OR_RAISE(const auto schema, read_schema(file));
  const bool all_columns = indices.size() == static_cast<std::size_t>(schema->num_fields());
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.use_threads = threads;
  options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  // To the library, no fields means all, without a copy; any one tells the number of rows.
  if (!all_columns) options.included_fields = indices.empty() ? std::vector<int>{0} : indices;
  auto input = open_buffer(file.bytes, on_read);
  std::shared_ptr<arrow::Table> table;
  if (is_stream(file)) {
    ARROW_ASSIGN_OR_RAISE(const auto reader, arrow::ipc::RecordBatchStreamReader::Open(std::move(input), options));
    ARROW_ASSIGN_OR_RAISE(table, reader->ToTable());
  } else {
    ARROW_ASSIGN_OR_RAISE(const auto reader, arrow::ipc::RecordBatchFileReader::Open(input, options));
    ARROW_ASSIGN_OR_RAISE(table, reader->ToTable());
  }
  return indices.empty() ? table->SelectColumns({}) : table;
}

}  // namespace

std::shared_ptr<arrow::Schema> ipc_schema(const ColumnarFile& file) {
  refuse_feather1(file);
  auto schema = read_schema(file);
  check(schema.status(), file.name, kWhat);
  return *std::move(schema);
}

std::shared_ptr<arrow::Table> ipc_table(const ColumnarFile& file, const std::vector<int>& indices, bool threads,
                                        const BytesRead& on_read) {
  refuse_feather1(file);
  auto table = read_table(file, indices, threads, on_read);
  check(table.status(), file.name, kWhat);
  return *std::move(table);
}

}  // namespace skyrank::datasets
