#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "datasets/input/data_file.hpp"
#include "datasets/input/files.hpp"

// Text files that are stored otherwise than as UTF-8: compressed as a whole, with gzip or zstd, or in another encoding.
namespace skyrank::datasets {

/// Returns how a file is compressed, by its first bytes.
Compression sniff_compression(const arrow::Buffer& start);

/// How the text of a file is stored.
struct TextCoding {
  Compression compression = Compression::none;
  std::string encoding;  ///< empty: UTF-8

  bool is_plain() const { return compression == Compression::none && encoding.empty(); }
};

/// The name of a compressed file, and the bytes of text that may be read of it as a whole.
struct WholeText {
  std::string name;
  std::int64_t max_bytes;
};

/// Decodes a whole file, where it is compressed of one or several gzip members or zstd frames. DataError naming the
/// file where it is damaged or cut short, TextTooLarge where there is more text, CancelledError soon after a stop is
/// requested.
std::shared_ptr<arrow::Buffer> decode(const std::shared_ptr<arrow::Buffer>& bytes, const TextCoding& coding,
                                      const WholeText& whole, const std::stop_token& stop);

/// Decodes a file into a temporary one, piece by piece. Throws as `decode`, and ResourceError where the folder
/// for temporary files has no room.
std::shared_ptr<DataFile> unpacked(DataFile& file, const TextCoding& coding, const std::stop_token& stop);

/// Puts the text of a file into a temporary one, which takes its place.
std::shared_ptr<DataFile> as_file(const std::string& name, const arrow::Buffer& text, const std::stop_token& stop);

/// Decodes the start of a file to at most `bytes` bytes. Damage ends the result rather than being an error.
std::shared_ptr<arrow::Buffer> decode_prefix(const std::shared_ptr<arrow::Buffer>& start, const TextCoding& coding,
                                             const std::string& name, std::int64_t bytes);

}  // namespace skyrank::datasets
