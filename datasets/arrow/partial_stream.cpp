#include "datasets/arrow/partial_stream.hpp"

#include <arrow/buffer.h>
#include <arrow/c/bridge.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <skyrank/error.hpp>

#include "datasets/arrow/ipc_sizes.hpp"
#include "datasets/input/input.hpp"

namespace skyrank::datasets {
namespace {

void check_written(const arrow::Status& status) {
  if (!status.ok()) throw ResourceError("packing a partial answer failed: " + status.ToString());
}

void check_read(const arrow::Status& status) {
  if (!status.ok()) throw DataError("the bytes hold no partial answer: " + status.ToString());
}

template <class T>
T read_value(arrow::Result<T> result) {
  check_read(result.status());
  return std::move(result).ValueUnsafe();
}

/// Refuses compressed values, which `partial_to_bytes` does not write: few bytes of a peer would take any memory.
void refuse_compressed(arrow::io::RandomAccessFile& stream, const arrow::ipc::IpcReadOptions& options) {
  const auto reader = read_value(arrow::ipc::RecordBatchStreamReader::Open(&stream, options));
  if (!read_value(ipc_stream_sizes(stream, *reader->schema())).is_compressed) return;
  throw DataError("the bytes hold no partial answer: their values are compressed; write them without compression");
}

/// Returns the only record batch of a stream, whose columns stay in a copy of the bytes.
std::shared_ptr<arrow::RecordBatch> read_batch(std::span<const std::byte> bytes) {
  const std::shared_ptr<arrow::Buffer> buffer =
      read_value(arrow::AllocateBuffer(static_cast<std::int64_t>(bytes.size())));
  if (!bytes.empty()) std::memcpy(buffer->mutable_data(), bytes.data(), bytes.size());
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = decoding_pool(bytes.size());
  options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  options.use_threads = false;
  const auto stream = std::make_shared<arrow::io::BufferReader>(buffer);
  refuse_compressed(*stream, options);
  check_read(stream->Seek(0));
  const auto reader = read_value(arrow::ipc::RecordBatchStreamReader::Open(stream, options));
  const arrow::RecordBatchVector batches = read_value(reader->ToRecordBatches());
  if (batches.size() != 1) {
    throw DataError("the bytes hold no partial answer: they have " + std::to_string(batches.size()) +
                    " record batches instead of one");
  }
  check_read(batches.front()->ValidateFull());
  return batches.front();
}

}  // namespace

std::vector<std::byte> partial_to_bytes(const Partial& partial) {
  ArrowArray array;
  ArrowSchema schema;
  partial.export_arrow(&array, &schema);
  const auto batch = arrow::ImportRecordBatch(&array, &schema);
  check_written(batch.status());
  const auto stream = arrow::io::BufferOutputStream::Create();
  check_written(stream.status());
  const auto writer = arrow::ipc::MakeStreamWriter(*stream, (*batch)->schema());
  check_written(writer.status());
  check_written((*writer)->WriteRecordBatch(**batch));
  check_written((*writer)->Close());
  const auto written = (*stream)->Finish();
  check_written(written.status());
  const auto content = std::as_bytes(std::span((*written)->data(), static_cast<std::size_t>((*written)->size())));
  return {content.begin(), content.end()};
}

Partial partial_from_bytes(std::span<const std::byte> bytes) {
  const std::shared_ptr<arrow::RecordBatch> batch = read_batch(bytes);
  ArrowArray array;
  ArrowSchema schema;
  check_read(arrow::ExportRecordBatch(*batch, &array, &schema));
  return Partial::import_arrow(&array, &schema);
}

}  // namespace skyrank::datasets
