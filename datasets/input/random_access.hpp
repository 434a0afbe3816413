#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/util/config.h>

#include <cstdint>
#include <memory>
#include <mutex>

#include "datasets/input/input.hpp"

// The part of Arrow's file interface that all of our files share: bounds, positions, and reports of the bytes that are
// read.
namespace skyrank::datasets {

/// A file of known size that Arrow reads at any offset, and that reports the bytes read. Subclasses read them.
class RandomAccess : public arrow::io::RandomAccessFile {
 public:
  RandomAccess(std::int64_t size, BytesRead on_read);

  /// Ends the reports, as tasks of Arrow may hold the file for longer than the listener lives.
  arrow::Status Close() final;
  bool closed() const final;
  arrow::Result<std::int64_t> Tell() const final { return position_; }
  arrow::Result<std::int64_t> GetSize() final { return size_; }
  arrow::Status Seek(std::int64_t position) final;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) final;
  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) final;
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t position, std::int64_t bytes) final;
  arrow::Result<std::int64_t> ReadAt(std::int64_t position, std::int64_t bytes, void* out) final;
  /// Reads in the calling thread: Arrow would wait without end for a thread that cannot be started.
#if ARROW_VERSION_MAJOR >= 25
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(const arrow::io::IOContext& context, std::int64_t position,
                                                          std::int64_t bytes, bool allow_short_read) final;
#endif
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(const arrow::io::IOContext& context, std::int64_t position,
                                                          std::int64_t bytes) final;

 private:
  /// Bytes [position, position + size), all of them in the file.
  virtual arrow::Result<std::shared_ptr<arrow::Buffer>> range(std::int64_t position, std::int64_t size) = 0;
  /// Copies the same bytes to `out`.
  virtual arrow::Status copy_range(std::int64_t position, std::int64_t size, void* out) = 0;

  arrow::Result<std::int64_t> available(std::int64_t position, std::int64_t bytes) const;
  void report(std::int64_t bytes);

  std::int64_t size_;
  std::int64_t position_ = 0;
  mutable std::mutex mutex_;
  BytesRead on_read_;
  bool closed_ = false;
};

}  // namespace skyrank::datasets
