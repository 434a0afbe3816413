#include "datasets/columnar/checks/checked_pages.hpp"

#include <arrow/buffer.h>
#include <arrow/result.h>
#include <arrow/status.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "datasets/columnar/checks/crc32.hpp"

namespace skyrank::datasets {
namespace {

/// The fields of a page's header that come before those of its kind.
struct PageHeader {
  std::optional<std::int32_t> type;
  std::optional<std::int32_t> checksum;
};

/// Reads integers of Thrift's compact protocol, 7 bits a byte with the lowest first; of too few bytes it makes zeros.
/// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
class CompactReader {
 public:
  explicit CompactReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte;
  }

  /// Returns an integer whose sign is in its lowest bit.
  std::int32_t integer() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      value |= std::uint64_t{next & 0x7FU} << shift;
      if (next < 0x80) break;
    }
    return static_cast<std::int32_t>((value >> 1) ^ (0 - (value & 1)));
  }

 private:
  std::string_view bytes_;
};

/// Reads the 32-bit integers with which each header begins, up to its first field of another type.
PageHeader header_of(std::string_view bytes) {
  constexpr int kInteger32 = 5;
  constexpr int kType = 1;
  constexpr int kChecksum = 4;
  PageHeader header;
  CompactReader reader(bytes);
  for (int field = 0;;) {
    const std::uint8_t tag = reader.byte();
    if ((tag & 0xF) != kInteger32) return header;
    field = tag >> 4 == 0 ? reader.integer() : field + (tag >> 4);
    const std::int32_t value = reader.integer();
    if (field == kType) header.type = value;
    if (field == kChecksum) header.checksum = value;
  }
}

class ChecksumStream final : public arrow::io::InputStream {
 public:
  explicit ChecksumStream(std::shared_ptr<arrow::io::InputStream> chunk) : chunk_(std::move(chunk)) {}

  arrow::Status Close() override { return chunk_->Close(); }
  bool closed() const override { return chunk_->closed(); }
  arrow::Result<std::int64_t> Tell() const override { return chunk_->Tell(); }

  arrow::Result<std::string_view> Peek(std::int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(const std::string_view peeked, chunk_->Peek(bytes));
    header_ = header_of(peeked);
    is_at_header_ = true;
    return peeked;
  }

  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(auto read, chunk_->Read(bytes));
    if (!std::exchange(is_at_header_, false)) ARROW_RETURN_NOT_OK(check_page(*read, bytes));
    return read;
  }

  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override {
    is_at_header_ = false;
    return chunk_->Read(bytes, out);
  }

 private:
  arrow::Status check_page(const arrow::Buffer& page, std::int64_t bytes) {
    constexpr std::int32_t kDictionary = 2;
    const PageHeader header = std::exchange(header_, {});
    const bool is_dictionary = header.type == kDictionary;
    const std::int64_t number = is_dictionary ? 0 : pages_++;
    if (!header.checksum || page.size() != bytes) return arrow::Status::OK();
    const std::span content(page.data(), static_cast<std::size_t>(page.size()));
    if (crc32(content) == static_cast<std::uint32_t>(*header.checksum)) return arrow::Status::OK();
    return arrow::Status::Invalid(is_dictionary ? "the dictionary" : "data page " + std::to_string(number),
                                  " does not have its checksum (CRC-32)");
  }

  std::shared_ptr<arrow::io::InputStream> chunk_;
  PageHeader header_;  // of the page that is read next
  bool is_at_header_ = false;
  std::int64_t pages_ = 0;  // data pages before it
};

}  // namespace

std::shared_ptr<arrow::io::InputStream> with_checksums(std::shared_ptr<arrow::io::InputStream> chunk) {
  return std::make_shared<ChecksumStream>(std::move(chunk));
}

}  // namespace skyrank::datasets
