#include "datasets/input/encoding.hpp"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <iconv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

namespace skyrank::datasets {
namespace {

/// A conversion to UTF-8.
class Conversion {
 public:
  explicit Conversion(const std::string& encoding) : descriptor_(::iconv_open("UTF-8", encoding.c_str())) {
    if (!is_known() && errno == ENOMEM) throw std::bad_alloc();
  }
  ~Conversion() {
    if (is_known()) ::iconv_close(descriptor_);
  }
  Conversion(const Conversion&) = delete;
  Conversion& operator=(const Conversion&) = delete;

  // The descriptor of a failed opening is -1 as a pointer.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-cstyle-cast,performance-no-int-to-ptr)
  bool is_known() const { return descriptor_ != (iconv_t)-1; }

  /// Converts bytes as far as there is room, and drops them. Returns the error that ends it; 0 where there is none.
  int convert(std::string& bytes, std::string& text) {
    char* in = bytes.data();
    std::size_t in_left = bytes.size();
    std::array<char, kRoom> room;  // NOLINT(cppcoreguidelines-pro-type-member-init): is written first
    int error = E2BIG;
    while (error == E2BIG) {
      char* out = room.data();
      std::size_t out_left = room.size();
      error = ::iconv(descriptor_, &in, &in_left, &out, &out_left) == static_cast<std::size_t>(-1) ? errno : 0;
      text.append(room.data(), room.size() - out_left);
    }
    bytes.erase(0, bytes.size() - in_left);
    return error;
  }

 private:
  static constexpr std::size_t kRoom = std::size_t{16} << 10;

  iconv_t descriptor_;
};

class Utf8Stream final : public arrow::io::InputStream {
 public:
  Utf8Stream(std::shared_ptr<arrow::io::InputStream> bytes, std::string encoding, std::string name, bool is_whole)
      : stream_(std::move(bytes)),
        encoding_(std::move(encoding)),
        name_(std::move(name)),
        is_whole_(is_whole),
        conversion_(encoding_) {}

  arrow::Status Close() override { return stream_->Close(); }
  bool closed() const override { return stream_->closed(); }
  arrow::Result<std::int64_t> Tell() const override { return position_; }

  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override {
    while (begin_ == text_.size() && !at_end_) ARROW_RETURN_NOT_OK(convert_more());
    const std::int64_t size = std::min(bytes, static_cast<std::int64_t>(text_.size() - begin_));
    if (size > 0) std::memcpy(out, text_.data() + begin_, static_cast<std::size_t>(size));
    begin_ += static_cast<std::size_t>(size);
    position_ += size;
    return size;
  }

  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(bytes));
    ARROW_ASSIGN_OR_RAISE(const std::int64_t size, Read(bytes, buffer->mutable_data()));
    ARROW_RETURN_NOT_OK(buffer->Resize(size));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer));
  }

 private:
  static constexpr std::int64_t kBytesOfRead = std::int64_t{64} << 10;

  arrow::Status convert_more() {
    lines_ += std::count(text_.begin(), text_.end(), '\n');
    text_.clear();
    begin_ = 0;
    ARROW_ASSIGN_OR_RAISE(const auto block, stream_->Read(kBytesOfRead));
    at_end_ = block->size() == 0;
    bytes_.append(std::string_view(*block));
    const int error = conversion_.convert(bytes_, text_);
    if (error == EILSEQ || (at_end_ && is_whole_ && !bytes_.empty())) {
      if (!text_.empty() && !at_end_) return arrow::Status::OK();  // what is before it first
      lines_ += std::count(text_.begin(), text_.end(), '\n');
      throw DataError("the text is not " + encoding_ + "; state another 'encoding', or convert the file to UTF-8",
                      {name_, lines_ + 1, 0});
    }
    return arrow::Status::OK();
  }

  std::shared_ptr<arrow::io::InputStream> stream_;
  std::string encoding_;
  std::string name_;
  bool is_whole_;
  Conversion conversion_;
  std::string bytes_;  // not converted yet
  std::string text_;
  std::size_t begin_ = 0;  // of the text that was not read
  std::int64_t position_ = 0;
  std::int64_t lines_ = 0;
  bool at_end_ = false;
};

}  // namespace

std::string parse_encoding(const std::string& name, const Location& where) {
  std::string upper = name;
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  if (upper == "UTF-8" || upper == "UTF8") return {};
  // A slash asks the system for transliteration, and would let what is wrong pass.
  if (upper.find('/') == std::string::npos && upper.find('\0') == std::string::npos && Conversion(upper).is_known()) {
    return upper;
  }
  throw DataError("unknown encoding '" + name +
                      "'; there are utf-8, utf-16, iso-8859-1, windows-1252 and others that `iconv -l` lists",
                  where);
}

std::string sniff_encoding(std::string_view start) {
  using namespace std::string_view_literals;
  if (start.starts_with("\xFF\xFE\0\0"sv) || start.starts_with("\0\0\xFE\xFF"sv)) return "UTF-32";
  if (start.starts_with("\xFF\xFE"sv) || start.starts_with("\xFE\xFF"sv)) return "UTF-16";
  return {};
}

std::shared_ptr<arrow::io::InputStream> utf8_stream(std::shared_ptr<arrow::io::InputStream> bytes,
                                                    const std::string& encoding, const std::string& name,
                                                    bool is_whole) {
  return std::make_shared<Utf8Stream>(std::move(bytes), encoding, name, is_whole);
}

}  // namespace skyrank::datasets
