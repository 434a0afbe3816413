#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <skyrank/error.hpp>
#include <utility>

#include "datasets/input/input.hpp"
#include "datasets/stream/stream_reader.hpp"

// Arrow streams, batch by batch.
namespace skyrank::datasets {
namespace {

constexpr std::size_t kMagic = 6;
constexpr std::uint64_t kDecodedBytes = std::uint64_t{1}
                                        << 30;  // of a stream, for the pool that refuses what is absurd

/// A growing file as Arrow reads it.
class GrowingStream final : public arrow::io::InputStream {
 public:
  explicit GrowingStream(std::unique_ptr<GrowingFile> file) : file_(std::move(file)) {}

  const std::string& name() const { return file_->name(); }

  /// Waits for some bytes and returns them, without taking them; fewer at the end.
  std::string_view peek(std::size_t size) {
    while (text_.size() < size && file_->read(text_, kStreamBytes)) {
    }
    return std::string_view(text_).substr(0, size);
  }

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<std::int64_t> Tell() const override { return position_; }

  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override {
    ARROW_RETURN_NOT_OK(wait_for(bytes));
    const std::size_t size = std::min(text_.size(), static_cast<std::size_t>(bytes));
    auto buffer = arrow::Buffer::FromString(text_.substr(0, size));
    take(size);
    return buffer;
  }
  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override {
    ARROW_RETURN_NOT_OK(wait_for(bytes));
    const std::size_t size = std::min(text_.size(), static_cast<std::size_t>(bytes));
    if (size > 0) std::memcpy(out, text_.data(), size);
    take(size);
    return static_cast<std::int64_t>(size);
  }

  /// Throws what ended a read.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  arrow::Status wait_for(std::int64_t bytes) {
    if (bytes < 0) return arrow::Status::Invalid("a negative number of bytes");
    try {
      peek(static_cast<std::size_t>(bytes));
      return arrow::Status::OK();
    } catch (...) {
      failure_ = std::current_exception();
      return arrow::Status::Cancelled("reading");
    }
  }

  void take(std::size_t size) {
    text_.erase(0, size);
    position_ += static_cast<std::int64_t>(size);
  }

  std::unique_ptr<GrowingFile> file_;
  std::string text_;
  std::int64_t position_ = 0;
  bool closed_ = false;
  std::exception_ptr failure_;
};

class ArrowReader final : public StreamReader {
 public:
  explicit ArrowReader(std::unique_ptr<GrowingFile> file) : stream_(std::make_shared<GrowingStream>(std::move(file))) {}

  std::shared_ptr<arrow::Table> read() override {
    if (reader_ == nullptr && !open()) return nullptr;
    for (;;) {
      std::shared_ptr<arrow::RecordBatch> batch;
      const std::string what = "record batch " + std::to_string(batches_) + " is damaged";
      check_read(reader_->ReadNext(&batch), what);
      if (batch == nullptr) return nullptr;
      check_read(batch->ValidateFull(), what);
      ++batches_;
      if (batch->num_rows() == 0) continue;
      auto table = arrow::Table::FromRecordBatches({batch});
      check_read(table.status(), what);
      return *std::move(table);
    }
  }

 private:
  /// Reads the schema; returns false where nothing has come.
  bool open() {
    const std::string_view magic = stream_->peek(kMagic);
    if (magic.empty()) return false;
    if (magic == "ARROW1") {
      throw DataError(stream_->name() + ": is an Arrow file, whose end is needed to read it; write a stream instead");
    }
    auto options = arrow::ipc::IpcReadOptions::Defaults();
    options.memory_pool = decoding_pool(kDecodedBytes);
    options.use_threads = false;
    auto opened = arrow::ipc::RecordBatchStreamReader::Open(stream_, options);
    check_read(opened.status(), "is no Arrow stream");
    reader_ = *std::move(opened);
    return true;
  }

  void check_read(const arrow::Status& status, const std::string& what) const {
    if (!status.ok()) stream_->rethrow();
    check(status, stream_->name(), what);
  }

  std::shared_ptr<GrowingStream> stream_;
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> reader_;
  std::int64_t batches_ = 0;
};

}  // namespace

std::unique_ptr<StreamReader> arrow_reader(std::unique_ptr<GrowingFile> file) {
  return std::make_unique<ArrowReader>(std::move(file));
}

}  // namespace skyrank::datasets
