#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "datasets/input/data_file.hpp"
#include "datasets/input/files.hpp"

// Text files that are compressed as a whole, with gzip or zstd.
namespace skyrank::datasets {

/// Returns how a file is compressed, by its first bytes.
Compression sniff_compression(const arrow::Buffer& start);

/// The name of a compressed file, and the bytes of text that may be read of it as a whole.
struct WholeText {
  std::string name;
  std::int64_t max_bytes;
};

/// Decompresses a whole file, of one or several gzip members or zstd frames. DataError naming the file where it is
/// damaged or cut short, TextTooLarge where there is more text, CancelledError soon after a stop is requested.
std::shared_ptr<arrow::Buffer> decompress(const std::shared_ptr<arrow::Buffer>& bytes, Compression compression,
                                          const WholeText& whole, const std::stop_token& stop);

/// Decompresses a file into a temporary one, piece by piece. Throws as `decompress`, and ResourceError where the folder
/// for temporary files has no room.
std::shared_ptr<DataFile> unpacked(DataFile& file, Compression compression, const std::stop_token& stop);

/// Decompresses the start of a file to at most `bytes` bytes. Damage ends the result rather than being an error.
std::shared_ptr<arrow::Buffer> decompress_prefix(const std::shared_ptr<arrow::Buffer>& start, Compression compression,
                                                 const std::string& name, std::int64_t bytes);

}  // namespace skyrank::datasets
