#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string_view>

#include <skyrank/error.hpp>

#include "datasets/csv/csv_scan.hpp"
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

}  // namespace

// Every text is refused as data, or a table of as many rows as it has records, which reads back the same when written.
// The first byte says whether there is a header.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  skyrank::datasets::ReadOptions options;
  options.header = data[0] % 2 == 0;
  options.threads = 1;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  Table table;
  try {
    table = skyrank::datasets::read_csv(text, "fuzz", options);
  } catch (const skyrank::DataError& error) {
    SKYRANK_REQUIRE(!error.message().empty());
    return 0;
  }
  SKYRANK_REQUIRE(table.num_rows() == count_records(text) - (options.header ? 1 : 0));
  std::ostringstream written;
  skyrank::datasets::write(table, written, skyrank::datasets::Format::csv);
  options.header = true;
  require_same(table, skyrank::datasets::read_csv(written.str(), "written", options));
  return 0;
}
