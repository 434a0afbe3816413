#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/table.h>
#include <arrow/util/utf8.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "datasets/arrow/arrow_table.hpp"
#include "datasets/csv/csv_form.hpp"
#include "datasets/csv/csv_scan.hpp"
#include "datasets/csv/plain_csv.hpp"
#include "datasets/input/compression.hpp"
#include "datasets/input/encoding.hpp"
#include "datasets/reader.hpp"
#include "datasets/write/writer.hpp"
#include "tests/fuzz/drawn.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using skyrank::Column;
using skyrank::Table;
using skyrank::datasets::ReadOptions;

std::int64_t count_records(std::string_view text, char delimiter) {
  skyrank::datasets::CsvScanner scanner(text, delimiter);
  std::int64_t records = 0;
  while (scanner.next()) ++records;
  return records;
}

void require_same(const Table& a, const Table& b) {
  SKYRANK_REQUIRE(a.num_rows() == b.num_rows() && a.num_columns() == b.num_columns());
  for (int c = 0; c < a.num_columns(); ++c) {
    const Column& left = a.column(c);
    const Column& right = b.column(c);
    SKYRANK_REQUIRE(left.name() == right.name());
    for (std::int64_t row = 0; row < a.num_rows(); ++row) {
      SKYRANK_REQUIRE(left.is_null(row) == right.is_null(row));
      SKYRANK_REQUIRE(to_string(left.value(row)) == to_string(right.value(row)));
    }
  }
}

/// Requires that another reader of the text gives no table, refuses it as read_csv does, or gives the same table.
template <class Read>
void require_agrees(const Table* expected, const Read& read) {
  std::optional<Table> table;
  try {
    table = read();
  } catch (const skyrank::DataError&) {
    SKYRANK_REQUIRE(expected == nullptr);
  }
  if (!table) return;
  SKYRANK_REQUIRE(expected != nullptr);
  require_same(*table, *expected);
  for (int c = 0; c < table->num_columns(); ++c) {
    SKYRANK_REQUIRE(table->column(c).type() == expected->column(c).type());
  }
}

/// Reads a text by the quick parser, which takes the types from a sample and reads the rest in blocks.
std::optional<Table> read_plain(const std::string& text, const ReadOptions& options,
                                const skyrank::datasets::PlainCsvBytes& bytes) {
  skyrank::datasets::ReadMeter meter({});
  const auto file = std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(text));
  auto plain =
      skyrank::datasets::plain_csv_table({file, "fuzz", *options.delimiter, *options.decimal}, options, meter, bytes);
  if (plain == nullptr) return std::nullopt;
  return skyrank::datasets::to_skyrank(std::move(plain), "fuzz");
}

/// Reads all blocks of a text as a source.
std::optional<Table> read_in_blocks(const std::string& text, ReadOptions options, std::int64_t block_bytes) {
  const skyrank::fuzz::FileInMemory file(text);
  options.format = skyrank::datasets::Format::csv;
  options.block_bytes = block_bytes;
  const auto source = skyrank::datasets::open_source({file.path()}, options);
  if (source == nullptr) return std::nullopt;
  std::vector<std::size_t> units(source->units().size());
  std::vector<int> columns(source->schema().columns().size());
  std::iota(units.begin(), units.end(), std::size_t{0});
  std::iota(columns.begin(), columns.end(), 0);
  return source->read(units, columns).table;
}

/// Returns true if a file with this text is unpacked or decoded, whatever its name.
bool is_stored_otherwise(std::string_view text) {
  return skyrank::datasets::sniff_compression(*arrow::Buffer::FromString(std::string(text))) !=
             skyrank::datasets::Compression::none ||
         !skyrank::datasets::sniff_encoding(text).empty() || text.starts_with("PK\x03\x04") ||
         text.starts_with("\xD0\xCF\x11\xE0");
}

/// Recognises the form of a text, and leaves out its comments: those lines alone that begin so.
void recognise(std::string_view text) {
  const auto form = skyrank::datasets::recognise_csv(text, true, ',', {});
  SKYRANK_REQUIRE(form.decimal == '.' || form.decimal == ',');
  const auto buffer = arrow::Buffer::FromString(std::string(text));
  const auto kept = skyrank::datasets::without_comments(*buffer, "#", form);
  SKYRANK_REQUIRE(kept->size() <= buffer->size());
  if (text.find('#') == std::string_view::npos) SKYRANK_REQUIRE(std::string_view(*kept) == text);
}

/// Decodes a text, which is refused or becomes UTF-8.
void read_encoded(std::string_view text) {
  arrow::util::InitializeUTF8();
  const auto bytes = arrow::Buffer::FromString(std::string(text));
  for (const char* encoding : {"UTF-16", "UTF-16BE", "UTF-32"}) {
    try {
      const auto decoded = skyrank::datasets::decode(bytes, {.encoding = encoding}, {"fuzz", 1 << 20}, {});
      SKYRANK_REQUIRE(arrow::util::ValidateUTF8(std::string_view(*decoded)));
    } catch (const skyrank::DataError& error) {
      SKYRANK_REQUIRE(error.location().line > 0);
    }
  }
}

/// Reads a text by all readers, which agree. The choice says whether there is a header, and how many bytes the quick
/// parser and blocks have.
void read_csv_text(std::uint8_t choice, std::string_view text, char delimiter, char decimal) {
  ReadOptions options;
  options.header = choice % 2 == 0;
  options.delimiter = delimiter;
  options.decimal = decimal;
  options.skip = 0;
  options.threads = 1;
  const skyrank::datasets::PlainCsvBytes bytes{.sample = 4 + choice / 2 % 8 * 4, .block = 8 + choice / 16 * 4};
  std::optional<Table> table;
  try {
    table = skyrank::datasets::read_csv(text, "fuzz", options);
  } catch (const skyrank::DataError& error) {
    SKYRANK_REQUIRE(!error.message().empty());
  }
  const Table* const expected = table ? &*table : nullptr;
  require_agrees(expected, [&] { return read_plain(std::string(text), options, bytes); });
  require_agrees(expected, [&] { return read_in_blocks(std::string(text), options, bytes.block); });
  if (!table) return;
  SKYRANK_REQUIRE(table->num_rows() == count_records(text, delimiter) - (*options.header ? 1 : 0));
  if (decimal != '.') return;  // texts such as 1.50 would come back as numbers
  std::ostringstream written;
  skyrank::datasets::write(*table, written, skyrank::datasets::Format::csv);
  require_same(*table, skyrank::datasets::read_csv(written.str(), "written", {}));
}

}  // namespace

// Every text is refused as data, or a table of as many rows as it has records, which reads back the same when written.
// The first byte says whether there is a header, and how many bytes the quick parser and blocks have: so few that small
// inputs have several.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  recognise(text);
  read_encoded(text);
  if (is_stored_otherwise(text)) return 0;
  read_csv_text(data[0], text, ',', '.');
  read_csv_text(data[0], text, ';', ',');
  return 0;
}
