#include <arrow/buffer.h>
#include <arrow/table.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "datasets/arrow/arrow_table.hpp"
#include "datasets/input/compression.hpp"
#include "datasets/input/encoding.hpp"
#include "datasets/json/json_document.hpp"
#include "datasets/json/json_lines.hpp"
#include "datasets/reader.hpp"
#include "datasets/write/writer.hpp"
#include "tests/fuzz/drawn.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using skyrank::Table;
using skyrank::datasets::Compression;
using skyrank::datasets::JsonText;
using skyrank::datasets::ReadOptions;
using skyrank::datasets::sniff_compression;

/// Returns a table as text, with its types; for an error, its message.
template <class Read>
std::string outcome_of(const Read& read) {
  std::ostringstream out;
  try {
    const Table table = read();
    for (const skyrank::Column& column : table.columns())
      out << column.name() << ' ' << to_string(column.type()) << '\n';
    skyrank::datasets::write(table, out, skyrank::datasets::Format::csv);
  } catch (const skyrank::DataError& error) {
    SKYRANK_REQUIRE(!error.message().empty());
    return error.what();
  }
  return out.str();
}

/// Reads all columns that can be read, in parts of about so many bytes.
Table read_in_parts(const std::string& bytes, std::int64_t part_bytes, bool take_along, bool flatten = false) {
  const JsonText text{.file = skyrank::datasets::open_buffer(arrow::Buffer::FromString(bytes), {}),
                      .size = static_cast<std::int64_t>(bytes.size()),
                      .name = "fuzz",
                      .part_bytes = part_bytes,
                      .flatten = flatten};
  const ReadOptions all;
  auto lines = scan_json_lines(text, take_along ? &all : nullptr);
  std::vector<std::string> names;
  for (const auto& column : lines.columns) {
    if (column.type != nullptr) names.push_back(column.name);
  }
  skyrank::datasets::JsonReading reading{.values = std::exchange(lines.values, {})};
  return skyrank::datasets::to_skyrank(json_table(text, lines, names, std::move(reading)), "fuzz");
}

/// Reads all blocks of a text as a source; nothing where it must be read as a whole.
std::string outcome_in_blocks(const std::string& bytes, std::int64_t block_bytes, const std::string& otherwise) {
  const skyrank::fuzz::FileInMemory file(bytes);
  ReadOptions options;
  options.format = skyrank::datasets::Format::jsonl;
  options.threads = 1;
  options.block_bytes = block_bytes;
  bool is_source = true;
  std::string outcome = outcome_of([&]() -> Table {
    const auto source = skyrank::datasets::open_source({file.path()}, options);
    is_source = source != nullptr;
    if (!is_source) return Table::with_rows(0);
    std::vector<std::size_t> units(source->units().size());
    std::vector<int> columns(source->schema().columns().size());
    std::iota(units.begin(), units.end(), std::size_t{0});
    std::iota(columns.begin(), columns.end(), 0);
    return source->read(units, columns).table;
  });
  if (!is_source) return otherwise;
  for (std::size_t at = outcome.find(file.path()); at != std::string::npos; at = outcome.find(file.path())) {
    outcome.replace(at, std::string(file.path()).size(), "fuzz");
  }
  return outcome;
}

/// Reads the text as a document of records. A document is refused, or its records lie in it as they lay, with all line
/// breaks, and their members may be columns.
void read_document(const std::string& text, const std::vector<std::string>& path) {
  std::shared_ptr<arrow::Buffer> records;
  try {
    records = skyrank::datasets::records_of_document(*arrow::Buffer::FromString(text), "fuzz", path);
  } catch (const skyrank::DataError& error) {
    SKYRANK_REQUIRE(!error.message().empty());
    return;
  }
  const std::string found(std::string_view{*records});
  SKYRANK_REQUIRE(found.size() == text.size());
  SKYRANK_REQUIRE(skyrank::datasets::count_lines(found) == skyrank::datasets::count_lines(text));
  for (std::size_t i = 0; i < text.size(); ++i) {
    SKYRANK_REQUIRE(found[i] == text[i] || found[i] == ' ' || found[i] == '\n');
  }
  const std::string whole = outcome_of([&] { return read_in_parts(found, std::int64_t{1} << 20, false, true); });
  SKYRANK_REQUIRE(outcome_of([&] { return read_in_parts(found, 16, true, true); }) == whole);
}

/// Returns true if a file with this text is read otherwise than as JSON lines.
bool is_stored_otherwise(const std::string& text) {
  return sniff_compression(*arrow::Buffer::FromString(text)) != Compression::none ||
         !skyrank::datasets::sniff_encoding(text).empty() || skyrank::datasets::begins_with_array(text) ||
         text.starts_with("PK\x03\x04") || text.starts_with("\xD0\xCF\x11\xE0");
}

}  // namespace

// Every text is refused as data, with the same message, or is the same table, in parts and blocks of any size. The
// first byte says how many bytes they have: so few that small inputs have several.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::int64_t few = 1 + data[0];
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = outcome_of([&] { return read_in_parts(text, std::int64_t{1} << 20, false); });
  SKYRANK_REQUIRE(outcome_of([&] { return read_in_parts(text, few, false); }) == whole);
  SKYRANK_REQUIRE(outcome_of([&] { return read_in_parts(text, few, true); }) == whole);
  read_document(text, {});
  read_document(text, {"a"});
  if (is_stored_otherwise(text)) return 0;
  SKYRANK_REQUIRE(outcome_in_blocks(text, few, whole) == whole);
  return 0;
}
