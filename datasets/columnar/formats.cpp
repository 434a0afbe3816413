#include "datasets/columnar/formats.hpp"

#include <algorithm>
#include <array>

#include "datasets/columnar/columnar.hpp"
#include "datasets/columnar/ipc_source.hpp"
#include "datasets/columnar/parquet_source.hpp"

namespace skyrank::datasets {
namespace {

bool is_parquet(std::string_view bytes) { return bytes.starts_with("PAR1"); }

bool is_arrow(std::string_view bytes) { return bytes.starts_with("ARROW1") || bytes.starts_with("\xFF\xFF\xFF\xFF"); }

constexpr std::array kFormats{
    ColumnarFormat{Format::parquet, is_parquet, parquet_schema, parquet_table, parquet_source},
    ColumnarFormat{Format::arrow, is_arrow, ipc_schema, ipc_table, ipc_source},
};

template <class Matches>
const ColumnarFormat* find_format(const Matches& matches) {
  const auto* const found = std::ranges::find_if(kFormats, matches);
  return found == kFormats.end() ? nullptr : found;
}

}  // namespace

const ColumnarFormat* columnar_format(Format format) {
  return find_format([&](const ColumnarFormat& known) { return known.format == format; });
}

const ColumnarFormat* columnar_format_of(std::string_view start) {
  return find_format([&](const ColumnarFormat& known) { return known.is_start(start); });
}

}  // namespace skyrank::datasets
