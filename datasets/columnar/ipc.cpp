#include <arrow/array/array_dict.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <skyrank/error.hpp>
#include <string_view>
#include <utility>

#include "datasets/arrow/arrow_schema.hpp"
#include "datasets/arrow/arrow_table.hpp"
#include "datasets/arrow/arrow_types.hpp"
#include "datasets/arrow/ipc_sizes.hpp"
#include "datasets/columnar/columnar.hpp"
#include "datasets/columnar/memory_reserve.hpp"
#include "datasets/input/input.hpp"
#include "engine/checked_size.hpp"

// Arrow IPC files and streams, and Feather version 2, by Arrow's readers. What compressed batches take once
// decompressed is known before (arrow/ipc_sizes.cpp), so that they count for the limit of memory.
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

/// Refuses to read fields as a whole that take more memory than reading may, once they are decompressed.
arrow::Status check_decompressed(const ColumnarFile& file, const arrow::Schema& schema, const std::vector<int>& fields,
                                 bool stream) {
  ARROW_ASSIGN_OR_RAISE(const IpcSizes sizes,
                        stream ? ipc_stream_sizes(*file.input, schema) : ipc_file_sizes(*file.input, schema));
  if (!sizes.is_compressed) return arrow::Status::OK();
  std::size_t bytes = sizes.dictionaries;
  for (std::size_t batch = 0; batch < sizes.batches.size(); ++batch) {
    bytes = checked_add(bytes, sizes.of(batch, fields), "the size of all record batches");
  }
  refuse_over_limit(file, bytes);
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::Table>> read_table(const ColumnarFile& file, const std::vector<int>& indices,
                                                        bool threads) {
  ARROW_ASSIGN_OR_RAISE(const auto schema, read_schema(file));
  ARROW_ASSIGN_OR_RAISE(const bool stream, is_stream(file));
  const bool all_columns = indices.size() == static_cast<std::size_t>(schema->num_fields());
  const std::vector<int> fields = indices.empty() && !all_columns ? std::vector<int>{0} : indices;
  ARROW_RETURN_NOT_OK(check_decompressed(file, *schema, fields, stream));
  auto options = options_for(file);
  options.use_threads = threads;
  options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  // To the library, no fields means all, without a copy; any one tells the number of rows.
  if (!all_columns) options.included_fields = fields;
  std::shared_ptr<arrow::Table> table;
  if (stream) {
    ARROW_RETURN_NOT_OK(file.input->Seek(0));
    ARROW_ASSIGN_OR_RAISE(const auto reader, arrow::ipc::RecordBatchStreamReader::Open(file.input.get(), options));
    ARROW_ASSIGN_OR_RAISE(table, reader->ToTable());
  } else {
    ARROW_ASSIGN_OR_RAISE(const auto reader, arrow::ipc::RecordBatchFileReader::Open(file.input, options));
    ARROW_ASSIGN_OR_RAISE(table, reader->ToTable());
  }
  ARROW_RETURN_NOT_OK(table->Validate());
  return indices.empty() ? table->SelectColumns({}) : table;
}

/// Reads the whole batches `batches`, of the fields `indices`.
arrow::Result<std::shared_ptr<arrow::Table>> read_batches(const ColumnarFile& file, const std::vector<int>& batches,
                                                          const std::vector<int>& indices, bool threads) {
  auto options = options_for(file);
  options.use_threads = threads;
  options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  options.included_fields = indices;
  ARROW_ASSIGN_OR_RAISE(const auto reader, arrow::ipc::RecordBatchFileReader::Open(file.input, options));
  arrow::RecordBatchVector read;
  for (const int batch : batches) {
    ARROW_ASSIGN_OR_RAISE(auto one, reader->ReadRecordBatch(batch));
    ARROW_RETURN_NOT_OK(one->Validate());
    read.push_back(std::move(one));
  }
  return arrow::Table::FromRecordBatches(read);
}

/// Reads no values.
arrow::Result<std::optional<IpcFileInfo>> read_info(const ColumnarFile& file) {
  ARROW_ASSIGN_OR_RAISE(const bool stream, is_stream(file));
  if (stream) return std::nullopt;
  ARROW_ASSIGN_OR_RAISE(const auto schema, read_schema(file));
  ARROW_ASSIGN_OR_RAISE(auto sizes, ipc_file_sizes(*file.input, *schema));
  if (sizes.is_compressed) refuse_over_limit(file, sizes.dictionaries);
  return IpcFileInfo{schema, std::move(sizes)};
}

/// Runs `read`, and puts the name of the file before what is wrong with it.
template <class Read>
auto guarded(const ColumnarFile& file, const Read& read) {
  const MemoryReserve reserve;
  auto result = [&] {
    try {
      return read();
    } catch (const DataError& error) {
      throw DataError(file.name + ": " + kWhat + ": " + error.message());
    }
  }();
  check(result.status(), file.name, kWhat);
  reserve.check();
  return *std::move(result);
}

}  // namespace

std::shared_ptr<arrow::Schema> ipc_schema(const ColumnarFile& file) {
  refuse_feather1(file);
  auto schema = guarded(file, [&] { return read_schema(file); });
  check_schema(*schema, file.name);
  return schema;
}

std::shared_ptr<arrow::Table> ipc_table(const ColumnarFile& file, const std::vector<int>& indices, bool threads) {
  refuse_feather1(file);
  return guarded(file, [&] { return read_table(file, indices, threads); });
}

std::optional<IpcFileInfo> ipc_info(const ColumnarFile& file) {
  refuse_feather1(file);
  auto info = guarded(file, [&] { return read_info(file); });
  if (info) check_schema(*info->schema, file.name);
  return info;
}

void refuse_over_limit(const ColumnarFile& file, std::size_t bytes) {
  if (bytes <= file.memory_bytes) return;
  constexpr std::size_t kMegabyte = 1'000'000;
  throw ResourceError(file.name + ": its values take " + std::to_string(bytes / kMegabyte) +
                      " MB in memory, more than the limit of memory of " +
                      std::to_string(file.memory_bytes / kMegabyte) +
                      " MB; raise the limit, read fewer columns or write smaller record batches");
}

std::optional<std::vector<std::string>> ipc_dictionary(const ColumnarFile& file, int field) {
  const auto table = ipc_batches(file, {0}, {field}, false);
  const auto normal = normalise(table->column(0), file.name, table->field(0)->name());
  if (normal == nullptr || normal->num_chunks() == 0) return std::nullopt;
  return dictionary_entries(*static_cast<const arrow::DictionaryArray&>(*normal->chunk(0)).dictionary());
}

std::shared_ptr<arrow::Table> ipc_batches(const ColumnarFile& file, const std::vector<int>& batches,
                                          const std::vector<int>& indices, bool threads) {
  return guarded(file, [&] { return read_batches(file, batches, indices, threads); });
}

}  // namespace skyrank::datasets
