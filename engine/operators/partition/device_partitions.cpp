#include "engine/operators/partition/device_partitions.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/device/resident.hpp"
#include "engine/keys/device/make_device_keys.hpp"
#include "engine/keys/device/readable_keys.hpp"
#include "engine/keys/device_keys.hpp"
#include "engine/keys/key_memory.hpp"
#include "engine/operators/group/slots/classes.hpp"
#include "engine/operators/group/slots/group_keys.hpp"
#include "kernels/cuda/expression/columns.hpp"
#include "kernels/cuda/groups/contenders.hpp"

namespace skyrank::exec {

namespace cuda = kernels::cuda;
using kernels::KeyRecipe;
using kernels::KeyWidth;

namespace {

constexpr int kKeyBits = 64;

/// The codes of a dictionary's entries.
Keys codes_of_strings(DeviceQueryState& device_state, const Column& column, const RowSet& rows) {
  const Vector<std::uint32_t> numbers = number_entries(column);
  const std::vector<std::uint64_t> entries(numbers.begin(), numbers.end());
  KeyRecipe recipe;
  recipe.kind = KeyRecipe::Kind::entry;
  recipe.entries = device_state.upload(entries);
  const KeyWidth width = width_for(numbers.size());
  const kernels::StoredColumn& stored = device_state.column(column.data());
  const cuda::DeviceArray codes = cuda::expression::make_keys(stored, device_state.rows(rows), recipe, width);
  return {{codes.data(), width}, codes.owner(), kernels::Memory::device};
}

/// Codes of a column's values. Of what has an order these are the keys of a ranking: equal for equal values alone.
Keys codes_of(DeviceQueryState& device_state, const Table& table, int column, const RowSet& rows) {
  if (table.column(column).type().type == Type::string) {
    return codes_of_strings(device_state, table.column(column), rows);
  }
  return make_keys(device_state, query::BoundRankTerm{.expression = column_expression(table, column)}, table, rows);
}

/// One code of several; nothing where it would not fit.
std::optional<Keys> packed(const std::vector<Keys>& columns, std::size_t n) {
  if (columns.size() == 1) return columns.front();
  if (columns.size() > cuda::expression::kMaxParts) return std::nullopt;
  std::vector<cuda::expression::KeyPart> parts;
  int bits = 0;
  for (const Keys& column : columns) {
    const auto of_column = static_cast<int>(std::bit_width(cuda::expression::greatest_key(column.column, n)));
    parts.push_back({column.column, of_column});
    bits += of_column;
  }
  if (bits > kKeyBits) return std::nullopt;
  const KeyWidth width = bits <= kKeyBits / 2 ? KeyWidth::bytes4 : KeyWidth::bytes8;
  const cuda::DeviceArray codes = cuda::expression::pack_parts(parts, n, width);
  return Keys{{codes.data(), width}, codes.owner(), kernels::Memory::device};
}

}  // namespace

bool has_codes_on_device(const ColumnData& column) {
  if (!ResidentColumn::is_possible(column)) return false;
  return column.type.type != Type::string ||
         (column.layout == Layout::dictionary && column.dictionary->length <= column.length);
}

std::optional<Keys> codes_on_device(DeviceQueryState& device_state, const Table& table, std::span<const int> columns,
                                    const RowSet& rows) {
  const auto n = static_cast<std::size_t>(rows.size());
  if (n > cuda::groups::kMaxPartitionedRows) return std::nullopt;
  std::vector<Keys> codes;
  for (const int column : columns) codes.push_back(codes_of(device_state, table, column, rows));
  return packed(codes, n);
}

std::optional<DevicePartitions> DevicePartitions::of(DeviceQueryState& device_state, const Table& table,
                                                     std::span<const int> columns, const RowSet& rows,
                                                     const std::optional<BestRows>& best) {
  const std::optional<Keys> code = codes_on_device(device_state, table, columns, rows);
  if (!code) return std::nullopt;
  const auto n = static_cast<std::size_t>(rows.size());
  if (!best) return DevicePartitions(cuda::groups::partition_rows(code->column, n));
  return DevicePartitions(cuda::groups::partition_contenders(code->column, best->keys, n, best->k));
}

std::optional<DevicePartitions> DevicePartitions::of_best(DeviceQueryState& device_state, const Table& table,
                                                          std::span<const int> columns,
                                                          std::span<const query::BoundRankTerm> ranking,
                                                          std::int64_t k) {
  const auto n = static_cast<std::size_t>(table.num_rows());
  if (columns.size() != 1 || n > cuda::groups::kMaxPartitionedRows) return std::nullopt;
  // An expression may fail for a row that is left out.
  const bool all_columns = std::ranges::all_of(ranking, [](const auto& term) { return term.expression.column >= 0; });
  if (!all_columns) return std::nullopt;
  const auto keys = readable_keys(device_state, ranking.front(), table);
  if (!keys) return std::nullopt;
  const auto codes = readable_codes(device_state, table.column(columns.front()));
  if (!codes) return std::nullopt;
  auto found = cuda::groups::find_contenders(codes->keys, codes->greatest, *keys, n, static_cast<std::size_t>(k));
  if (found.are_all) return std::nullopt;
  return DevicePartitions(std::move(found.rows));
}

std::vector<Keys> DevicePartitions::in_order(const std::vector<Keys>& keys) const {
  std::vector<Keys> ordered;
  for (const Keys& column : keys) {
    const cuda::DeviceArray taken = cuda::groups::take_in_order(column.column, rows_);
    ordered.push_back({{taken.data(), column.column.width}, taken.owner(), kernels::Memory::device});
  }
  return ordered;
}

Vector<std::int64_t> DevicePartitions::answer(const Vector<std::int64_t>& ranked) const {
  const Vector<std::int64_t> places = cuda::groups::places_at(rows_, ranked);
  Vector<std::int64_t> begins(rows_.first.size() + 1);  // of each segment's part of `ranked`
  std::size_t segment = 0;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    while (ranked[i] >= rows_.bounds[segment + 1]) begins[++segment] = static_cast<std::int64_t>(i);
  }
  while (segment < rows_.first.size()) begins[++segment] = static_cast<std::int64_t>(ranked.size());
  Vector<std::int64_t> answer;
  answer.reserve(places.size());
  for (const std::int64_t s : rows_.by_first) {
    answer.insert(answer.end(), places.begin() + begins[s], places.begin() + begins[s + 1]);
  }
  return answer;
}

}  // namespace skyrank::exec
