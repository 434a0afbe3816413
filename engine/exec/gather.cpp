#include "engine/exec/gather.hpp"

#include <oneapi/tbb/parallel_sort.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>

#include "engine/exec/ranges.hpp"

namespace skyrank::exec {
namespace {

constexpr std::int64_t kBitsPerByte = 8;
static_assert(kGrain % kBitsPerByte == 0, "ranges of rows must not share a byte of a bitmap");

/// Memory of a gathered column.
struct Buffers {
  std::vector<std::byte> values;
  std::vector<std::int32_t> offsets32;
  std::vector<std::int64_t> offsets64;
  std::vector<std::uint8_t> valid;
};

bool present(const ColumnData& data, RowId row) { return row >= 0 && data.validity(row); }

/// A bitmap of the present rows, or nothing when all are.
std::vector<std::uint8_t> gather_validity(const ColumnData& data, std::span<const RowId> rows) {
  const auto n = static_cast<std::int64_t>(rows.size());
  std::vector<std::uint8_t> bits(static_cast<std::size_t>((n + kBitsPerByte - 1) / kBitsPerByte));
  for_each_range(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const int bit = present(data, rows[i]) ? 1 << (i % kBitsPerByte) : 0;
      bits[i / kBitsPerByte] = static_cast<std::uint8_t>(bits[i / kBitsPerByte] | bit);
    }
  });
  const bool all = std::all_of(rows.begin(), rows.end(), [&](RowId row) { return present(data, row); });
  return all ? std::vector<std::uint8_t>{} : bits;
}

template <std::size_t Width>
void gather_fixed(const ColumnData& data, std::span<const RowId> rows, std::byte* to) {
  const auto* from = static_cast<const std::byte*>(data.values);
  for_each_range(static_cast<std::int64_t>(rows.size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (present(data, rows[i])) std::memcpy(to + i * Width, from + rows[i] * data.stride, Width);
    }
  });
}

void gather_bits(const ColumnData& data, std::span<const RowId> rows, std::byte* to) {
  const auto* from = static_cast<const std::uint8_t*>(data.values);
  for_each_range(static_cast<std::int64_t>(rows.size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (!present(data, rows[i])) continue;
      const std::int64_t bit = data.bit_offset + rows[i];
      to[i] = static_cast<std::byte>((from[bit / kBitsPerByte] >> (bit % kBitsPerByte)) & 1);
    }
  });
}

void gather_values(const ColumnData& data, std::span<const RowId> rows, std::vector<std::byte>& values) {
  const auto width = static_cast<std::size_t>(width_in_bytes(data.type.type));
  values.resize(rows.size() * width);
  if (data.layout == Layout::bits) return gather_bits(data, rows, values.data());
  switch (width) {
    case 1: return gather_fixed<1>(data, rows, values.data());
    case 2: return gather_fixed<2>(data, rows, values.data());
    case 4: return gather_fixed<4>(data, rows, values.data());
    default: return gather_fixed<8>(data, rows, values.data());
  }
}

void gather_strings(const ColumnData& data, std::span<const RowId> rows, Buffers& to) {
  const auto n = static_cast<std::int64_t>(rows.size());
  std::vector<std::string_view> strings(rows.size());
  for_each_range(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (present(data, rows[i])) strings[i] = data.string_at(rows[i]);
    }
  });
  to.offsets64.resize(rows.size() + 1);
  for (std::int64_t i = 0; i < n; ++i) {
    to.offsets64[i + 1] = to.offsets64[i] + static_cast<std::int64_t>(strings[i].size());
  }
  to.values.resize(static_cast<std::size_t>(to.offsets64.back()));
  for_each_range(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::copy_n(reinterpret_cast<const std::byte*>(strings[i].data()), strings[i].size(),
                  to.values.data() + to.offsets64[i]);
    }
  });
  if (to.offsets64.back() > std::numeric_limits<std::int32_t>::max()) return;
  to.offsets32.reserve(to.offsets64.size());
  for (const std::int64_t offset : to.offsets64) to.offsets32.push_back(static_cast<std::int32_t>(offset));
  to.offsets64.clear();
}

ColumnData describe(DataType type, std::int64_t length, std::shared_ptr<const Buffers> buffers) {
  ColumnData data;
  data.type = type;
  data.length = length;
  data.values = buffers->values.data();
  data.stride = width_in_bytes(type.type);
  if (type.type == Type::string) {
    data.layout = buffers->offsets32.empty() ? Layout::large_utf8 : Layout::utf8;
    data.offsets32 = buffers->offsets32.empty() ? nullptr : buffers->offsets32.data();
    data.offsets64 = buffers->offsets64.empty() ? nullptr : buffers->offsets64.data();
  }
  if (!buffers->valid.empty()) data.validity = {buffers->valid.data(), 0};
  data.owner = std::move(buffers);
  return data;
}

}  // namespace

Column gather(const Column& column, std::span<const RowId> rows, std::string name) {
  const ColumnData& data = column.data();
  auto buffers = std::make_shared<Buffers>();
  if (data.type.type == Type::string) {
    gather_strings(data, rows, *buffers);
  } else {
    gather_values(data, rows, buffers->values);
  }
  buffers->valid = gather_validity(data, rows);
  return Column(std::move(name), describe(data.type, static_cast<std::int64_t>(rows.size()), std::move(buffers)));
}

Column gather(const query::BoundExpression& expression, const Table& table, std::span<const RowId> rows,
              std::string name) {
  if (expression.column >= 0) return gather(table.column(expression.column), rows, std::move(name));
  const auto n = static_cast<std::int64_t>(rows.size());
  const std::vector<std::int64_t> order = ascending_order(rows);
  const bool owned = expression.type.type != Type::string;  // computed strings point into the table
  if (order.empty() && owned) return evaluate_all(expression, table, {n, rows.data()}, std::move(name));
  std::vector<RowId> sorted(rows.begin(), rows.end());
  std::vector<RowId> place(rows.size());
  std::iota(place.begin(), place.end(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted[i] = rows[order[i]];
    place[order[i]] = static_cast<std::int64_t>(i);
  }
  return gather(evaluate_all(expression, table, {n, sorted.data()}, name), place, name);
}

std::vector<std::int64_t> ascending_order(std::span<const std::int64_t> numbers) {
  if (std::is_sorted(numbers.begin(), numbers.end())) return {};
  std::vector<std::int64_t> order(numbers.size());
  std::iota(order.begin(), order.end(), 0);
  tbb::parallel_sort(order, [&](std::int64_t a, std::int64_t b) { return numbers[a] < numbers[b]; });
  return order;
}

}  // namespace skyrank::exec
