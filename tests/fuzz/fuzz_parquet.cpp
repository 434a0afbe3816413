#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/columnar_files.hpp"
#include "tests/parquet/thrift_tree.hpp"

// Parquet files whose metadata are Thrift but do not fit: footers and page headers of sound files, in which numbers,
// texts, fields and elements are changed one by one. Each file is refused by a message with its name, or read. The
// first byte picks the sound file; then a change takes its place in the metadata, and what it changes.
namespace {

using namespace skyrank;
using skyrank::fuzz::Drawn;
using tests::ParquetParts;
using tests::ThriftReader;
using tests::ThriftValue;
using tests::ThriftWriter;

std::string sound_file(int choice) {
  parquet::WriterProperties::Builder properties;
  static constexpr std::array kCodecs = {arrow::Compression::UNCOMPRESSED, arrow::Compression::SNAPPY,
                                         arrow::Compression::ZSTD, arrow::Compression::GZIP};
  properties.compression(kCodecs[static_cast<std::size_t>(choice) % kCodecs.size()]);
  properties.data_page_version(choice / 4 % 2 == 0 ? parquet::ParquetDataPageVersion::V1
                                                   : parquet::ParquetDataPageVersion::V2);
  if (choice / 8 % 2 == 1) properties.disable_dictionary()->enable_write_page_index();
  properties.write_batch_size(8)->data_pagesize(100);
  const auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  fuzz::require(parquet::arrow::WriteTable(*fuzz::sound_table(), arrow::default_memory_pool(), out, 25,
                                           properties.build(),
                                           parquet::ArrowWriterProperties::Builder().store_schema()->build()));
  return out->Finish().ValueOrDie()->ToString();
}

const std::string& sound(std::size_t choice) {
  static const std::vector<std::string> files = [] {
    std::vector<std::string> made;
    for (int i = 0; i < 16; ++i) made.push_back(sound_file(i));
    return made;
  }();
  return files[choice % files.size()];
}

/// Collects a value and all values in it.
void collect(ThriftValue& value, std::vector<ThriftValue*>& values) {
  values.push_back(&value);
  for (ThriftValue& element : value.elements) collect(element, values);
  for (ThriftValue& field : value.fields) collect(field, values);
}

/// Changes one of the values in a tree.
void change(ThriftValue& tree, Drawn& in) {
  std::vector<ThriftValue*> values;
  collect(tree, values);
  ThriftValue& value = *values[in.below(values.size())];
  const std::uint8_t how = in.byte();
  if (value.type <= 7 && value.type >= 3) {
    value.integer = in.count(value.integer);
  } else if (value.type == ThriftValue::kBinary) {
    if (how % 2 == 0) value.bytes.resize(value.bytes.size() / 2);
    if (how % 2 == 1 && !value.bytes.empty()) value.bytes[in.below(value.bytes.size())] = static_cast<char>(in.byte());
  } else if (!value.elements.empty()) {
    const std::size_t element = in.below(value.elements.size());
    const auto place = value.elements.begin() + static_cast<std::ptrdiff_t>(element);
    if (how % 2 == 0) value.elements.erase(place);
    if (how % 2 == 1) value.elements.insert(place, ThriftValue(*place));
  } else if (!value.fields.empty()) {
    const std::size_t place = in.below(value.fields.size());
    ThriftValue& field = value.fields[place];
    if (how % 4 == 1) field.type = in.byte() % 13;
    if (how % 4 == 2) field.number = in.byte() % 20;
    if (how % 4 == 0) value.fields.erase(value.fields.begin() + static_cast<std::ptrdiff_t>(place));
  }
}

/// Writes the pages of a chunk again behind all others, with a changed header of one, and moves the chunk there.
void change_page(ParquetParts& parts, Drawn& in) {
  ThriftValue& groups = parts.footer.at(4);
  ThriftValue& chunks = groups[in.below(groups.elements.size())].at(1);
  ThriftValue& chunk = chunks[in.below(chunks.elements.size())].at(3);
  const bool has_dictionary = chunk.find(11) != nullptr;
  const auto begin = static_cast<std::size_t>(chunk.at(has_dictionary ? 11 : 9).integer);
  const std::string pages = parts.body.substr(begin, static_cast<std::size_t>(chunk.at(7).integer));
  const std::size_t changed = in.below(3);
  const std::uint8_t payload = in.byte();
  std::string written;
  std::size_t at = 0;
  const auto moved = static_cast<std::int64_t>(parts.body.size());
  for (std::size_t page = 0; at < pages.size(); ++page) {
    ThriftReader reader(std::string_view(pages).substr(at));
    ThriftValue header = reader.read();
    at += reader.position();
    std::string data = pages.substr(at, static_cast<std::size_t>(header.at(3).integer));
    at += data.size();
    if (page == changed && payload % 2 == 0) change(header, in);
    if (page == changed && payload % 2 == 1 && !data.empty())
      data[in.below(data.size())] = static_cast<char>(in.byte());
    if (page == 1 && has_dictionary) chunk.at(9).integer = moved + static_cast<std::int64_t>(written.size());
    ThriftWriter writer;
    writer.write(header);
    written += writer.bytes + data;
  }
  chunk.at(has_dictionary ? 11 : 9).integer = moved;
  chunk.at(7).integer = static_cast<std::int64_t>(written.size());
  parts.body += written;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Drawn in(data, size);
  ParquetParts parts = ParquetParts::of(sound(in.byte()));
  constexpr int kMaxChanges = 8;
  try {
    for (int i = 0; i < kMaxChanges && !in.is_empty(); ++i) {
      if (in.byte() % 3 == 0) {
        change_page(parts, in);
      } else {
        change(parts.footer, in);
      }
    }
  } catch (const std::out_of_range&) {  // pages that changes before have made unreadable here
  }
  fuzz::read_in_all_ways(parts.file(), datasets::Format::parquet);
  return 0;
}
