#include "datasets/arrow/partial_stream.hpp"

#include <arrow/buffer.h>
#include <arrow/c/bridge.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/util/compression.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <skyrank/engine.hpp>

#include "tests/build.hpp"

namespace skyrank::datasets {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

Table three_rows() {
  return Table({Column::own("a", std::vector<std::int64_t>{1, 2, 3}, {true, true, false}),
                Column::own("s", std::vector<std::string>{"x", "yy", "zzz"})});
}

Query lowest() { return Query::from("t").rank_by({low("a")}).limit(3).select({"a", "s"}); }

const Engine& engine() {
  static const Engine engine({.threads = 1, .device = DeviceChoice::cpu});
  return engine;
}

Bytes genuine() { return partial_to_bytes(engine().partial(lowest(), three_rows(), 0)); }

std::string refusal(const Bytes& bytes) {
  try {
    partial_from_bytes(bytes);
  } catch (const DataError& error) {
    return error.message();
  }
  return "no error";
}

/// Returns the bytes with a number in another one's place: that of the last list of numbers that is equal to `found`.
template <class T>
Bytes with_number(Bytes bytes, const std::vector<T>& found, std::size_t index, T number) {
  const auto pattern = std::as_bytes(std::span(found));
  const auto at = std::find_end(bytes.begin(), bytes.end(), pattern.begin(), pattern.end());
  EXPECT_NE(at, bytes.end());
  std::memcpy(&*at + index * sizeof(T), &number, sizeof(T));
  return bytes;
}

/// Expects that bytes are refused, or merge to an answer whose values can be read.
void expect_refused_or_whole(const Bytes& bytes) {
  try {
    const Result result = engine().merge(lowest(), {partial_from_bytes(bytes)});
    for (const Column& column : result.table.columns()) {
      for (std::int64_t row = 0; row < column.size(); ++row) static_cast<void>(to_string(column.value(row)));
    }
  } catch (const DataError& error) {
    EXPECT_FALSE(error.message().empty());
  }
}

TEST(PartialStream, ComesBackAsItWas) {
  const Partial partial = engine().partial(lowest(), three_rows(), 5);
  const Partial read = partial_from_bytes(partial_to_bytes(partial));
  EXPECT_EQ(read.fingerprint(), partial.fingerprint());
  EXPECT_EQ(read.covers(), partial.covers());
  EXPECT_THAT(engine().merge(lowest(), {read}).rows, ElementsAre(5, 6, 7));
}

TEST(PartialStream, CompressedValuesAreRefusedBeforeTheyAreDecompressed) {
  ArrowArray array;
  ArrowSchema schema;
  engine().partial(lowest(), three_rows(), 0).export_arrow(&array, &schema);
  const auto batch = arrow::ImportRecordBatch(&array, &schema).ValueOrDie();
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.codec = arrow::util::Codec::Create(arrow::Compression::ZSTD).ValueOrDie();
  const auto stream = arrow::io::BufferOutputStream::Create().ValueOrDie();
  const auto writer = arrow::ipc::MakeStreamWriter(stream, batch->schema(), options).ValueOrDie();
  ASSERT_TRUE(writer->WriteRecordBatch(*batch).ok() && writer->Close().ok());
  const auto written = stream->Finish().ValueOrDie();
  const auto content = std::as_bytes(std::span(written->data(), static_cast<std::size_t>(written->size())));
  EXPECT_THAT(refusal(Bytes(content.begin(), content.end())), HasSubstr("their values are compressed"));
}

TEST(PartialStream, OffsetsOfTextsLieInsideTheirBuffer) {
  const std::vector<std::int32_t> offsets = {0, 1, 3, 6};
  for (const std::int32_t other : {600, 0x7fffffff, -1, 2}) {
    EXPECT_THAT(refusal(with_number(genuine(), offsets, 3, other)), HasSubstr("the bytes hold no partial answer"));
  }
  EXPECT_THAT(refusal(with_number(genuine(), offsets, 0, -1)), HasSubstr("no partial answer"));
  EXPECT_THAT(refusal(with_number(genuine(), offsets, 1, 4)), HasSubstr("no partial answer"));
}

TEST(PartialStream, TextsAreUtf8) {
  EXPECT_THAT(refusal(with_number(genuine(), std::vector<char>{'x', 'y', 'y', 'z', 'z', 'z'}, 2, '\xff')),
              HasSubstr("UTF8"));
}

TEST(PartialStream, PositionsAscendWithinTheRowsThatAreCovered) {
  const std::vector<std::int64_t> rows = {0, 1, 2};
  EXPECT_THAT(refusal(with_number(genuine(), rows, 1, std::int64_t{0})), HasSubstr("rows must ascend"));
  EXPECT_THAT(refusal(with_number(genuine(), rows, 2, std::int64_t{1} << 61)), HasSubstr("not among the rows"));
}

TEST(PartialStream, EachByteAndEachSizeMayBeAnyOther) {
  const Bytes bytes = genuine();
  for (std::size_t place = 0; place < bytes.size(); place += tests::kSanitized ? 3 : 1) {
    for (const unsigned flip : {0x01U, 0x80U, 0xffU}) {
      Bytes other = bytes;
      other[place] ^= std::byte{static_cast<unsigned char>(flip)};
      expect_refused_or_whole(other);
    }
    expect_refused_or_whole({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(place)});
  }
  constexpr std::uint64_t kOne = 1;
  for (std::size_t place = 0; place + 8 <= bytes.size(); place += 4) {
    for (const std::uint64_t size :
         {std::uint64_t{0}, kOne, kOne << 31, kOne << 32, kOne << 61, kOne << 63, ~std::uint64_t{0}}) {
      Bytes other = bytes;
      std::memcpy(other.data() + place, &size, sizeof size);
      expect_refused_or_whole(other);
    }
  }
}

TEST(PartialStream, OtherBytesAreRefused) {
  EXPECT_THAT(refusal({}), HasSubstr("no partial answer"));
  EXPECT_THAT(refusal(Bytes(100, std::byte{0xff})), HasSubstr("no partial answer"));
}

}  // namespace
}  // namespace skyrank::datasets
