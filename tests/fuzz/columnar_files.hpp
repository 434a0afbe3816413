#pragma once

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/io/memory.h>
#include <arrow/table.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <skyrank/error.hpp>

#include "datasets/reader.hpp"
#include "tests/fuzz/drawn.hpp"

// Sound tables whose files fuzz targets damage, and the readers that meet the damage.
namespace skyrank::fuzz {

inline void require(const arrow::Status& status) { SKYRANK_REQUIRE(status.ok()); }

/// Returns columns of integers, numbers with NULLs, texts, bytes, booleans and lists.
inline std::shared_ptr<arrow::Table> sound_table() {
  constexpr int kRows = 60;
  arrow::Int64Builder integers;
  arrow::DoubleBuilder numbers;
  arrow::StringBuilder texts;
  arrow::BinaryBuilder bytes;
  arrow::BooleanBuilder flags;
  arrow::Int32Builder days;
  arrow::ListBuilder lists(arrow::default_memory_pool(), std::make_shared<arrow::Int32Builder>());
  for (int row = 0; row < kRows; ++row) {
    require(integers.Append(row * 37 % 31));
    require(row % 5 == 0 ? numbers.AppendNull() : numbers.Append(row % 13));
    require(texts.Append("t" + std::to_string(row % 7)));
    require(bytes.Append(std::string(static_cast<std::size_t>(row % 3), 'b')));
    require(flags.Append(row % 2 == 0));
    require(days.Append(row));
    require(lists.Append());
    require(static_cast<arrow::Int32Builder*>(lists.value_builder())->Append(row));
  }
  const auto finish = [](arrow::ArrayBuilder& builder) { return builder.Finish().ValueOrDie(); };
  return arrow::Table::Make(
      arrow::schema({arrow::field("a", arrow::int64(), false), arrow::field("b", arrow::float64()),
                     arrow::field("s", arrow::utf8()), arrow::field("x", arrow::binary()),
                     arrow::field("f", arrow::boolean()), arrow::field("d", arrow::int32()),
                     arrow::field("l", arrow::list(arrow::int32()))}),
      {finish(integers), finish(numbers), finish(texts), finish(bytes), finish(flags), finish(days), finish(lists)});
}

/// Calls `read`, which may refuse the file by a message with its name.
template <class Read>
void refused_or_read(const std::string& file, const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    SKYRANK_REQUIRE(error.message().find(file) != std::string::npos);
  }
}

/// Reads a column of a unit as codes, all of which must stand for a value.
inline void read_codes(const Source& source, std::size_t unit, int column) {
  const auto found = source.codes(unit, column);
  if (!found) return;
  for (std::int64_t row = 0; row < found->codes.size(); ++row) {
    const Value code = found->codes.value(row);
    SKYRANK_REQUIRE(found->codes.is_null(row) || std::get<std::int64_t>(code) < found->values.size());
  }
}

/// Reads a file in all ways: unit by unit, as codes, some rows, bounds, all units together, and as a table.
inline void read_in_all_ways(const std::string& content, datasets::Format format) {
  const FileInMemory file(content);
  datasets::ReadOptions options;
  options.threads = 1;
  options.format = format;
  refused_or_read(file.path(), [&] {
    const auto source = datasets::open_source({file.path()}, options);
    if (source == nullptr) return;
    std::vector<int> columns(source->schema().columns().size());
    std::iota(columns.begin(), columns.end(), 0);
    for (const int column : columns) static_cast<void>(source->statistics(column));
    const auto rows = std::min<RowId>(num_rows(*source), 3);
    std::vector<RowId> first(static_cast<std::size_t>(rows));
    std::iota(first.begin(), first.end(), RowId{0});
    refused_or_read(file.path(), [&] { static_cast<void>(source->read_rows(first, columns)); });
    std::vector<std::size_t> units(source->units().size());
    std::iota(units.begin(), units.end(), std::size_t{0});
    refused_or_read(file.path(), [&] { static_cast<void>(source->read(units, columns)); });
    for (const int column : columns) {
      refused_or_read(file.path(), [&] { static_cast<void>(source->read(units, std::span(&column, 1))); });
    }
    for (std::size_t unit = 0; unit < std::min<std::size_t>(source->units().size(), 4); ++unit) {
      for (const int column : columns) {
        refused_or_read(file.path(), [&] { static_cast<void>(source->zones(unit, column)); });
        refused_or_read(file.path(), [&] { read_codes(*source, unit, column); });
        refused_or_read(file.path(), [&] {
          const int one[] = {column};
          static_cast<void>(source->read(std::vector<std::size_t>{unit}, one));
        });
      }
    }
  });
  refused_or_read(file.path(), [&] { static_cast<void>(datasets::read({file.path()}, options)); });
}

}  // namespace skyrank::fuzz
