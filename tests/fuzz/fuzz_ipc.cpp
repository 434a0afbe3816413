#include <arrow/array/builder_dict.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/fuzz/columnar_files.hpp"

// Arrow IPC files and streams, in whose messages numbers are changed where they lie. The first byte picks the sound
// file; then a change takes its place, its width and its value. Each file is refused by a message with its name, or
// read.
namespace {

using namespace skyrank;
using skyrank::fuzz::Drawn;

std::string sound_file(bool is_stream, bool is_compressed) {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  if (is_compressed) options.codec = arrow::util::Codec::Create(arrow::Compression::ZSTD).ValueOrDie();
  arrow::StringDictionaryBuilder words;
  for (int row = 0; row < 60; ++row) fuzz::require(words.Append(row % 3 == 0 ? "a" : "b"));
  const auto column = words.Finish().ValueOrDie();
  const auto table =
      fuzz::sound_table()
          ->AddColumn(0, arrow::field("w", column->type()), std::make_shared<arrow::ChunkedArray>(column))
          .ValueOrDie();
  const auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  const auto writer = (is_stream ? arrow::ipc::MakeStreamWriter(out, table->schema(), options)
                                 : arrow::ipc::MakeFileWriter(out, table->schema(), options))
                          .ValueOrDie();
  fuzz::require(writer->WriteTable(*table, 25));
  fuzz::require(writer->Close());
  return out->Finish().ValueOrDie()->ToString();
}

const std::string& sound(std::size_t choice) {
  static const std::vector<std::string> files = {sound_file(false, false), sound_file(false, true),
                                                 sound_file(true, false), sound_file(true, true)};
  return files[choice % files.size()];
}

/// Writes a number over those that lie at a place.
void change(std::string& file, Drawn& in) {
  const std::size_t width = std::size_t{1} << in.byte() % 4;
  const std::size_t place = in.below(file.size() / width) * width;
  std::int64_t value = 0;
  std::memcpy(&value, file.data() + place, width);
  value = in.count(value);
  std::memcpy(file.data() + place, &value, width);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Drawn in(data, size);
  std::string file = sound(in.byte());
  constexpr int kMaxChanges = 8;
  for (int i = 0; i < kMaxChanges && !in.is_empty(); ++i) change(file, in);
  fuzz::read_in_all_ways(file, datasets::Format::arrow);
  return 0;
}
