#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace skyrank::datasets {

/// Streams bytes of a file without holding all of them. What is read lies in memory that is used again once nobody has
/// a buffer of it: fresh memory for each read takes longer to get than the file's bytes take to copy. Bytes that are
/// not wanted are passed over without being read, which Arrow's streams cannot do.
class RangeStream final : public arrow::io::InputStream {
 public:
  /// Streams bytes [begin, end) of `file`. A short look reads `ahead` bytes at once.
  RangeStream(std::shared_ptr<arrow::io::RandomAccessFile> file, std::int64_t begin, std::int64_t end,
              std::int64_t ahead, arrow::MemoryPool* pool);

  /// The next bytes that are taken, in one call, are not wanted.
  void pass_over_next() { passing_over_ = true; }
  /// Returns where the last look began: at a header, as Arrow's reader of pages looks at nothing else.
  std::int64_t looked_from() const { return looked_from_; }

  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }
  arrow::Result<std::int64_t> Tell() const override { return position_; }
  arrow::Result<std::string_view> Peek(std::int64_t bytes) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override;
  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override;

 private:
  std::int64_t unread(std::int64_t bytes) const;
  arrow::Result<std::string_view> look(std::int64_t bytes);
  arrow::Result<std::shared_ptr<arrow::ResizableBuffer>> unused_memory();

  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::int64_t position_;
  std::int64_t end_;
  std::int64_t ahead_;
  arrow::MemoryPool* pool_;
  std::vector<std::shared_ptr<arrow::ResizableBuffer>> memory_;  // all that was ever needed at the same time
  std::shared_ptr<arrow::ResizableBuffer> window_;               // bytes of the file from window_begin_ on
  std::int64_t window_begin_ = 0;
  std::int64_t looked_from_ = 0;
  bool passing_over_ = false;
};

}  // namespace skyrank::datasets
