#include "datasets/input/compression.hpp"

#include <arrow/buffer.h>
#include <arrow/io/compressed.h>
#include <arrow/io/memory.h>
#include <arrow/memory_pool.h>
#include <arrow/util/compression.h>

#include <algorithm>
#include <cstddef>
#include <skyrank/error.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "datasets/input/encoding.hpp"
#include "datasets/input/input.hpp"
#include "engine/stop.hpp"
#include "engine/temporary_file.hpp"

namespace skyrank::datasets {
namespace {

constexpr std::int64_t kBytesOfRead = std::int64_t{1} << 20;

constexpr const char* kDamaged = "cannot be decompressed, it is damaged or cut short";

void refuse_stopped(const std::stop_token& stop, const std::string& name) {
  if (exec::is_stopped(stop)) throw CancelledError("reading " + name + " was cancelled");
}

std::unique_ptr<arrow::util::Codec> make_codec(Compression compression, const std::string& name) {
  const bool gzip = compression == Compression::gzip;
  auto codec = arrow::util::Codec::Create(gzip ? arrow::Compression::GZIP : arrow::Compression::ZSTD);
  check(codec.status(), name, "decompression");
  return *std::move(codec);
}

std::shared_ptr<arrow::io::InputStream> make_stream(arrow::util::Codec& codec,
                                                    const std::shared_ptr<arrow::io::InputStream>& bytes,
                                                    const std::string& name) {
  auto stream = arrow::io::CompressedInputStream::Make(&codec, bytes);
  check(stream.status(), name, "decompression");
  return *std::move(stream);
}

/// The text that stored bytes are, as a stream.
struct TextStream {
  std::unique_ptr<arrow::util::Codec> codec;  // null where they are not compressed
  std::shared_ptr<arrow::io::InputStream> text;

  TextStream(std::shared_ptr<arrow::io::InputStream> bytes, const TextCoding& coding, const std::string& name,
             bool is_whole)
      : text(std::move(bytes)) {
    if (coding.compression != Compression::none) {
      codec = make_codec(coding.compression, name);
      text = make_stream(*codec, text, name);
    }
    if (!coding.encoding.empty()) text = utf8_stream(text, coding.encoding, name, is_whole);
  }
};

/// The text of a file, block by block.
class Decoding {
 public:
  Decoding(const std::shared_ptr<arrow::Buffer>& bytes, const TextCoding& coding, const std::string& name,
           bool is_whole = true)
      : name_(name), stream_(std::make_shared<arrow::io::BufferReader>(bytes), coding, name, is_whole) {
    auto buffer = arrow::AllocateResizableBuffer(0);
    check(buffer.status(), name_, "memory");
    content_ = *std::move(buffer);
  }

  /// Decodes at most `bytes` more. Returns how many there were, which is none at the end.
  arrow::Result<std::int64_t> append(std::int64_t bytes) {
    if (used_ + bytes > content_->size()) {
      ARROW_RETURN_NOT_OK(content_->Resize(std::max(2 * content_->size(), used_ + bytes), false));
    }
    ARROW_ASSIGN_OR_RAISE(const std::int64_t read, stream_.text->Read(bytes, content_->mutable_data() + used_));
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
  TextStream stream_;
  std::shared_ptr<arrow::ResizableBuffer> content_;
  std::int64_t used_ = 0;
};

std::unique_ptr<exec::TemporaryFile> text_file(const std::string& name) {
  return std::make_unique<exec::TemporaryFile>(exec::temporary_folder(),
                                               exec::TemporaryFile::Content{name + ": its text goes", "it"});
}

}  // namespace

Compression sniff_compression(const arrow::Buffer& start) {
  const std::string_view bytes(start);
  if (bytes.starts_with("\x1F\x8B")) return Compression::gzip;
  return bytes.starts_with("\x28\xB5\x2F\xFD") ? Compression::zstd : Compression::none;
}

std::shared_ptr<arrow::Buffer> decode(const std::shared_ptr<arrow::Buffer>& bytes, const TextCoding& coding,
                                      const WholeText& whole, const std::stop_token& stop) {
  Decoding content(bytes, coding, whole.name);
  for (;;) {
    refuse_stopped(stop, whole.name);
    const auto read = content.append(kBytesOfRead);
    check(read.status(), whole.name, kDamaged);
    if (*read == 0) return content.finish();
    if (content.size() > whole.max_bytes) refuse_large_text(whole.name, whole.max_bytes);
  }
}

std::shared_ptr<DataFile> unpacked(DataFile& file, const TextCoding& coding, const std::stop_token& stop) {
  const TextStream stream(file.reader({}), coding, file.name(), /*is_whole=*/true);
  auto text = text_file(file.name());
  std::vector<std::byte> block(kBytesOfRead);
  for (;;) {
    refuse_stopped(stop, file.name());
    const auto read = stream.text->Read(kBytesOfRead, block.data());
    file.check_unchanged();
    check(read.status(), file.name(), kDamaged);
    if (*read == 0) return std::make_shared<DataFile>(file.name(), std::move(text), stop);
    text->append(std::span(block).first(static_cast<std::size_t>(*read)));
  }
}

std::shared_ptr<DataFile> as_file(const std::string& name, const arrow::Buffer& text, const std::stop_token& stop) {
  auto file = text_file(name);
  file->append({reinterpret_cast<const std::byte*>(text.data()), static_cast<std::size_t>(text.size())});
  return std::make_shared<DataFile>(name, std::move(file), stop);
}

std::shared_ptr<arrow::Buffer> decode_prefix(const std::shared_ptr<arrow::Buffer>& start, const TextCoding& coding,
                                             const std::string& name, std::int64_t bytes) {
  Decoding content(start, coding, name, /*is_whole=*/false);
  while (content.size() < bytes) {
    try {
      const auto read = content.append(bytes - content.size());
      if (!read.ok() || *read == 0) break;
    } catch (const DataError&) {  // told where the text is read as a whole
      break;
    }
  }
  return content.finish();
}

}  // namespace skyrank::datasets
