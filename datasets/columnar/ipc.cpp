#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/reader.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <skyrank/error.hpp>
#include <string_view>
#include <utility>

#include "datasets/columnar/columnar.hpp"
#include "datasets/columnar/memory_reserve.hpp"

namespace skyrank::datasets {
namespace {

constexpr const char* kWhat = "not an Arrow file that can be read, or damaged";

arrow::Result<std::string> first_bytes(const ColumnarFile& file) {
  constexpr std::int64_t kMagic = 6;
  ARROW_ASSIGN_OR_RAISE(const auto bytes, file.input->ReadAt(0, kMagic));
  return bytes->ToString();
}

arrow::Result<bool> is_stream(const ColumnarFile& file) {
  ARROW_ASSIGN_OR_RAISE(const std::string magic, first_bytes(file));
  return magic != "ARROW1";
}

void refuse_feather1(const ColumnarFile& file) {
  const auto magic = first_bytes(file);
  check(magic.status(), file.name, kWhat);
  if (!magic->starts_with("FEA1")) return;
  throw DataError(file.name + ": is a Feather file of version 1; write it again as version 2 (Arrow IPC)");
}

arrow::ipc::IpcReadOptions options_for(const ColumnarFile& file) {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = decoding_pool(file.size);
  return options;
}

arrow::Result<std::shared_ptr<arrow::Schema>> read_schema(const ColumnarFile& file) {
  ARROW_ASSIGN_OR_RAISE(const bool stream, is_stream(file));
  if (stream) {
    ARROW_RETURN_NOT_OK(file.input->Seek(0));
    ARROW_ASSIGN_OR_RAISE(const auto reader,
                          arrow::ipc::RecordBatchStreamReader::Open(file.input.get(), options_for(file)));
    return reader->schema();
  }
  ARROW_ASSIGN_OR_RAISE(const auto reader, arrow::ipc::RecordBatchFileReader::Open(file.input, options_for(file)));
  return reader->schema();
}

arrow::Result<std::shared_ptr<arrow::Table>> read_table(const ColumnarFile& file, const std::vector<int>& indices,
                                                        bool threads) {
  ARROW_ASSIGN_OR_RAISE(const auto schema, read_schema(file));
  const bool all_columns = indices.size() == static_cast<std::size_t>(schema->num_fields());
  auto options = options_for(file);
  options.use_threads = threads;
  options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  // To the library, no fields means all, without a copy; any one tells the number of rows.
  if (!all_columns) options.included_fields = indices.empty() ? std::vector<int>{0} : indices;
  std::shared_ptr<arrow::Table> table;
  ARROW_ASSIGN_OR_RAISE(const bool stream, is_stream(file));
  if (stream) {
    ARROW_RETURN_NOT_OK(file.input->Seek(0));
    ARROW_ASSIGN_OR_RAISE(const auto reader, arrow::ipc::RecordBatchStreamReader::Open(file.input.get(), options));
    ARROW_ASSIGN_OR_RAISE(table, reader->ToTable());
  } else {
    ARROW_ASSIGN_OR_RAISE(const auto reader, arrow::ipc::RecordBatchFileReader::Open(file.input, options));
    ARROW_ASSIGN_OR_RAISE(table, reader->ToTable());
  }
  return indices.empty() ? table->SelectColumns({}) : table;
}

}  // namespace

std::shared_ptr<arrow::Schema> ipc_schema(const ColumnarFile& file) {
  const MemoryReserve reserve;
  refuse_feather1(file);
  auto schema = read_schema(file);
  check(schema.status(), file.name, kWhat);
  reserve.check();
  return *std::move(schema);
}

std::shared_ptr<arrow::Table> ipc_table(const ColumnarFile& file, const std::vector<int>& indices, bool threads) {
  const MemoryReserve reserve;
  refuse_feather1(file);
  auto table = read_table(file, indices, threads);
  check(table.status(), file.name, kWhat);
  reserve.check();
  return *std::move(table);
}

}  // namespace skyrank::datasets
