#include "engine/operators/gather/gather.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <numeric>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "engine/column_traits.hpp"
#include "engine/device/resident.hpp"
#include "engine/operators/gather/column_buffers.hpp"
#include "engine/placeholder_column.hpp"
#include "engine/row_error.hpp"
#include "engine/runtime/device_values.hpp"
#include "engine/runtime/parallel.hpp"
#include "engine/stop.hpp"
#include "kernels/cpu/parallel_sort.hpp"

namespace skyrank::exec {
namespace {

constexpr std::int64_t kBitsPerByte = 8;
constexpr std::int64_t kGatherRows = 1 << 13;  ///< rows of a range: random reads soon pay for a task
constexpr std::int64_t kAhead = 32;            ///< rows whose values are asked for before they are taken
static_assert(kGatherRows % kBitsPerByte == 0, "ranges of rows must not share a byte of a bitmap");

bool present(const ColumnData& data, RowId row) { return row >= 0 && data.validity(row); }

/// A bitmap of the present rows, or nothing when all are.
std::vector<std::uint8_t> gather_validity(const ColumnData& data, std::span<const RowId> rows, ColumnCharge& charge) {
  if (data.validity.bits == nullptr && std::ranges::all_of(rows, [](RowId row) { return row >= 0; })) return {};
  const auto n = static_cast<std::int64_t>(rows.size());
  const auto bytes = static_cast<std::size_t>((n + kBitsPerByte - 1) / kBitsPerByte);
  charge.add(bytes);
  std::vector<std::uint8_t> bits(bytes);
  std::atomic<bool> all = true;
  for_each_range(n, kGatherRows, [&](std::int64_t begin, std::int64_t end) {
    bool all_here = true;
    for (std::int64_t i = begin; i < end; ++i) {
      const bool is_present = present(data, rows[i]);
      const int bit = is_present ? 1 << (i % kBitsPerByte) : 0;
      bits[i / kBitsPerByte] = static_cast<std::uint8_t>(bits[i / kBitsPerByte] | bit);
      all_here &= is_present;
    }
    if (!all_here) all = false;
  });
  return all ? std::vector<std::uint8_t>{} : bits;
}

/// Writes take(row) for each row, and zeros where a bitmap says that there is no value. ask_for(row) comes some rows
/// before take(row).
template <class T, class Take, class AskFor>
void gather_each(std::span<const RowId> rows, const std::vector<std::uint8_t>& valid, std::byte* to, const Take& take,
                 const AskFor& ask_for) {
  for_each_range(static_cast<std::int64_t>(rows.size()), kGatherRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (i + kAhead < end) ask_for(rows[i + kAhead]);
      const bool is_present = valid.empty() || ((valid[i / kBitsPerByte] >> (i % kBitsPerByte)) & 1) != 0;
      const T value = is_present ? take(rows[i]) : T{};
      std::memcpy(to + i * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
    }
  });
}

template <class T>
void gather_plain(const ColumnData& data, std::span<const RowId> rows, ColumnBuffers& to) {
  gather_each<T>(
      rows, to.valid, to.values.data(),
      [from = static_cast<const std::byte*>(data.values), stride = data.stride](RowId row) {
        T value;
        std::memcpy(&value, from + row * stride, sizeof(T));
        return value;
      },
      [&](RowId row) { __builtin_prefetch(static_cast<const std::byte*>(data.values) + row * data.stride); });
}

void gather_bits(const ColumnData& data, std::span<const RowId> rows, ColumnBuffers& to) {
  gather_each<std::uint8_t>(
      rows, to.valid, to.values.data(),
      [from = static_cast<const std::uint8_t*>(data.values), first = data.bit_offset](RowId row) {
        const std::int64_t bit = first + row;
        return static_cast<std::uint8_t>((from[bit / kBitsPerByte] >> (bit % kBitsPerByte)) & 1);
      },
      [](RowId) {});
}

/// Takes few rows of values that are on a GPU from there; returns false where the whole column had better come.
bool gather_from_gpu(const ColumnData& data, std::span<const RowId> rows, std::size_t width, ColumnBuffers& to) {
  constexpr std::int64_t kShareOfFew = 16;  // rows one by one cost the host about as much as so many in one piece
  const DeviceValues* const values = device_only_values(data);
  if (values == nullptr) return false;
  if (data.layout == Layout::bits || data.length / kShareOfFew < static_cast<std::int64_t>(rows.size())) return false;
  Vector<RowId> taken(rows.begin(), rows.end());
  std::ranges::replace_if(
      taken, [](RowId row) { return row < 0; }, RowId{0});
  values->take_rows(taken, to.values.data());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!present(data, rows[i])) std::fill_n(to.values.data() + i * width, width, std::byte{0});
  }
  return true;
}

void gather_values(const ColumnData& data, std::span<const RowId> rows, ColumnBuffers& to) {
  const auto width = static_cast<std::size_t>(width_in_bytes(data.type.type));
  to.allocate(rows.size() * width);
  if (rows.empty() || std::ranges::all_of(rows, [](RowId row) { return row < 0; })) {
    std::ranges::fill(to.values, std::byte{0});
    return;
  }
  if (gather_from_gpu(data, rows, width, to)) return;
  copy_to_host(data);
  if (data.layout == Layout::bits) return gather_bits(data, rows, to);
  switch (width) {
    case 1: return gather_plain<std::uint8_t>(data, rows, to);
    case 2: return gather_plain<std::uint16_t>(data, rows, to);
    case 4: return gather_plain<std::uint32_t>(data, rows, to);
    case 16: return gather_plain<Int128>(data, rows, to);
    default: return gather_plain<std::uint64_t>(data, rows, to);
  }
}

void gather_strings(const ColumnData& data, std::span<const RowId> rows, ColumnBuffers& to) {
  const auto n = static_cast<std::int64_t>(rows.size());
  Vector<std::string_view> strings(rows.size());
  for_each_range(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (present(data, rows[i])) strings[i] = data.string_at(rows[i]);
    }
  });
  to.allocate_offsets(rows.size());
  for (std::int64_t i = 0; i < n; ++i) {
    to.offsets64[i + 1] = to.offsets64[i] + static_cast<std::int64_t>(strings[i].size());
  }
  to.allocate(static_cast<std::size_t>(to.offsets64.back()));
  for_each_range(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::copy_n(reinterpret_cast<const std::byte*>(strings[i].data()), strings[i].size(),
                  to.values.data() + to.offsets64[i]);
    }
  });
  to.shorten_offsets();
}

}  // namespace

Column gather(const Column& column, std::span<const RowId> rows, std::string name) {
  const ColumnData& data = column.data();
  auto buffers = std::make_shared<ColumnBuffers>();
  buffers->valid = gather_validity(data, rows, buffers->charge);
  if (data.type.type == Type::string) {
    gather_strings(data, rows, *buffers);
  } else {
    gather_values(data, rows, *buffers);
  }
  return with_traits(column_of(std::move(name), data.type, std::ssize(rows), std::move(buffers)), traits_of(data));
}

Column gather_all(const Column& column) {
  Vector<RowId> all(static_cast<std::size_t>(column.size()));
  std::iota(all.begin(), all.end(), RowId{0});
  return gather(column, all, column.name());
}

Table chosen_columns(const Table& table, std::span<const int> which) {
  if (which.empty()) return Table::with_rows(table.num_rows());
  std::vector<Column> columns;
  for (const int column : which) columns.push_back(table.column(column));
  return Table(std::move(columns));
}

Table in_schema(const Table& schema, const Table& read, std::span<const int> which) {
  const std::int64_t rows = read.num_rows();
  if (schema.num_columns() == 0) return Table::with_rows(rows).with_unsupported(schema.unsupported());
  std::vector<Column> columns;
  for (const Column& column : schema.columns()) {
    columns.push_back(placeholder_column(column.name(), column.type(), rows));
  }
  for (std::size_t i = 0; i < which.size(); ++i) {
    columns[static_cast<std::size_t>(which[i])] = read.column(static_cast<int>(i));
  }
  return Table(std::move(columns)).with_unsupported(schema.unsupported());
}

Table without_rows(const Table& schema) { return gather(schema, {}).with_unsupported(schema.unsupported()); }

Table gather_read(const Table& table, const std::vector<int>& read, std::span<const RowId> rows) {
  if (table.num_columns() == 0) return Table::with_rows(static_cast<std::int64_t>(rows.size()));
  const Vector<RowId> none(rows.size(), -1);
  std::vector<Column> columns;
  const std::unordered_set<int> are_read(read.begin(), read.end());
  for (int c = 0; c < table.num_columns(); ++c) {
    const bool is_read = are_read.contains(c);
    columns.push_back(gather(table.column(c), is_read ? rows : std::span<const RowId>(none), table.column(c).name()));
  }
  return Table(std::move(columns));
}

bool any_device_only(const Table& table, const std::vector<int>& columns) {
  return std::ranges::any_of(columns,
                             [&](int column) { return device_only_values(table.column(column).data()) != nullptr; });
}

namespace {

/// The values of an expression at ascending rows, of which those on a GPU come alone.
Column evaluate_at(const query::BoundExpression& expression, const Table& table, std::span<const RowId> rows,
                   std::string name) {
  const auto n = static_cast<std::int64_t>(rows.size());
  const std::vector<int> read = columns_of({&expression});
  if (!any_device_only(table, read)) return evaluate_all(expression, table, {n, rows.data()}, std::move(name));
  try {
    return evaluate_all(expression, gather_read(table, read, rows), {n, nullptr}, std::move(name));
  } catch (const RowError& error) {
    throw error.renumbered(rows[static_cast<std::size_t>(error.row())]);
  }
}

}  // namespace

Table gather(const Table& table, std::span<const RowId> rows) {
  if (table.num_columns() == 0) return Table::with_rows(static_cast<std::int64_t>(rows.size()));
  std::vector<Column> columns;
  for (const Column& column : table.columns()) columns.push_back(gather(column, rows, column.name()));
  return Table(std::move(columns));
}

Column gather(const query::BoundExpression& expression, const Table& table, std::span<const RowId> rows,
              std::string name) {
  if (expression.column >= 0) return gather(table.column(expression.column), rows, std::move(name));
  const Vector<std::int64_t> order = ascending_order(rows);
  const bool owned = expression.type.type != Type::string;  // computed strings point into the table
  if (order.empty() && owned) return evaluate_at(expression, table, rows, std::move(name));
  Vector<RowId> sorted(rows.begin(), rows.end());
  Vector<RowId> place(rows.size());
  std::iota(place.begin(), place.end(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted[i] = rows[order[i]];
    place[order[i]] = static_cast<std::int64_t>(i);
  }
  return gather(evaluate_at(expression, table, sorted, name), place, name);
}

Column row_column(std::span<const RowId> rows, std::string name) {
  auto buffers = std::make_shared<ColumnBuffers>();
  const std::span<const std::byte> bytes = std::as_bytes(rows);
  buffers->allocate(bytes.size());
  constexpr std::int64_t kBytesOfTask = std::int64_t{1} << 20;
  for_each_range(static_cast<std::int64_t>(bytes.size()), kBytesOfTask, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(buffers->values.data() + begin, bytes.data() + begin, static_cast<std::size_t>(end - begin));
  });
  return column_of(std::move(name), Type::int64, std::ssize(rows), std::move(buffers));
}

Vector<std::int64_t> ascending_order(std::span<const std::int64_t> numbers) {
  if (std::is_sorted(numbers.begin(), numbers.end())) return {};
  Vector<std::int64_t> order(numbers.size());
  std::iota(order.begin(), order.end(), 0);
  kernels::parallel_sort(
      order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return numbers[a] < numbers[b]; },
      kernels::Context{.stop = current_stop()});
  return order;
}

}  // namespace skyrank::exec
