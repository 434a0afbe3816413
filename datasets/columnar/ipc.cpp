#include <arrow/array/array_dict.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/message.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <cstring>
#include <limits>
#include <skyrank/error.hpp>
#include <string_view>
#include <utility>

#include "datasets/arrow/arrow_schema.hpp"
#include "datasets/arrow/arrow_table.hpp"
#include "datasets/arrow/arrow_types.hpp"
#include "datasets/columnar/columnar.hpp"
#include "datasets/columnar/memory_reserve.hpp"
#include "datasets/input/input.hpp"
#include "engine/checked_size.hpp"

namespace skyrank::datasets {
namespace {

/// A number as it lies in memory, at any address.
template <class T>
T load(const std::uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

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
  ARROW_RETURN_NOT_OK(table->Validate());
  return indices.empty() ? table->SelectColumns({}) : table;
}

/// Reads the whole batches `batches`, of all columns that the reader was opened for.
arrow::Result<std::shared_ptr<arrow::Table>> read_batches(const ColumnarFile& file, const std::vector<int>& batches,
                                                          const std::vector<int>& indices, bool threads) {
  auto options = options_for(file);
  options.use_threads = threads;
  options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  options.included_fields = indices.empty() ? std::vector<int>{0} : indices;
  ARROW_ASSIGN_OR_RAISE(const auto reader, arrow::ipc::RecordBatchFileReader::Open(file.input, options));
  arrow::RecordBatchVector read;
  for (const int batch : batches) {
    ARROW_ASSIGN_OR_RAISE(auto one, reader->ReadRecordBatch(batch));
    ARROW_RETURN_NOT_OK(one->Validate());
    read.push_back(std::move(one));
  }
  ARROW_ASSIGN_OR_RAISE(const auto table, arrow::Table::FromRecordBatches(read));
  return indices.empty() ? table->SelectColumns({}) : table;
}

/// Returns the field `length` of a flatbuffer table `RecordBatch`, its first: the table begins with the distance to its
/// vtable, which holds its own size, that of the table, and where each field lies (0: it has its default).
/// https://flatbuffers.dev/internals
std::int64_t rows_of(const void* record_batch) {
  const auto* table = static_cast<const std::uint8_t*>(record_batch);
  const auto* vtable = table - load<std::int32_t>(table);
  constexpr std::uint16_t kFirstField = 4;
  const std::uint16_t place = load<std::uint16_t>(vtable) > kFirstField ? load<std::uint16_t>(vtable + kFirstField) : 0;
  return place == 0 ? 0 : load<std::int64_t>(table + place);
}

/// Walks over the messages of a file, which follow one another from its start, without reading their bodies.
arrow::Result<std::optional<IpcFileInfo>> read_info(const ColumnarFile& file) {
  ARROW_ASSIGN_OR_RAISE(const bool stream, is_stream(file));
  if (stream) return std::nullopt;
  ARROW_ASSIGN_OR_RAISE(const auto reader, arrow::ipc::RecordBatchFileReader::Open(file.input, options_for(file)));
  IpcFileInfo info{reader->schema(), {}, 0};
  constexpr std::int64_t kPrefix = 8;  // a mark of 4 bytes, and the size of the metadata in 4
  const auto batches = static_cast<std::size_t>(reader->num_record_batches());
  for (std::size_t position = kPrefix; info.batch_rows.size() < batches;) {
    ARROW_ASSIGN_OR_RAISE(const auto prefix, file.input->ReadAt(static_cast<std::int64_t>(position), kPrefix));
    if (prefix->size() < kPrefix || load<std::uint32_t>(prefix->data()) != 0xFFFFFFFF) return std::nullopt;
    position += kPrefix;
    const std::size_t size =
        checked_count(load<std::int32_t>(prefix->data() + 4), file.size - position, "the size of a message");
    if (size == 0) return std::nullopt;
    ARROW_ASSIGN_OR_RAISE(auto metadata,
                          file.input->ReadAt(static_cast<std::int64_t>(position), static_cast<std::int64_t>(size)));
    position += size;
    ARROW_ASSIGN_OR_RAISE(const auto message, arrow::ipc::Message::Open(std::move(metadata), nullptr));
    const std::size_t body =
        checked_count(message->body_length(), file.size - position, "the size of a message's values");
    if (message->type() == arrow::ipc::MessageType::RECORD_BATCH) {
      if (message->header() == nullptr) return arrow::Status::Invalid("a message of a record batch has none");
      const std::string what = "the number of rows of record batch " + std::to_string(info.batch_rows.size());
      const std::int64_t rows = rows_of(message->header());
      info.batch_rows.push_back(
          static_cast<std::int64_t>(checked_count(rows, std::numeric_limits<std::int64_t>::max(), what)));
      info.bytes = checked_add(info.bytes, body, "the size of all record batches");
    }
    position += body;
  }
  return info;
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
