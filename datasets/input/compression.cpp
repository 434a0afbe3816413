#include "datasets/input/compression.hpp"

#include <arrow/buffer.h>
#include <arrow/io/compressed.h>
#include <arrow/io/memory.h>
#include <arrow/memory_pool.h>
#include <arrow/util/compression.h>
#include <unistd.h>

#include <algorithm>
#include <skyrank/error.hpp>
#include <string_view>
#include <utility>

#include "datasets/input/input.hpp"

namespace skyrank::datasets {
namespace {

constexpr std::int64_t kRead = std::int64_t{1} << 20;

/// The content of a compressed file, block by block.
class Decompression {
 public:
  Decompression(const std::shared_ptr<arrow::Buffer>& bytes, Compression compression, const std::string& name)
      : name_(name) {
    const bool gzip = compression == Compression::gzip;
    auto codec = arrow::util::Codec::Create(gzip ? arrow::Compression::GZIP : arrow::Compression::ZSTD);
    check(codec.status(), name_, "decompression");
    codec_ = *std::move(codec);
    auto stream =
        arrow::io::CompressedInputStream::Make(codec_.get(), std::make_shared<arrow::io::BufferReader>(bytes));
    check(stream.status(), name_, "decompression");
    stream_ = *std::move(stream);
    auto buffer = arrow::AllocateResizableBuffer(0);
    check(buffer.status(), name_, "memory");
    content_ = *std::move(buffer);
  }

  /// Decompresses at most `bytes` more. Returns how many there were, which is none at the end.
  arrow::Result<std::int64_t> append(std::int64_t bytes) {
    if (used_ + bytes > content_->size()) {
      ARROW_RETURN_NOT_OK(content_->Resize(std::max(2 * content_->size(), used_ + bytes), false));
    }
    ARROW_ASSIGN_OR_RAISE(const std::int64_t read, stream_->Read(bytes, content_->mutable_data() + used_));
    used_ += read;
    return read;
  }

  std::int64_t size() const { return used_; }

  std::shared_ptr<arrow::Buffer> finish() {
    check(content_->Resize(used_), name_, "memory");
    return content_;
  }

 private:
  std::string name_;
  std::unique_ptr<arrow::util::Codec> codec_;
  std::shared_ptr<arrow::io::InputStream> stream_;
  std::shared_ptr<arrow::ResizableBuffer> content_;
  std::int64_t used_ = 0;
};

}  // namespace

Compression sniff_compression(const arrow::Buffer& start) {
  const std::string_view bytes(start);
  if (bytes.starts_with("\x1F\x8B")) return Compression::gzip;
  return bytes.starts_with("\x28\xB5\x2F\xFD") ? Compression::zstd : Compression::none;
}

std::shared_ptr<arrow::Buffer> decompress(const std::shared_ptr<arrow::Buffer>& bytes, Compression compression,
                                          const std::string& name, const std::stop_token& stop) {
  const std::int64_t limit = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGE_SIZE) / 2;
  Decompression content(bytes, compression, name);
  for (;;) {
    if (stop.stop_requested()) throw CancelledError("reading " + name + " was cancelled");
    const auto read = content.append(kRead);
    check(read.status(), name, "cannot be decompressed, it is damaged or cut short");
    if (*read == 0) return content.finish();
    if (content.size() <= limit) continue;
    throw ResourceError(name + ": its content has more than " + std::to_string(limit >> 20) +
                        " MiB, half of this machine's memory; split the file");
  }
}

std::shared_ptr<arrow::Buffer> decompress_prefix(const std::shared_ptr<arrow::Buffer>& start, Compression compression,
                                                 const std::string& name, std::int64_t bytes) {
  Decompression content(start, compression, name);
  while (content.size() < bytes) {
    const auto read = content.append(bytes - content.size());
    if (!read.ok() || *read == 0) break;
  }
  return content.finish();
}

}  // namespace skyrank::datasets
