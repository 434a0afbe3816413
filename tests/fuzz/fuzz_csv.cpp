#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/table.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include <skyrank/error.hpp>

#include "datasets/arrow/arrow_table.hpp"
#include "datasets/csv/csv_scan.hpp"
#include "datasets/csv/plain_csv.hpp"
#include "datasets/reader.hpp"
#include "datasets/write/writer.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using skyrank::Column;
using skyrank::Table;

std::int64_t count_records(std::string_view text) {
  skyrank::datasets::CsvScanner scanner(text, ',');
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

/// Requires that the quick parser leaves a text to Arrow's, or reads the same table: of no text that is refused. It
/// takes the types from a sample and reads the rest in blocks, both short enough for small inputs to have several.
void require_plain_agrees(std::string_view text, const skyrank::datasets::ReadOptions& options,
                          const skyrank::datasets::PlainCsvBytes& bytes, const Table* expected) {
  skyrank::datasets::ReadMeter meter({});
  const auto buffer = arrow::Buffer::FromString(std::string(text));
  Table table;
  try {
    const auto plain = skyrank::datasets::plain_csv_table(
        {std::make_shared<arrow::io::BufferReader>(buffer), "fuzz", ','}, options, meter, bytes);
    if (plain == nullptr) return;
    table = skyrank::datasets::to_skyrank(plain, "fuzz");
  } catch (const skyrank::DataError&) {  // of the header, which both read alike
    SKYRANK_REQUIRE(expected == nullptr);
    return;
  }
  SKYRANK_REQUIRE(expected != nullptr);
  require_same(table, *expected);
  for (int c = 0; c < table.num_columns(); ++c) {
    SKYRANK_REQUIRE(table.column(c).type() == expected->column(c).type());
  }
}

}  // namespace

// Every text is refused as data, or a table of as many rows as it has records, which reads back the same when written.
// The first byte says whether there is a header, and how many bytes the quick parser reads at once.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  skyrank::datasets::ReadOptions options;
  options.header = data[0] % 2 == 0;
  options.threads = 1;
  const skyrank::datasets::PlainCsvBytes bytes{.sample = 4 + data[0] / 2 % 8 * 4, .block = 8 + data[0] / 16 * 4};
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::optional<Table> table;
  try {
    table = skyrank::datasets::read_csv(text, "fuzz", options);
  } catch (const skyrank::DataError& error) {
    SKYRANK_REQUIRE(!error.message().empty());
  }
  require_plain_agrees(text, options, bytes, table ? &*table : nullptr);
  if (!table) return 0;
  SKYRANK_REQUIRE(table->num_rows() == count_records(text) - (options.header ? 1 : 0));
  std::ostringstream written;
  skyrank::datasets::write(*table, written, skyrank::datasets::Format::csv);
  options.header = true;
  require_same(*table, skyrank::datasets::read_csv(written.str(), "written", options));
  return 0;
}
