#include <parquet/arrow/writer.h>
#include <parquet/properties.h>
#include <parquet/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/columnar_files.hpp"
#include "tests/parquet/thrift_tree.hpp"

// Pages of Parquet files made of the fuzzer's bytes, in sound files: the first bytes pick the column, the encoding, the
// number of values and the bytes of a dictionary. Each file is refused by a message with its name, or read.
namespace {

using namespace skyrank;
using skyrank::fuzz::Drawn;
using tests::ParquetParts;
using tests::ThriftValue;
using tests::ThriftWriter;

constexpr int kData = 0;  // types of pages
constexpr int kDictionary = 2;
constexpr int kPlain = 0;  // encodings
constexpr int kLevels = 3;

/// Returns a file of one row group, with plain pages that are not compressed.
const std::string& sound() {
  static const std::string file = [] {
    parquet::WriterProperties::Builder properties;
    properties.disable_dictionary()->disable_statistics();
    const auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
    fuzz::require(
        parquet::arrow::WriteTable(*fuzz::sound_table(), arrow::default_memory_pool(), out, 1000, properties.build()));
    return out->Finish().ValueOrDie()->ToString();
  }();
  return file;
}

/// Returns a page of one type, with its header.
std::string page_of(int type, int encoding, std::int64_t values, const std::string& data) {
  ThriftValue content;
  content.set(1, ThriftValue::of(values, ThriftValue::kInt32));
  content.set(2, ThriftValue::of(encoding, ThriftValue::kInt32));
  if (type == kData) content.set(3, ThriftValue::of(kLevels, ThriftValue::kInt32));
  if (type == kData) content.set(4, ThriftValue::of(kLevels, ThriftValue::kInt32));
  ThriftValue header;
  header.set(1, ThriftValue::of(type, ThriftValue::kInt32));
  header.set(2, ThriftValue::of(static_cast<std::int64_t>(data.size()), ThriftValue::kInt32));
  header.set(3, ThriftValue::of(static_cast<std::int64_t>(data.size()), ThriftValue::kInt32));
  header.set(type == kData ? 5 : 7, content);
  ThriftWriter writer;
  writer.write(header);
  return writer.bytes + data;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // PLAIN, PLAIN_DICTIONARY, RLE, BIT_PACKED, DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY,
  // RLE_DICTIONARY, BYTE_STREAM_SPLIT
  static constexpr std::array kEncodings = {0, 2, 3, 4, 5, 6, 7, 8, 9};
  Drawn in(data, size);
  ParquetParts parts = ParquetParts::of(sound());
  const std::size_t leaf = in.below(parts.row_group(0).at(1).elements.size());
  const int encoding = kEncodings[in.below(kEncodings.size())];
  const std::int64_t values = in.byte() % 4 == 0 ? in.count(60) : 60;
  const std::size_t entries = in.byte();
  const std::size_t dictionary_bytes = in.byte();
  std::string payload = in.rest();
  ThriftValue& chunk = parts.chunk(0, leaf);
  const auto begin = static_cast<std::int64_t>(parts.body.size());
  std::string pages;
  if (encoding == 2 || encoding == 8) {
    const std::string dictionary = payload.substr(0, dictionary_bytes);
    payload.erase(0, dictionary.size());
    pages = page_of(kDictionary, kPlain, static_cast<std::int64_t>(entries), dictionary);
    chunk.set(11, ThriftValue::of(begin, ThriftValue::kInt64));
  }
  chunk.at(9).integer = begin + static_cast<std::int64_t>(pages.size());
  pages += page_of(kData, encoding, values, payload);
  chunk.at(7).integer = chunk.at(6).integer = static_cast<std::int64_t>(pages.size());
  parts.body += pages;
  fuzz::read_in_all_ways(parts.file(), datasets::Format::parquet);
  return 0;
}
