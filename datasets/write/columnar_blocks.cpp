#include <arrow/array.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>

#include <skyrank/error.hpp>
#include <utility>

#include "datasets/arrow/arrow_table.hpp"
#include "datasets/input/input.hpp"
#include "datasets/write/block_writer.hpp"

// Writers of Parquet and Arrow files that take a table block by block. What Arrow reports becomes an error of the
// library.
namespace skyrank::datasets {
namespace {

/// An Arrow stream into an OutputFile, whose exceptions pass through the library as a status.
class FileStream final : public arrow::io::OutputStream {
 public:
  explicit FileStream(exec::OutputFile& file) : file_(file) {}

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<std::int64_t> Tell() const override { return position_; }
  arrow::Status Write(const void* data, std::int64_t bytes) override {
    try {
      file_.write({static_cast<const char*>(data), static_cast<std::size_t>(bytes)});
    } catch (const ResourceError& error) {
      return arrow::Status::IOError(error.message());
    } catch (const CancelledError& error) {
      return arrow::Status::Cancelled(error.message());
    }
    position_ += bytes;
    return arrow::Status::OK();
  }
  using arrow::io::OutputStream::Write;

 private:
  exec::OutputFile& file_;
  std::int64_t position_ = 0;
  bool closed_ = false;
};

/// Throws what a status of Arrow's says about writing a file.
void check_written(const arrow::Status& status, const std::string& name, Format format) {
  if (status.ok()) return;
  if (is_out_of_memory(status)) throw ResourceError(name + ": out of memory: " + status.message());
  if (status.IsIOError()) throw ResourceError(status.message());
  if (status.IsCancelled()) throw CancelledError(status.message());
  throw DataError(name + ": cannot be written as " + std::string(to_string(format)) + ": " + status.message());
}

class IpcBlocks final : public BlockWriter {
 public:
  IpcBlocks(exec::OutputFile& output, std::string name) : stream_(output), name_(std::move(name)) {}

  void append(const Table& block) override {
    const auto batch = to_arrow(block);
    if (!writer_) start(batch->schema());
    check_written(writer_->WriteRecordBatch(*batch), name_, Format::arrow);
  }
  void finish() override { check_written(writer_->Close(), name_, Format::arrow); }

 private:
  void start(const std::shared_ptr<arrow::Schema>& schema) {
    auto writer = arrow::ipc::MakeFileWriter(&stream_, schema);
    check_written(writer.status(), name_, Format::arrow);
    writer_ = *std::move(writer);
  }

  FileStream stream_;
  std::string name_;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
};

/// Parquet has no dictionaries with NULL entries. In our tables the rows that name one are NULL themselves, so it may
/// be any value.
std::shared_ptr<arrow::Array> without_null_entries(const std::shared_ptr<arrow::Array>& values) {
  if (values->type_id() != arrow::Type::DICTIONARY) return values;
  const auto data = values->data()->Copy();
  data->dictionary = data->dictionary->Copy();
  data->dictionary->buffers.front() = nullptr;
  data->dictionary->null_count = 0;
  return arrow::MakeArray(data);
}

class ParquetBlocks final : public BlockWriter {
 public:
  ParquetBlocks(exec::OutputFile& output, std::string name)
      : stream_(std::make_shared<FileStream>(output)), name_(std::move(name)) {}

  void append(const Table& block) override {
    const auto batch = to_arrow(block);
    if (!writer_) start(*batch->schema());
    attempt([&] {
      // With the writer's own schema: comparing two takes memory, and without it they are said to differ.
      arrow::ArrayVector columns;
      for (const auto& column : batch->columns()) columns.push_back(without_null_entries(column));
      const auto table = arrow::Table::Make(writer_->schema(), columns, batch->num_rows());
      return writer_->WriteTable(*table, kRowsPerGroup);
    });
  }

  void finish() override {
    attempt([&] { return writer_->Close(); });
  }

  /// The destructor of a writer that is not closed ends the file, and where memory ran out in the middle of that, it
  /// reads what was never made. Such a writer stays for good.
  void abandon() noexcept override {
    static_cast<void>(writer_.release());  // NOLINT(bugprone-unused-return-value): it stays
  }

 private:
  void start(const arrow::Schema& schema) {
    const auto properties = parquet::WriterProperties::Builder().compression(parquet::Compression::SNAPPY)->build();
    // The Arrow schema is kept along, so that dictionaries come back as dictionaries. Parquet has no timestamps in
    // seconds; those come back in milliseconds.
    const auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    auto writer =
        parquet::arrow::FileWriter::Open(schema, arrow::default_memory_pool(), stream_, properties, arrow_properties);
    check_written(writer.status(), name_, Format::parquet);
    writer_ = *std::move(writer);
  }

  template <class Step>
  void attempt(const Step& step) {
    arrow::Status status;
    try {
      status = step();
    } catch (...) {
      abandon();
      throw;
    }
    if (is_out_of_memory(status)) abandon();
    check_written(status, name_, Format::parquet);
  }

  std::shared_ptr<FileStream> stream_;
  std::string name_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
};

}  // namespace

std::unique_ptr<BlockWriter> parquet_blocks(exec::OutputFile& output, const std::string& name) {
  return std::make_unique<ParquetBlocks>(output, name);
}

std::unique_ptr<BlockWriter> ipc_blocks(exec::OutputFile& output, const std::string& name) {
  return std::make_unique<IpcBlocks>(output, name);
}

}  // namespace skyrank::datasets
